import { bySecretKey } from '../../support/actors.ts';
import { describe, expect, it } from 'vitest';
import { codeOf } from '../../support/api.ts';
import { subscribed, useBilling } from '../../support/projects/billed-project.ts';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();
const later = (seconds: number) => new Date(Date.now() + seconds * 1000);

/** Sends a mail at a time. Returns its record. */
async function scheduled(at: unknown, given: object = {}) {
  const to = newAddress();
  const sent = await shop.send({ to, scheduledFor: at, ...given });
  const emailId = sent.body.data?.emails[0].email;
  const { body: email } = await shop.call('GET', `/emails/${emailId}`);
  return { sent, to, emailId, email };
}

describe('scheduledFor of /v1/send', () => {
  it.each([
    ['a date-time', (at: Date) => at.toISOString()],
    ['milliseconds since 1970', (at: Date) => at.getTime()],
    ['a date-time with an offset', (at: Date) => `${at.toISOString().slice(0, -1)}+00:00`],
  ])('is %s, and the mail waits for it', async (_, form) => {
    const at = later(3600);
    const { sent, email, emailId } = await scheduled(form(at));
    expect([sent.status, sent.body.data.scheduledFor]).toEqual([200, at.toISOString()]);
    expect(Date.parse(sent.body.data.timestamp)).toBeLessThan(Date.now() + 1);
    expect(email).toMatchObject({
      status: 'PENDING',
      scheduledFor: at.toISOString(),
      hold: { reason: 'schedule', until: at.toISOString() },
      sentAt: null,
    });
    expect(email.trace).toEqual([
      { at: email.createdAt, state: 'queued', detail: { causedBy: bySecretKey } },
      { at: expect.any(String), state: 'scheduled', detail: { for: at.toISOString() } },
    ]);
    const row = await shop.api.db
      .selectFrom('email')
      .select('due_at')
      .where('id', '=', emailId)
      .executeTakeFirstOrThrow();
    expect(row.due_at).toEqual(at);
  });

  it('may be null: the mail leaves at once, and the answer has no time', async () => {
    const { sent, email } = await scheduled(null);
    expect(sent.body.data).not.toHaveProperty('scheduledFor');
    expect(email).toMatchObject({ status: 'PENDING', scheduledFor: null, hold: null });
    expect(email.trace.map(({ state }: { state: string }) => state)).toEqual(['queued']);
  });

  it('must be a time, at most 730 days ahead', async () => {
    const refused = async (at: unknown) => refusal((await scheduled(at)).sent);
    for (const at of ['soon', '', true, {}, '2027-02-30T00:00:00Z', '2027-01-01T00:00:00']) {
      expect(await refused(at)).toEqual([422, 'VALIDATION_ERROR', 'scheduledFor invalid_date']);
    }
    const tooFar = later(731 * 86_400).toISOString();
    expect(await refused(tooFar)).toEqual([422, 'VALIDATION_ERROR', 'scheduledFor too_big']);
    expect((await scheduled(later(729 * 86_400).toISOString())).sent.status).toBe(200);
  });

  it('must lie ahead: after the template is found, before the sender is looked at', async () => {
    const past = later(-60).toISOString();
    expect(codeOf((await scheduled(past)).sent)).toEqual([400, 'SCHEDULE_IN_PAST']);
    const template = '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11';
    const unknown = await scheduled(past, { template });
    expect(codeOf(unknown.sent)).toEqual([404, 'TEMPLATE_NOT_FOUND']);
    const stranger = await scheduled(past, { from: 'a@unknown.example' });
    expect(codeOf(stranger.sent)).toEqual([400, 'SCHEDULE_IN_PAST']);
    expect(await shop.contact(stranger.to)).toBeUndefined();
  });

  it('changes the contact now, and leaves no trace in the activity before it leaves', async () => {
    const { to, emailId } = await scheduled(later(3600).toISOString(), { data: { plan: 'pro' } });
    expect((await shop.contact(to))?.data).toEqual({ plan: 'pro' });
    expect(await shop.eventsOf(to)).toEqual([]);
    for (const path of ['/activity', '/activity/upcoming']) {
      const { body } = await shop.call('GET', path);
      expect(JSON.stringify(body)).not.toContain(emailId);
    }
  });

  it('goes with its contact', async () => {
    const { to, emailId } = await scheduled(later(3600).toISOString());
    const contact = await shop.contact(to);
    await shop.call('DELETE', `/contacts/${contact?.id}`);
    expect((await shop.call('GET', `/emails/${emailId}`)).status).toBe(404);
  });
});

describe('the run that delivers', () => {
  it('is signalled for scheduled mail only if no other is due before it', async () => {
    const project = await useShop();
    const told = async (at: Date | null) => {
      const before = project.api.dispatched.length;
      await project.send({ to: newAddress(), scheduledFor: at });
      return project.api.dispatched.length - before;
    };
    expect(await told(later(3600))).toBe(1);
    expect(await told(later(3600))).toBe(0);
    expect(await told(later(7200))).toBe(0);
    expect(await told(later(1800))).toBe(1);
    expect(await told(null)).toBe(1);
    // Mail that may be leaving now does not keep the run awake.
    expect(await told(later(5))).toBe(1);
    expect(await told(later(10))).toBe(1);
  });
});

describe('the allowance', async () => {
  const billing = await useBilling();
  const nextMonth = () => {
    const now = new Date();
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 2));
  };

  it('is that of the month for which the mail is scheduled', async () => {
    const project = await billing.billedProject({ ...subscribed, billing_limit_transactional: 2 });
    const inMonth = { scheduledFor: nextMonth() };
    expect((await project.send()).status).toBe(200);
    expect((await project.send()).status).toBe(200);
    expect(codeOf(await project.send())).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
    for (let count = 0; count < 2; count += 1) {
      expect((await project.send(undefined, inMonth)).status).toBe(200);
    }
    const full = await project.send(undefined, inMonth);
    expect(codeOf(full)).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
    expect(full.body.error.details).toMatchObject({ limit: 2, usage: 2 });
  });

  it('counts what waits for a month from the messages, when the limit is new', async () => {
    const project = await billing.billedProject(subscribed);
    const inMonth = { scheduledFor: nextMonth() };
    await project.send();
    await project.send(undefined, inMonth);
    await project.send(undefined, inMonth);
    await project.put({ transactional: 2 });
    expect(codeOf(await project.send(undefined, inMonth))).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
    expect((await project.send()).status).toBe(200);
    expect(codeOf(await project.send())).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
  });
});
