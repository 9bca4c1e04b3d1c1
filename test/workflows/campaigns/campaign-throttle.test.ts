import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { disableProject } from '../../../db/transactions/projects/suspend-project.ts';
import {
  act,
  campaignIn,
  campaignOf,
  createCampaign,
  deleteContacts,
  emailStatuses,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Campaigns that take a while because of the limits. */

const sink = await useSmtpSink();
const engine = await useEngine({
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(sink.port),
  EMAIL_RATE_LIMIT_PER_SECOND: '900',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '600',
});

/** Starts a campaign to `count` new contacts, and waits until `sent` of them have it. */
async function underWay(count: number, sent: number, given: object = {}) {
  await deleteContacts(engine);
  const to = await insertContacts(engine, count);
  const id = await createCampaign(engine, given);
  await act(engine, id, 'send');
  await waitFor(
    `${sent} mails`,
    async () => (await campaignOf(engine, id)).sentCount >= sent,
    120_000,
  );
  return { id, to };
}

/** Returns the number of sent mails, after none was being handed over for a second. */
async function settledCount(id: string): Promise<number> {
  let last = { count: -1, at: 0 };
  await waitFor(
    'sending to stop',
    async () => {
      const { sentCount: count } = await campaignOf(engine, id);
      const { SENDING: inHand } = await emailStatuses(engine, id);
      if (count !== last.count || inHand) last = { count, at: Date.now() };
      return Date.now() - last.at > 1_000;
    },
    60_000,
  );
  return last.count;
}

const occurrences = (to: string[]) => {
  const counts = new Map<string, number>();
  for (const { to: address } of sink.messages) counts.set(address, (counts.get(address) ?? 0) + 1);
  return to.map((address) => counts.get(address) ?? 0);
};

it('paused in the middle stops, says another thing when it goes on, and reaches each once', async () => {
  const { id, to } = await underWay(5_000, 1_500, { subject: 'Before' });
  const paused = await act(engine, id, 'pause');
  expect(paused).toMatchObject({ status: 'PAUSED', pausedReason: 'requested' });
  const count = await settledCount(id);
  // At most one batch of each sender, which the limits allow at once.
  expect(count - paused.sentCount).toBeLessThanOrEqual(4 * 599);
  expect(count).toBeLessThan(5_000);
  expect(await emailStatuses(engine, id)).toEqual({ SENT: count, PENDING: 5_000 - count });
  const { body: page } = await engine.call(
    'GET',
    `/emails?campaignId=${id}&status=PENDING&limit=1`,
  );
  expect(page.total).toBe(5_000 - count);
  const waiting = page.data[0];
  const { body: one } = await engine.call(
    'GET',
    `/campaigns/${id}/recipients/${waiting.contactId}`,
  );
  expect(one).toMatchObject({ included: true, reason: 'pending', emailId: waiting.id });

  expect((await engine.call('PUT', `/campaigns/${id}`, { subject: 'After' })).status).toBe(200);
  await insertContacts(engine, 10);
  expect(await act(engine, id, 'resume')).toMatchObject({ status: 'SENDING', pausedReason: null });
  const sent = await campaignIn(engine, id, 'SENT', 120_000);
  expect(sent).toMatchObject({ sentCount: 5_000, totalRecipients: 5_000 });
  expect(new Set(occurrences(to))).toEqual(new Set([1]));
  const subjects = sink.messages.map(({ raw }) => /^Subject: (.*)\r$/m.exec(raw.toString())?.[1]);
  expect(subjects.filter((subject) => subject === 'Before')).toHaveLength(count);
  expect(subjects.filter((subject) => subject === 'After')).toHaveLength(5_000 - count);
}, 240_000);

it('cancelled in the middle sends no more, and says so of those that were waiting', async () => {
  const { id } = await underWay(5_000, 500);
  await act(engine, id, 'cancel');
  const run = engine.temporal.client.workflow.getHandle(`campaign-${id}`);
  await run.result();
  const count = await settledCount(id);
  expect(count).toBeLessThan(5_000);
  expect(await emailStatuses(engine, id)).toEqual({ SENT: count, FAILED: 5_000 - count });
  const { body } = await engine.call('GET', `/emails?campaignId=${id}&status=FAILED&limit=1`);
  const { body: email } = await engine.call('GET', `/emails/${body.data[0].id}`);
  expect(email.error).toBe('campaign_cancelled');
  expect(email.trace.at(-1)).toMatchObject({
    state: 'withheld',
    detail: { reason: 'campaign_cancelled' },
  });
  const { body: one } = await engine.call('GET', `/campaigns/${id}/recipients/${email.contactId}`);
  expect(one).toMatchObject({ included: true, reason: 'withheld' });
}, 240_000);

describe('while a campaign of 10,000 is under way', () => {
  let id: string;
  beforeAll(async () => {
    ({ id } = await underWay(10_000, 1_000));
  }, 120_000);

  /**
   * Counts the mails of the campaign that left before this one. On a slow machine all are
   * slower.
   */
  const overtakenBy = async (address: string, since: number) => {
    const own = await waitFor(
      'the mail',
      () => sink.messages.findIndex(({ to }) => to === address) + 1,
      60_000,
    );
    return own - 1 - since;
  };
  /** Mails that leave in two seconds, plus one batch of each sender in flight. */
  const few = 2 * 600 + 4 * 200;

  it('another project’s mail is not kept waiting', async () => {
    const { cookie } = await engine.api.signUp();
    const { secretKey: key } = await engine.api.createProject(cookie);
    const domain = `${randomUUID()}.test`;
    await engine.api.request('POST', '/domains', { key, body: { domain } });
    const to = `${randomUUID()}@people.test`;
    const before = sink.messages.length;
    const mail = { from: `a@${domain}`, subject: 'Hi', body: 'Hi', to };
    const { status } = await engine.api.request('POST', '/v1/send', { key, body: mail });
    expect(status).toBe(200);
    expect(await overtakenBy(to, before)).toBeLessThan(few);
    expect((await campaignOf(engine, id)).status).toBe('SENDING');
  });

  it('transactional mail of the same project goes first', async () => {
    const to = `${randomUUID()}@people.test`;
    const before = sink.messages.length;
    const mail = { from: `a@${engine.domain}`, subject: 'Hi', body: 'Hi', to };
    expect((await engine.call('POST', '/v1/send', mail)).status).toBe(200);
    expect(await overtakenBy(to, before)).toBeLessThan(few);
    expect((await campaignOf(engine, id)).status).toBe('SENDING');
    await act(engine, id, 'cancel');
  });

  it('a disabled project’s campaign is cancelled, and what waited is withheld', async () => {
    const campaign = (await underWay(3_000, 100)).id;
    await engine.api.db.transaction().execute(async (tx) => {
      await disableProject(tx, engine.project.id, 'MANUAL');
    });
    const row = await engine.api.db
      .selectFrom('campaign')
      .select('status')
      .where('id', '=', campaign)
      .executeTakeFirst();
    expect(row?.status).toBe('CANCELLED');
    await waitFor('nothing to be open', async () => {
      const { PENDING = 0, SENDING = 0 } = await emailStatuses(engine, campaign);
      return PENDING + SENDING === 0;
    });
    const errors = await engine.api.db
      .selectFrom('email')
      .select(['error', sql<number>`count(*)::int`.as('count')])
      .where('campaign_id', '=', campaign)
      .where('status', '=', 'FAILED')
      .groupBy('error')
      .execute();
    expect(errors.map(({ error }) => error)).toEqual(['project_disabled']);
  });
});
