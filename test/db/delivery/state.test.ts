import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { countCampaignMail, countWaitingMail, measureSpeed } from '../../../db/delivery/state.ts';
import { findFleet, recordWorker, recordWorkerStop } from '../../../db/delivery/workers.ts';
import { countHeldMail } from '../../../db/reads/held-mail.ts';
import { updateWatermark } from '../../../db/watermarks.ts';
import { rowsRead } from '../../support/rows-read.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { writeMail } from '../../support/mail-tables.ts';

const shop = await useShop();
const { db } = shop.api;
const projectId = shop.project.id;
const { id: contactId } = await db
  .insertInto('contact')
  .values({ project_id: projectId, email: newAddress(), subscribed: true })
  .returning('id')
  .executeTakeFirstOrThrow();

/** Inserts messages of a project. `columns` are SQL expressions in which `n` is the row number. */
async function insertMail(count: number, columns: Record<string, string>, project = projectId) {
  const given = {
    project_id: `'${project}'::uuid`,
    contact_id: `'${contactId}'::uuid`,
    to_email: `'ada@people.test'`,
    subject: `'Hello'`,
    from_email: `'team@shop.test'`,
    message_class: `'TRANSACTIONAL'`,
    source_type: `'TRANSACTIONAL'`,
    ...columns,
  };
  await writeMail(db, (tx) =>
    sql`
    insert into email (${sql.raw(Object.keys(given).join(', '))})
      select ${sql.raw(Object.values(given).join(', '))}
        from generate_series(1, ${count}::int) n`.execute(tx),
  );
}

it('counts what has not left, by why, and reads nothing of what has', async () => {
  const pending = { status: `'PENDING'` };
  const claimed = { status: `'SENDING'`, attempt_id: 'gen_random_uuid()' };
  const later = `now() + interval '1 hour'`;
  await insertMail(3, { ...pending, due_at: `now() - n * interval '1 minute'` });
  await insertMail(2, { ...pending, due_at: later, attempts: '1' });
  await insertMail(4, { ...pending, due_at: later });
  await insertMail(5, { ...claimed, lease_until: later });
  await insertMail(6, { ...claimed, lease_until: `now() - interval '1 minute'` });
  await insertMail(2, { ...pending, due_at: later, waits_for: `'default'`, attempts: '1' });
  await insertMail(7, { ...pending, due_at: 'now()' }, shop.other.id);
  const left = { status: `'DELIVERED'`, sent_at: `now() - interval '1 hour'` };
  await insertMail(10_000, left);
  await sql`vacuum analyze email`.execute(db);
  const count = () => countWaitingMail(db, projectId);
  const { oldestDueAt, ...counted } = await count();
  const waiting = {
    retry: 2,
    scheduled: 4,
    quietHours: 0,
    frequencyCap: 0,
    warmUp: 0,
    operator: 0,
  };
  expect(counted).toEqual({ due: 5, down: 2, sending: 5, unknown: 6, ...waiting });
  expect(Date.now() - oldestDueAt!.getTime()).toBeGreaterThan(179_000);
  expect(await rowsRead(db, count)).toBeLessThan(100);
  const speed = () => measureSpeed(db, { projectId });
  expect(await speed()).toBe(0);
  expect(await rowsRead(db, speed)).toBeLessThan(100);
});

it('counts the mail of campaigns by chunk', async () => {
  const created = await shop.call('POST', '/campaigns', {
    name: 'C',
    subject: 'S',
    body: '<p>B</p>',
    from: `news@${shop.domain}`,
    audienceType: 'ALL',
  });
  const id = created.body.data.id as string;
  await sql`update campaign set status = 'SENDING' where id = ${id}`.execute(db);
  const before = await countWaitingMail(db, projectId);
  const chunk = (count: number, more: Record<string, string>) => {
    const given = { due_at: `now() - interval '5 minutes'`, ...more };
    return sql`
      insert into campaign_chunk (campaign_id, project_id, email_ids,
          ${sql.raw(Object.keys(given).join(', '))})
        select ${id}, ${projectId}, array_agg(gen_random_uuid()),
            ${sql.raw(Object.values(given).join(', '))}
          from generate_series(1, ${count}::int)`.execute(db);
  };
  const claimed = { attempt_id: 'gen_random_uuid()', claimed_at: 'now()' };
  await chunk(50, {});
  await chunk(10, { due_at: `now() + interval '1 minute'` });
  await chunk(20, { ...claimed, lease_until: `now() + interval '1 minute'` });
  await chunk(30, { ...claimed, lease_until: `now() - interval '1 minute'` });
  const counted = await countWaitingMail(db, projectId);
  expect(counted.oldestDueAt!.getTime()).toBeLessThan(before.oldestDueAt!.getTime());
  const more = (key: 'due' | 'sending' | 'unknown' | 'retry') => counted[key] - before[key];
  expect([more('due'), more('sending'), more('unknown'), more('retry')]).toEqual([50, 20, 30, 10]);
  const waiting = await countCampaignMail(db, { id, project_id: projectId });
  expect(waiting).toEqual({
    waiting: 110,
    due: 100,
    scheduled: 0,
    oldestDueAt: counted.oldestDueAt,
    lastAt: expect.any(Date),
  });
  expect(waiting.lastAt!.getTime()).toBeGreaterThan(counted.oldestDueAt!.getTime());
  // A paused campaign has nothing due.
  await sql`update campaign set status = 'PAUSED', paused_reason = 'requested' where id = ${id}`.execute(
    db,
  );
  expect((await countWaitingMail(db, projectId)).due).toBe(before.due);
});

it('measures the speed of the last ten seconds', async () => {
  const sentAgo = (seconds: string) => ({
    status: `'SENT'`,
    sent_at: `now() - (${seconds}) * interval '1 second'`,
  });
  // Sent over the last four seconds: five a second.
  await insertMail(20, sentAgo('4.0 * n / 20'));
  expect(await measureSpeed(db, { projectId })).toBeCloseTo(19 / 4, 0);
  await insertMail(1, sentAgo('15'));
  expect(await measureSpeed(db, { projectId })).toBe(2);
  const campaignId = '7a9e4c1d-5b0e-4c51-8a27-2f6e1b3c4d05';
  expect(await measureSpeed(db, { projectId, campaignId })).toBe(0);
});

it('knows whether the sweep is late', async () => {
  const isLate = async () => (await findFleet(db)).isSweepLate;
  expect(await isLate()).toBe(false);
  await updateWatermark(db, 'sweep', new Date(Date.now() - 150_000));
  expect(await isLate()).toBe(true);
  await updateWatermark(db, 'sweep', new Date());
  expect(await isLate()).toBe(false);
});

it('knows which workers live, and since when none does', async () => {
  const rates = { perSecond: 14, perProjectPerSecond: 2 };
  expect(await findFleet(db)).toMatchObject({ workers: 0, downSince: null });
  const ids = [
    '01a20801-74a1-7837-a66e-d6f7ad605f41',
    '01a20801-74a1-7837-a66e-d6f7ad605f42',
  ] as const;
  for (const id of ids) await recordWorker(db, { id, provider: 'ses', rates }, true);
  const both = await findFleet(db);
  expect(both).toMatchObject({ workers: 2, downSince: null, provider: 'ses' });
  expect(both.rates).toMatchObject(rates);
  await recordWorkerStop(db, ids[0]);
  expect(await findFleet(db)).toMatchObject({ workers: 1, downSince: null });
  await sql`update worker_process set seen_at = now() - interval '21 seconds'
    where id = ${ids[1]}`.execute(db);
  const none = await findFleet(db);
  // The other provider stopped later.
  const { rows } = await sql<{ at: Date }>`select stopped_at as at from worker_process
    where id = ${ids[0]}`.execute(db);
  expect(none).toMatchObject({ workers: 0, downSince: rows[0]!.at });
  await recordWorker(db, { id: ids[1], provider: 'ses', rates }, false);
  expect(await findFleet(db)).toMatchObject({ workers: 1, downSince: null });
  await sql`update worker_process set seen_at = now() - interval '2 days'`.execute(db);
  await recordWorker(db, { id: ids[0], provider: 'ses', rates }, true);
  const left = await sql`select id from worker_process`.execute(db);
  expect(left.rows).toHaveLength(1);
});

it('counts held mail of all projects by reason, of one project at most a thousand', async () => {
  const held = (reason: string, until: string) => ({
    status: `'PENDING'`,
    due_at: until,
    held_until: until,
    hold_reason: `'${reason}'`,
  });
  const later = `now() + interval '1 hour'`;
  const before = await countHeldMail(db);
  await insertMail(3, held('frequency_cap', later), shop.other.id);
  await insertMail(2, held('frequency_cap', `now() - interval '1 minute'`), shop.other.id);
  await insertMail(10_000, held('quiet_hours', later));
  const count = async () => {
    const after = await countHeldMail(db);
    return (reason: string) => (after[reason] ?? 0) - (before[reason] ?? 0);
  };
  const added = await count();
  expect([added('frequency_cap'), added('quiet_hours')]).toEqual([3, 1_000]);
  await sql`vacuum analyze email_queue`.execute(db);
  expect(await rowsRead(db, count)).toBeLessThan(1_100);
});
