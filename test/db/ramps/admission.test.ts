import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { releaseClaim } from '../../../db/emails/emails.ts';
import { findRamp } from '../../../db/ramps/ramps.ts';
import { passRampDay } from '../../../db/transactions/ramps/pass-day.ts';
import { claimUnheldEmails } from '../../../db/transactions/mail/hold-back.ts';
import { recordDeliveryOutcomes } from '../../../db/transactions/mail/record-outcomes.ts';
import type { DeliveryOutcome } from '../../../db/transactions/mail/attempts.ts';
import { openEnd } from '../../../domain/outcomes/hold.ts';
import { useApi } from '../../support/api.ts';
import { writeMail } from '../../support/mail-tables.ts';
import { insertTestEmail } from '../../support/projects/mails.ts';

/** Claims of mail in a project with a ramp. */

const api = await useApi();
const { db } = api;

type Given = { count?: number; message_class?: string; from_email?: string };

/** A project with due mail. */
async function newProject() {
  const { id: projectId, secretKey: key } = await api.createProject((await api.signUp()).cookie);
  const domain = `${randomUUID()}.test`;
  await api.request('POST', '/domains', { key, body: { domain } });
  const body = { email: `${randomUUID()}@people.test` };
  const { body: contact } = await api.request('POST', '/contacts', { key, body });
  const createRamp = async (startPerDay: number, more: object = {}) => {
    const given = { domain, startPerDay, days: 10, factor: 2, ...more };
    const made = await api.request('POST', '/ramps', { key, body: given });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    return made.body.id as string;
  };
  const ask = (method: string, path: string) => api.request(method, path, { key });
  return {
    projectId,
    createRamp,
    ask,
    rampOf: async (id: string) => (await ask('GET', `/ramps/${id}`)).body,
    insertDue: async ({ count = 1, ...fields }: Given = {}) => {
      const due = {
        from_email: `team@${domain}`,
        message_class: 'MARKETING',
        status: 'PENDING',
        message_id: null,
        sent_at: null,
        ...fields,
      };
      const ids: string[] = [];
      for (let inserted = 0; inserted < count; inserted += 1) {
        ids.push(await insertTestEmail(db, { projectId, contactId: contact.id }, due));
      }
      return ids;
    },
    claim: async (max = 50, attemptId: string = randomUUID()) => {
      const claim = { projectId, attemptId, max, leaseSeconds: 60, throttled: false };
      const emails = await claimUnheldEmails(db, { ...claim, isPoliced: true });
      return { attemptId, ids: emails.map(({ id }) => id) };
    },
    record: (attemptId: string, outcomes: DeliveryOutcome[]) =>
      recordDeliveryOutcomes(db, { projectId, attemptIds: [attemptId], outcomes }),
    /** The holds of waiting mail, by reason and end. */
    holds: async () => {
      const rows = await db
        .selectFrom('email')
        .select(['hold_reason', 'held_until', 'due_at', 'status'])
        .where('project_id', '=', projectId)
        .where('hold_reason', 'is not', null)
        .execute();
      return rows;
    },
  };
}

const accepted = (emailId: string): DeliveryOutcome => ({
  emailId,
  kind: 'accepted',
  messageId: `${emailId}@test`,
  delivered: false,
});

describe('claims', () => {
  it('of 20 senders at once never pass the limit of a ramp together', async () => {
    const { insertDue, createRamp, claim, rampOf } = await newProject();
    await insertDue({ count: 120 });
    const id = await createRamp(35);
    const claims = await Promise.all(Array.from({ length: 20 }, () => claim(5)));
    const ids = claims.flatMap((one) => one.ids);
    expect(new Set(ids).size).toBe(35);
    expect(ids).toHaveLength(35);
    expect(await rampOf(id)).toMatchObject({ used: 35, cap: 35 });
    expect((await claim()).ids).toEqual([]);
    expect(await rampOf(id)).toMatchObject({ used: 35, held: 85 });
  });

  it('hold the mail over the limit, which shows the next day and rests', async () => {
    const { insertDue, createRamp, claim, holds, rampOf, ask } = await newProject();
    await insertDue({ count: 5 });
    const { nextDayAt } = await rampOf(await createRamp(2));
    expect((await claim()).ids).toHaveLength(2);
    const held = await holds();
    expect(held).toHaveLength(3);
    for (const row of held) {
      expect(row).toMatchObject({ hold_reason: 'warm_up', status: 'PENDING' });
      expect(row.due_at).toEqual(openEnd);
    }
    for (const { id } of (await ask('GET', '/emails?status=PENDING')).body.data) {
      const { body } = await ask('GET', `/emails/${id}`);
      expect(body.hold).toEqual({ reason: 'warm_up', until: nextDayAt });
      const detail = { reason: 'warm_up', until: nextDayAt };
      expect(body.trace.at(-1)).toMatchObject({ state: 'held', detail });
    }
  });

  it('give the room of a message back that was not accepted, also to the same message', async () => {
    const { insertDue, createRamp, claim, record, rampOf } = await newProject();
    const id = await createRamp(3);
    await insertDue({ count: 3 });
    const first = await claim();
    expect(first.ids).toHaveLength(3);
    await releaseClaim(db, first.attemptId);
    const second = await claim();
    expect(second.ids).toEqual(first.ids);
    const [sent, refused, again] = second.ids as [string, string, string];
    await record(second.attemptId, [
      accepted(sent),
      {
        emailId: refused,
        kind: 'refused',
        error: '550 5.1.1 unknown',
        refusal: 'recipient_refused',
      },
      {
        emailId: again,
        kind: 'again',
        error: '451 later',
        delayMs: 1_000_000,
      },
    ]);
    expect(await rampOf(id)).toMatchObject({ used: 1 });
    await insertDue({ count: 5 });
    expect((await claim()).ids).toHaveLength(2);
    expect(await rampOf(id)).toMatchObject({ used: 3 });
  });

  it('count mail of unknown outcome until it is settled', async () => {
    const { insertDue, createRamp, claim, rampOf } = await newProject();
    const id = await createRamp(2);
    await insertDue({ count: 4 });
    const { ids } = await claim();
    expect(ids).toHaveLength(2);
    // Their process died, so the lease ends without an outcome.
    await writeMail(db, (tx) =>
      sql`update email set lease_until = now() - interval '1 minute'
        where id = any(${ids}::uuid[])`.execute(tx),
    );
    await insertDue();
    expect((await claim()).ids).toEqual([]);
    expect(await rampOf(id)).toMatchObject({ used: 2 });
    await writeMail(db, (tx) =>
      sql`update email set status = 'FAILED', error = 'delivery_unknown', lease_until = null
        where id = any(${ids}::uuid[])`.execute(tx),
    );
    expect(await rampOf(id)).toMatchObject({ used: 0 });
    await insertDue({ count: 3 });
    expect((await claim()).ids).toHaveLength(2);
  });

  it('count transactional mail and never hold it, and leave other domains alone', async () => {
    const { insertDue, createRamp, claim, rampOf } = await newProject();
    const id = await createRamp(2);
    const [other] = await insertDue({ from_email: 'team@other.test' });
    const urgent = await insertDue({ count: 3, message_class: 'TRANSACTIONAL' });
    await insertDue();
    const { ids } = await claim();
    expect(ids.toSorted()).toEqual([other, ...urgent].toSorted());
    expect(await rampOf(id)).toMatchObject({ used: 3, cap: 2, held: 1 });
  });

  it('count mail that was being sent when the ramp began', async () => {
    const { insertDue, createRamp, claim, record, rampOf } = await newProject();
    await insertDue({ count: 2 });
    const before = await claim();
    const id = await createRamp(3);
    expect(await rampOf(id)).toMatchObject({ used: 2 });
    await record(before.attemptId, before.ids.map(accepted));
    await insertDue({ count: 3 });
    expect((await claim()).ids).toHaveLength(1);
    expect(await rampOf(id)).toMatchObject({ used: 3 });
  });

  it('need room in all ramps that fit', async () => {
    const { insertDue, createRamp, claim, holds, rampOf } = await newProject();
    const wide = await createRamp(3, { domain: null, providerId: 'default' });
    const narrow = await createRamp(1);
    await insertDue({ count: 2 });
    await insertDue({ count: 4, from_email: 'team@other.test' });
    expect((await claim()).ids).toHaveLength(3);
    expect(await rampOf(narrow)).toMatchObject({ used: 1, held: 1 });
    expect(await rampOf(wide)).toMatchObject({ used: 3, held: 2 });
    expect(await holds()).toHaveLength(3);
  });

  it('begin the days that are due, though the run is late', async () => {
    const { insertDue, createRamp, claim, record, rampOf, projectId } = await newProject();
    const id = await createRamp(2);
    await insertDue({ count: 20 });
    const first = await claim();
    expect(first.ids).toHaveLength(2);
    const [sent, unknown] = first.ids as [string, string];
    await record(first.attemptId, [accepted(sent)]);
    await sql`update ramp set day_ends_at = clock_timestamp() where id = ${id}`.execute(db);
    await writeMail(db, (tx) =>
      sql`update email set due_at = now() - interval '1 minute', held_until = now() - interval '1 minute'
        where project_id = ${projectId} and status = 'PENDING'`.execute(tx),
    );
    // The message that is still being sent counts for the new day.
    expect((await claim()).ids).toHaveLength(3);
    expect(await rampOf(id)).toMatchObject({ day: 2, cap: 4, used: 4 });
    await record(first.attemptId, [accepted(unknown)]);
    expect(await rampOf(id)).toMatchObject({ used: 4, history: [{ day: 1, sent: 1 }] });
    expect((await findRamp(db, projectId, id))?.status).toBe('RUNNING');
  });
});

describe('a new day', () => {
  const endDay = (id: string) =>
    sql`update ramp set day_ends_at = clock_timestamp() where id = ${id}`.execute(db);

  it('makes as much held mail due as it allows, oldest first, and leaves the rest alone', async () => {
    const { insertDue, createRamp, claim, rampOf } = await newProject();
    const id = await createRamp(2);
    const mails = await insertDue({ count: 20 });
    expect((await claim()).ids).toEqual(mails.slice(0, 2));
    const readTimes = () =>
      db.selectFrom('email').select('updated_at').where('id', 'in', mails.slice(6)).execute();
    const before = await readTimes();
    await endDay(id);
    await passRampDay(db, id, () => false);
    // The two that are still being sent count for this day.
    expect(await rampOf(id)).toMatchObject({ day: 2, cap: 4, used: 2, held: 16 });
    expect((await claim()).ids).toEqual(mails.slice(2, 4));
    expect(await readTimes()).toEqual(before);
  });

  it('makes mail due once, however often its run repeats it', async () => {
    const { insertDue, createRamp, claim, rampOf } = await newProject();
    const id = await createRamp(2);
    await insertDue({ count: 20 });
    await claim();
    await endDay(id);
    for (let times = 0; times < 3; times += 1) await passRampDay(db, id, () => false);
    expect(await rampOf(id)).toMatchObject({ used: 2, held: 16 });
  });

  it('makes more mail due when some of it did not leave', async () => {
    const { insertDue, createRamp, claim, record, rampOf } = await newProject();
    const id = await createRamp(2);
    await insertDue({ count: 20 });
    const first = await claim();
    await record(first.attemptId, first.ids.map(accepted));
    await endDay(id);
    const state = await passRampDay(db, id, () => false);
    expect(state?.dueMs).toBe(60_000);
    const { attemptId, ids } = await claim();
    expect(ids).toHaveLength(4);
    const refusal = { error: '550 5.1.1 unknown', refusal: 'recipient_refused' } as const;
    await record(attemptId, [
      ...ids.slice(1).map(accepted),
      { emailId: ids[0]!, kind: 'refused', ...refusal },
    ]);
    await passRampDay(db, id, () => false);
    expect(await rampOf(id)).toMatchObject({ used: 3, held: 13 });
    expect((await claim()).ids).toHaveLength(1);
  });

  it('after the last one makes all held mail due, and then has nothing more to do', async () => {
    const { insertDue, createRamp, claim, rampOf } = await newProject();
    const id = await createRamp(2, { days: 1 });
    await insertDue({ count: 10 });
    await claim();
    await endDay(id);
    // Interrupted at once, it is to be repeated.
    expect(await passRampDay(db, id, () => true)).toMatchObject({ status: 'DONE', dueMs: 60_000 });
    expect(await passRampDay(db, id, () => false)).toBeNull();
    expect(await rampOf(id)).toMatchObject({ status: 'DONE', held: 0 });
    expect((await claim()).ids).toHaveLength(8);
    const { reconcile_at } = await db
      .selectFrom('ramp')
      .select('reconcile_at')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(reconcile_at).toBeNull();
  });
});

describe('a paused ramp', () => {
  it('holds all but transactional mail without an end, and lets it go on resume or deletion', async () => {
    const { insertDue, createRamp, claim, holds, rampOf, ask } = await newProject();
    const id = await createRamp(10);
    await ask('POST', `/ramps/${id}/pause`);
    await insertDue({ count: 2 });
    const urgent = await insertDue({ message_class: 'TRANSACTIONAL' });
    expect((await claim()).ids).toEqual(urgent);
    expect(await rampOf(id)).toMatchObject({ used: 1, held: 2 });
    const [{ id: emailId }] = (await ask('GET', '/emails?status=PENDING')).body.data;
    const { body: email } = await ask('GET', `/emails/${emailId}`);
    expect(email.hold).toEqual({ reason: 'warm_up', until: null });
    expect(email.trace.at(-1)).toMatchObject({
      state: 'held',
      detail: { reason: 'warm_up', until: null },
    });
    const { body: delivery } = await ask('GET', '/delivery');
    expect(delivery.held).toMatchObject({ warm_up: 2 });
    await ask('POST', `/ramps/${id}/resume`);
    await passRampDay(db, id, () => false);
    expect((await holds()).filter(({ status }) => status === 'PENDING')).toEqual([]);
    expect((await claim()).ids).toHaveLength(2);
    await ask('POST', `/ramps/${id}/pause`);
    await insertDue();
    expect((await claim()).ids).toEqual([]);
    await ask('DELETE', `/ramps/${id}`);
    expect((await claim()).ids).toHaveLength(1);
  });
});
