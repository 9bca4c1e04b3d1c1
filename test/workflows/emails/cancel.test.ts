import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { statusOf } from '../../../db/sql/mail-status.ts';
import { useEngine } from '../../support/engine.ts';
import {
  act,
  campaignIn,
  createCampaign,
  deleteContacts,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Mail is cancelled while it is about to leave: it is sent or cancelled, never both. */

const engine = await useEngine({ EMAIL_RATE_PER_PROJECT_PER_SECOND: '60' });

const cancel = (id: string) => engine.call('DELETE', `/emails/${id}`);

/** Returns the addresses that received mail. */
async function received(to: readonly string[]): Promise<string[]> {
  const rows = await engine.api.db
    .selectFrom('mailbox_message')
    .select('recipient')
    .where('recipient', 'in', [...to])
    .execute();
  return rows.map(({ recipient }) => recipient).toSorted();
}

const isOver = ({ status }: { status: string }) => !['PENDING', 'SENDING'].includes(status);

/** Resolves when all of the mails have ended. */
const allEnded = (ids: readonly string[]) =>
  waitFor(
    'all mail to end',
    async () => {
      const rows = await engine.api.db
        .selectFrom('email')
        .select('status')
        .where('id', 'in', [...ids])
        .execute();
      return rows.every(isOver);
    },
    90_000,
  );

it('cancels scheduled mail up to the moment at which it is claimed', async () => {
  const at = Date.now() + 12_000;
  const to = Array.from({ length: 50 }, () => newAddress());
  const { body } = await engine.call('POST', '/v1/send', {
    to,
    from: `team@${engine.domain}`,
    subject: 'Hello',
    body: '<p>Hello</p>',
    scheduledFor: at,
  });
  const ids: string[] = body.data.emails.map(({ email }: { email: string }) => email);
  const answers = await Promise.all(
    ids.map(async (id, index) => {
      await sleep(at - 1000 + index * 40 - Date.now());
      return (await cancel(id)).status;
    }),
  );
  await allEnded(ids);
  expect(answers.filter((status) => status !== 200 && status !== 409)).toEqual([]);
  const kept = to.filter((_, index) => answers[index] === 409).toSorted();
  expect(await received(to)).toEqual(kept);
}, 60_000);

describe('mail of a campaign', () => {
  it('is withheld alone, although it waits with others; the last one ends the campaign', async () => {
    await deleteContacts(engine);
    const to = await insertContacts(engine, 150);
    const id = await createCampaign(engine);
    await act(engine, id, 'send');
    await waitFor('the audience to be fixed', async () => {
      const { body } = await engine.call('GET', `/emails?campaignId=${id}`);
      return body.total === to.length;
    });
    await act(engine, id, 'pause');
    const rows = await waitFor('nothing to be under way', async () => {
      const waiting = await engine.api.db
        .selectFrom('email')
        .select(['id', 'contact_id', statusOf('email').as('status')])
        .where('campaign_id', '=', id)
        .execute();
      return waiting.every(({ status }) => status !== 'SENDING') && waiting;
    });
    const left = rows.filter(({ status }) => status === 'PENDING');
    expect(left.length).toBeGreaterThan(0);
    const patched = await engine.call('PATCH', `/emails/${left[0]?.id}`, { scheduledFor: null });
    expect([patched.status, patched.body.error.code]).toEqual([409, 'EMAIL_NOT_RESCHEDULABLE']);
    for (const mail of left) {
      const { status, body } = await cancel(mail.id);
      expect([status, body.status, body.error]).toEqual([200, 'FAILED', 'cancelled']);
    }
    const path = `/campaigns/${id}/recipients/${left[0]?.contact_id}`;
    expect((await engine.call('GET', path)).body).toMatchObject({ reason: 'withheld' });
    await act(engine, id, 'resume');
    const { sentCount } = await campaignIn(engine, id, 'SENT', 30_000);
    expect(sentCount).toBe(to.length - left.length);
    expect(await received(to)).toHaveLength(sentCount);
  }, 60_000);

  it('is cancelled or sent, while its campaign is being sent', async () => {
    await deleteContacts(engine);
    const to = await insertContacts(engine, 240);
    const id = await createCampaign(engine);
    await act(engine, id, 'send');
    const mails = await waitFor('the audience to be fixed', async () => {
      const rows = await engine.api.db
        .selectFrom('email')
        .select(['id', 'to_email'])
        .where('campaign_id', '=', id)
        .execute();
      return rows.length === to.length && rows;
    });
    // In both orders, so that some cancellations meet the claim.
    const order = [...mails.keys()].toSorted((one, other) => (one % 7) - (other % 7));
    const cancelled = new Set<string>();
    for (const index of order) {
      const mail = mails[index]!;
      const { status, body } = await cancel(mail.id);
      if (status === 200) cancelled.add(mail.to_email);
      else expect([status, body.error.code]).toEqual([409, 'EMAIL_NOT_PENDING']);
    }
    expect(cancelled.size).toBeGreaterThan(0);
    const campaign = await campaignIn(engine, id, 'SENT', 60_000);
    const kept = to.filter((address) => !cancelled.has(address)).toSorted();
    expect(await received(to)).toEqual(kept);
    expect(campaign.sentCount).toBe(kept.length);
  }, 120_000);
});

it('leaves at once when its time is taken away, and is sent later when it is put off', async () => {
  const send = async (seconds: number) => {
    const to = newAddress();
    const { body } = await engine.call('POST', '/v1/send', {
      to,
      from: `team@${engine.domain}`,
      subject: 'Hello',
      body: '<p>Hello</p>',
      scheduledFor: new Date(Date.now() + seconds * 1000).toISOString(),
    });
    return { to, id: body.data.emails[0].email as string };
  };
  const [now, sooner, later] = [await send(3600), await send(3600), await send(2)];
  await engine.call('PATCH', `/emails/${now.id}`, { scheduledFor: null });
  const at = Date.now() + 3000;
  await engine.call('PATCH', `/emails/${sooner.id}`, { scheduledFor: at });
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  await engine.call('PATCH', `/emails/${later.id}`, { scheduledFor: tomorrow });
  await engine.mailsTo(now.to, 1, 10_000);
  await engine.mailsTo(sooner.to, 1, 15_000);
  expect(Date.now()).toBeGreaterThanOrEqual(at);
  expect((await engine.call('GET', `/emails/${later.id}`)).body).toMatchObject({
    status: 'PENDING',
    hold: { until: tomorrow },
  });
  for (const [method, body] of [['PATCH', { scheduledFor: null }], ['DELETE']] as const) {
    const refused = await engine.call(method, `/emails/${now.id}`, body);
    expect([refused.status, refused.body.error.code]).toEqual([409, 'EMAIL_NOT_PENDING']);
  }
}, 60_000);
