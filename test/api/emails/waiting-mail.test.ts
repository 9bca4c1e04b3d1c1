import { bySecretKey } from '../../support/actors.ts';
import { describe, expect, it } from 'vitest';
import { codeOf } from '../../support/api.ts';
import { subscribed, useBilling } from '../../support/projects/billed-project.ts';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';
import { writeMail } from '../../support/mail-tables.ts';

const shop = await useShop();
const later = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

async function mail(given: object = {}): Promise<string> {
  const { body } = await shop.send({ to: newAddress(), ...given });
  return body.data.emails[0].email;
}

const patch = (id: string, body: object) => shop.call('PATCH', `/emails/${id}`, body);
const cancel = (id: string) => shop.call('DELETE', `/emails/${id}`);
const set = (id: string, columns: object) =>
  writeMail(shop.api.db, (tx) =>
    tx.updateTable('email').set(columns).where('id', '=', id).execute(),
  );
const dueAt = async (id: string) =>
  (
    await shop.api.db
      .selectFrom('email')
      .select('due_at')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
  ).due_at!.getTime();
/**
 * Returns the states of a record with the time that each names, without the times of the states.
 */
const told = ({ body }: { body: { trace: { state: string; detail: unknown }[] } }) =>
  body.trace.map(({ state, detail }) => [state, detail]);

describe('PATCH /emails/{id}', () => {
  it('gives mail another time, or has it leave now', async () => {
    const [first, second] = [later(3600), later(7200)];
    const id = await mail({ scheduledFor: first });
    const moved = await patch(id, { scheduledFor: second });
    expect(moved.status).toBe(200);
    expect(moved.body).toMatchObject({
      scheduledFor: second,
      hold: { reason: 'schedule', until: second },
    });
    const now = await patch(id, { scheduledFor: null });
    expect(now.body).toMatchObject({ status: 'PENDING', scheduledFor: null, hold: null });
    expect(told(now)).toEqual([
      ['queued', { causedBy: bySecretKey }],
      ['scheduled', { for: first }],
      ['scheduled', { for: second }],
      ['scheduled', { for: null }],
    ]);
    expect(await dueAt(id)).toBeLessThanOrEqual(Date.now() + 1000);
    expect((await shop.call('GET', `/emails/${id}`)).body).toEqual(now.body);
  });

  it('takes mail that was not scheduled, and respects the pause after an attempt', async () => {
    const id = await mail();
    const retryAt = new Date(Date.now() + 600_000);
    await set(id, { retry_at: retryAt, due_at: retryAt, attempts: 3 });
    const sooner = await patch(id, { scheduledFor: later(60) });
    expect(sooner.body.hold).toEqual({ reason: 'retry', until: retryAt.toISOString() });
    expect(await dueAt(id)).toBe(retryAt.getTime());
    const at = later(1200);
    expect((await patch(id, { scheduledFor: at })).body.hold).toEqual({
      reason: 'schedule',
      until: at,
    });
    await patch(id, { scheduledFor: null });
    expect(await dueAt(id)).toBe(retryAt.getTime());
  });

  it('refuses what is no time ahead, and changes nothing', async () => {
    const at = later(3600);
    const id = await mail({ scheduledFor: at });
    for (const [body, code] of [
      [{}, 'invalid_type'],
      [{ scheduledFor: 'soon' }, 'invalid_date'],
      [{ scheduledFor: later(731 * 86_400) }, 'too_big'],
    ] as const) {
      expect(refusal(await patch(id, body))).toEqual([
        422,
        'VALIDATION_ERROR',
        `scheduledFor ${code}`,
      ]);
    }
    expect(codeOf(await patch(id, { scheduledFor: later(-60) }))).toEqual([
      400,
      'SCHEDULE_IN_PAST',
    ]);
    const { body } = await shop.call('GET', `/emails/${id}`);
    expect([body.scheduledFor, body.trace.length]).toEqual([at, 2]);
  });

  it('is for mail of /v1/send that waits', async () => {
    const [sent, ofCampaign] = [await mail(), await mail()];
    await set(sent, { status: 'SENT', sent_at: new Date() });
    await set(ofCampaign, { source_type: 'WORKFLOW' });
    const past = { scheduledFor: later(-60) };
    const refused = await patch(sent, past);
    expect(codeOf(refused)).toEqual([409, 'EMAIL_NOT_PENDING']);
    expect(refused.body.error.details).toEqual({ status: 'SENT' });
    const other = await patch(ofCampaign, past);
    expect(codeOf(other)).toEqual([409, 'EMAIL_NOT_RESCHEDULABLE']);
    expect(other.body.error.details).toEqual({ sourceType: 'WORKFLOW' });
    const unknown = '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11';
    expect(codeOf(await patch(unknown, { scheduledFor: null }))).toEqual([404, 'EMAIL_NOT_FOUND']);
    const { status } = await shop.api.request('PATCH', `/emails/${await mail()}`, {
      key: shop.other.secretKey,
      body: { scheduledFor: null },
    });
    expect(status).toBe(404);
  });
});

describe('DELETE /emails/{id}', () => {
  it('ends mail that waits, once', async () => {
    const id = await mail({ scheduledFor: later(3600) });
    const cancelled = await cancel(id);
    expect(cancelled.status).toBe(200);
    expect(cancelled.body).toMatchObject({ status: 'FAILED', error: 'cancelled', hold: null });
    expect(told(cancelled).at(-1)).toEqual(['withheld', { reason: 'cancelled' }]);
    const again = await cancel(id);
    expect(codeOf(again)).toEqual([409, 'EMAIL_NOT_PENDING']);
    expect(again.body.error.details).toEqual({ status: 'FAILED', error: 'cancelled' });
    expect(codeOf(await patch(id, { scheduledFor: null }))).toEqual([409, 'EMAIL_NOT_PENDING']);
  });

  it('does not find the mail of others', async () => {
    const id = await mail();
    const { status } = await shop.api.request('DELETE', `/emails/${id}`, {
      key: shop.other.secretKey,
    });
    expect(status).toBe(404);
    expect((await cancel(id)).status).toBe(200);
  });
});

describe('GET /emails', () => {
  it('lists what has a time, or has none', async () => {
    const [with1, without] = [await mail({ scheduledFor: later(3600) }), await mail()];
    const idsOf = async (query: string) => {
      const { body } = await shop.call('GET', `/emails?${query}`);
      return body.data.map(({ id }: { id: string }) => id);
    };
    const scheduled = await idsOf('status=PENDING&scheduled=true&limit=100');
    expect(scheduled).toContain(with1);
    expect(scheduled).not.toContain(without);
    const others = await idsOf('scheduled=false&limit=100');
    expect(others).toContain(without);
    expect(others).not.toContain(with1);
    expect((await shop.call('GET', '/emails?scheduled=x')).status).toBe(422);
  });
});

describe('the allowance of mail that waits', async () => {
  const billing = await useBilling();
  const nextMonth = new Date(
    Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + 1, 2),
  ).toISOString();

  it('comes back when it is cancelled, and moves with its time', async () => {
    const project = await billing.billedProject({ ...subscribed, billing_limit_transactional: 2 });
    const call = (method: string, id: string, body?: object) =>
      billing.api.request(method, `/emails/${id}`, { key: project.secretKey, body });
    const send = async (at: string | null) => {
      const { status, body } = await project.send(undefined, { scheduledFor: at });
      return { status, id: body.data?.emails[0].email as string };
    };
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    const first = await send(inAnHour);
    const second = await send(inAnHour);
    expect((await send(inAnHour)).status).toBe(402);
    expect((await call('DELETE', first.id)).status).toBe(200);
    expect((await send(inAnHour)).status).toBe(200);
    expect((await send(inAnHour)).status).toBe(402);
    // The mail moves to the next month, which has room for two; then this month has room again.
    expect((await call('PATCH', second.id, { scheduledFor: nextMonth })).status).toBe(200);
    expect((await send(inAnHour)).status).toBe(200);
    expect((await send(nextMonth)).status).toBe(200);
    expect((await send(nextMonth)).status).toBe(402);
    const back = await call('PATCH', second.id, { scheduledFor: null });
    expect(codeOf(back)).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
    expect(back.body.error.details).toMatchObject({ limit: 2, usage: 2 });
    expect((await call('GET', second.id)).body.scheduledFor).toBe(nextMonth);
  });
});
