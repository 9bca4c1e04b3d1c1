import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { startCampaign } from '../../../db/transactions/mail/advance-campaign.ts';
import {
  expireChunks,
  failCampaignEmails,
  queueLeftovers,
  releaseChunk,
} from '../../../db/campaigns/chunks.ts';
import { claimCampaignEmails } from '../../../db/transactions/mail/claim-campaign-mail.ts';
import { findCampaignWork } from '../../../db/campaigns/emails.ts';
import { freezeCampaign } from '../../../db/transactions/mail/freeze-audience.ts';
import type { DeliveryOutcome } from '../../../db/transactions/mail/attempts.ts';
import { recordDeliveryOutcomes } from '../../../db/transactions/mail/record-outcomes.ts';
import { useApi } from '../../support/api.ts';
import { rowsRead } from '../../support/rows-read.ts';
import { chunkOrigin, insertTestCampaign } from '../../support/projects/mails.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { dropContacts, writeMail } from '../../support/mail-tables.ts';

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();

let projectId: string;
let secretKey: string;
let campaignId: string;

beforeEach(async () => {
  ({ id: projectId, secretKey } = await api.createProject(cookie));
});

/** Starts a campaign to so many new contacts, and freezes its audience. */
async function started(recipients: number): Promise<void> {
  await sql`insert into contact (project_id, email, subscribed)
    select ${projectId}, 'no' || n || '@people.test', true
      from generate_series(1, ${recipients}::int) n`.execute(db);
  campaignId = await insertTestCampaign(db, projectId, { status: 'SCHEDULED' });
  await startCampaign(db, { id: campaignId, project_id: projectId, local_time: null });
  await freezeCampaign(db, { projectId, campaignId });
}

async function claim(max = 50) {
  const attemptId = randomUUID();
  const given = { campaignId, attemptId, max, leaseSeconds: 60 };
  const claimed = (await claimCampaignEmails(db, projectId, given))?.emails ?? [];
  const record = (outcomes: DeliveryOutcome[]) =>
    recordDeliveryOutcomes(db, {
      projectId,
      attemptIds: [attemptId],
      claimed,
      outcomes,
      campaign: { id: campaignId, pauseOnFailures: 0, chunk: chunkOrigin(attemptId) },
    });
  return { attemptId, ids: claimed.map(({ id }) => id), record };
}

const chunkSizes = async () => {
  const { rows } = await sql<{ size: number }>`
    select cardinality(email_ids) as size from campaign_chunk
      where campaign_id = ${campaignId} order by number`.execute(db);
  return rows.map(({ size }) => size);
};
const statusesOf = async () => {
  const { rows } = await sql<{ status: string; error: string | null; count: number }>`
    select status, error, count(*)::int as count from email where campaign_id = ${campaignId}
      group by 1, 2 order by 1, 2`.execute(db);
  return rows.map(({ status, error, count }) => [status, error, count]);
};
const accepted = (emailId: string): DeliveryOutcome => ({
  emailId,
  kind: 'accepted',
  messageId: `m-${emailId}`,
  delivered: true,
});
const show = (id: string) => api.request('GET', `/emails/${id}`, { key: secretKey });
const expire = () =>
  sql`update campaign_chunk set lease_until = now() - interval '1 second'
    where campaign_id = ${campaignId} and attempt_id is not null`.execute(db);

describe('the queue of a campaign', () => {
  it('has 50 messages in a chunk, and gives each of them to one', async () => {
    await started(120);
    expect(await chunkSizes()).toEqual([50, 50, 20]);
    const claims = await Promise.all([claim(), claim(), claim(), claim()]);
    const ids = claims.flatMap((one) => one.ids);
    expect(claims.map((one) => one.ids.length).toSorted()).toEqual([0, 20, 50, 50]);
    expect(new Set(ids).size).toBe(120);
  });

  it('finds the chunk of an attempt without reading those that wait', async () => {
    await started(120);
    await sql`insert into campaign_chunk (campaign_id, project_id, email_ids, due_at)
      select ${campaignId}, ${projectId}, array[gen_random_uuid()], now() + interval '1 hour'
        from generate_series(1, 1000)`.execute(db);
    const { ids, record } = await claim();
    const other = await claim();
    const isOfRows = (text: string) =>
      !text.includes('campaign_chunk') || text.includes('update email');
    const settle = () => record(ids.map(accepted));
    expect(await rowsRead(db, settle, isOfRows)).toBeLessThan(10);
    const release = () => releaseChunk(db, campaignId, other.attemptId);
    expect(await rowsRead(db, release, isOfRows)).toBeLessThan(10);
  });

  it('gives as many as are asked for, and keeps the rest', async () => {
    await started(60);
    expect((await claim(14)).ids.length).toBe(14);
    expect(await chunkSizes()).toEqual([14, 10, 36]);
    expect((await claim(14)).ids.length).toBe(10);
    expect((await claim(50)).ids.length).toBe(36);
  });

  it('gives nothing of a campaign that is paused', async () => {
    await started(1);
    await sql`update campaign set status = 'PAUSED', paused_reason = 'requested'
      where id = ${campaignId}`.execute(db);
    expect((await claim()).ids).toEqual([]);
  });

  it('is over when all have their outcomes', async () => {
    await started(2);
    const { ids, record } = await claim();
    expect(await findCampaignWork(db, campaignId)).toEqual({
      nextDueMs: null,
      retryMs: null,
      isUnsettled: true,
      isRouted: false,
    });
    await record(ids.map(accepted));
    expect(await chunkSizes()).toEqual([]);
    expect(await findCampaignWork(db, campaignId)).toEqual({
      nextDueMs: null,
      retryMs: null,
      isUnsettled: false,
      isRouted: false,
    });
    expect(await statusesOf()).toEqual([['DELIVERED', null, 2]]);
  });

  it('has messages that are tried again later in chunks of their own', async () => {
    await started(3);
    const { ids, record } = await claim();
    const [first, second, third] = ids as [string, string, string];
    await record([
      accepted(first),
      { emailId: second, kind: 'again', error: 'Busy.', delayMs: 60_000 },
      { emailId: third, kind: 'released' },
    ]);
    expect(await chunkSizes()).toEqual([1, 1]);
    expect((await claim()).ids).toEqual([third]);
    await sql`update campaign_chunk set due_at = now() - interval '1 second' where campaign_id = ${campaignId}`.execute(
      db,
    );
    const again = await claim();
    expect(again.ids).toEqual([second]);
    await again.record([accepted(second)]);
    const { body } = await show(second);
    expect(body.trace).toMatchObject([
      { state: 'queued' },
      { state: 'handed_over', detail: { attempt: 1 } },
      { state: 'refused', detail: { error: 'Busy.', nextTryInMs: 60_000 } },
      { state: 'handed_over', detail: { attempt: 2 } },
      { state: 'accepted', detail: { messageId: `m-${second}` } },
      { state: 'delivered' },
    ]);
  });

  it('keeps the messages without an outcome claimed, when only some are recorded', async () => {
    await started(2);
    const { ids, record } = await claim();
    await record([accepted(ids[0]!)]);
    expect(await chunkSizes()).toEqual([1]);
    expect((await claim()).ids).toEqual([]);
    await record([accepted(ids[1]!)]);
    expect(await chunkSizes()).toEqual([]);
  });

  it('leaves out contacts that are deleted while they wait', async () => {
    await started(2);
    await dropContacts(
      db,
      sql<boolean>`project_id = ${projectId}
      and email = 'no1@people.test'`,
    );
    const { ids, record } = await claim();
    expect(ids.length).toBe(1);
    await record(ids.map(accepted));
    expect(await chunkSizes()).toEqual([]);
  });
});

describe('a message whose chunk is claimed', () => {
  it('is shown as SENDING, alone and in lists', async () => {
    await started(3);
    const { ids } = await claim(1);
    const [id] = ids as [string];
    expect((await show(id)).body.status).toBe('SENDING');
    const listed = async (status: string) => {
      const { body } = await api.request('GET', `/emails?status=${status}`, { key: secretKey });
      return body.data.map((email: { id: string; status: string }) => [email.id, email.status]);
    };
    expect(await listed('SENDING')).toEqual([[id, 'SENDING']]);
    expect((await listed('PENDING')).length).toBe(2);
    expect((await listed(`PENDING&campaignId=${campaignId}`)).length).toBe(2);
  });

  it('is due again when nothing of the chunk was handed over', async () => {
    await started(1);
    const { attemptId, ids } = await claim();
    await releaseChunk(db, campaignId, attemptId);
    expect((await show(ids[0]!)).body.status).toBe('PENDING');
    expect((await claim()).ids).toEqual(ids);
  });

  it('is unknown when its process dies, and settled as it is said later', async () => {
    await started(2);
    const { ids, record } = await claim();
    expect(await expireChunks(db, 10)).toBe(0);
    await expire();
    expect(await expireChunks(db, 10)).toBe(1);
    expect(await chunkSizes()).toEqual([]);
    expect(await statusesOf()).toEqual([['SENDING', null, 2]]);
    expect((await claim()).ids).toEqual([]);
    await record([accepted(ids[0]!), { emailId: ids[1]!, kind: 'uncertain', error: 'No answer.' }]);
    expect(await statusesOf()).toEqual([
      ['DELIVERED', null, 1],
      ['SENDING', 'No answer.', 1],
    ]);
    const { body } = await show(ids[0]!);
    expect(body.trace.map(({ state }: { state: string }) => state)).toEqual([
      'queued',
      'handed_over',
      'accepted',
      'delivered',
    ]);
  });

  it('is due again when a process that seemed dead has not handed it over', async () => {
    await started(2);
    const { ids, record } = await claim();
    await expire();
    await expireChunks(db, 10);
    await record([
      { emailId: ids[0]!, kind: 'released' },
      { emailId: ids[1]!, kind: 'again', error: 'away', delayMs: 0 },
    ]);
    expect(await queueLeftovers(db, { id: campaignId, projectId })).toBe(2);
    expect((await claim()).ids.toSorted()).toEqual(ids.toSorted());
  });

  it('is taken from a dead process by the sweep', async () => {
    await started(1);
    await claim();
    await expire();
    await tasksOf(api, {}).SETTLE_UNCERTAIN();
    expect(await chunkSizes()).toEqual([]);
    expect(await statusesOf()).toEqual([['SENDING', null, 1]]);
    await writeMail(db, (tx) =>
      sql`update email set lease_until = now() - interval '1 hour'
      where campaign_id = ${campaignId}`.execute(tx),
    );
    await tasksOf(api, {}).SETTLE_UNCERTAIN();
    expect(await statusesOf()).toEqual([['FAILED', 'delivery_unknown', 1]]);
  });

  it('is sent after all, if the process was only slow and gives its messages back', async () => {
    await started(1);
    const { ids, record } = await claim();
    await expire();
    await tasksOf(api, {}).SETTLE_UNCERTAIN();
    await record([{ emailId: ids[0]!, kind: 'released' }]);
    expect(await queueLeftovers(db, { id: campaignId, projectId })).toBe(1);
    expect(await chunkSizes()).toEqual([1]);
    expect(await statusesOf()).toEqual([['PENDING', null, 1]]);
  });

  it('is not suppressed when its campaign is cancelled', async () => {
    await started(2);
    const { ids, record } = await claim(1);
    await sql`update campaign set status = 'CANCELLED' where id = ${campaignId}`.execute(db);
    expect(await failCampaignEmails(db, campaignId, 100)).toBe(1);
    expect(await failCampaignEmails(db, campaignId, 100)).toBe(0);
    expect(await statusesOf()).toEqual([
      ['FAILED', 'campaign_cancelled', 1],
      ['PENDING', null, 1],
    ]);
    await record([{ emailId: ids[0]!, kind: 'released' }]);
    expect(await statusesOf()).toEqual([['FAILED', 'campaign_cancelled', 2]]);
    expect(await chunkSizes()).toEqual([]);
  });
});

it('queues messages that are in no chunk, once', async () => {
  await started(2);
  await sql`delete from campaign_chunk where campaign_id = ${campaignId}`.execute(db);
  await writeMail(db, (tx) =>
    sql`update email set due_at = now() - interval '1 minute' where campaign_id = ${campaignId}`.execute(
      tx,
    ),
  );
  expect(await findCampaignWork(db, campaignId)).toMatchObject({ nextDueMs: 0 });
  expect(await queueLeftovers(db, { id: campaignId, projectId })).toBe(2);
  expect(await queueLeftovers(db, { id: campaignId, projectId })).toBe(0);
  expect(await chunkSizes()).toEqual([2]);
});
