import { sql } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import { holdBackAt } from '../../support/held-insert.ts';
import { mailTableFaults, writeMail } from '../../support/mail-tables.ts';
import { startApiProcess, startWorkerProcess } from '../../support/processes/processes.ts';
import {
  act,
  campaignIn,
  createCampaign,
  deleteContacts,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

/**
 * A retry of failed mail whose process dies between two pages. The run of the campaign goes on with
 * the rest, and the sweep starts this run if it is lost.
 */

let isRefusing = false;
const sink = await useSmtpSink({ refuseTo: () => (isRefusing ? 554 : null) });
const smtp = { SMTP_HOST: '127.0.0.1', SMTP_PORT: String(sink.port) };
const settings = { ...smtp, CAMPAIGN_PAUSE_ON_FAILURES: '0' };
const engine = await useEngine(settings);
const { db } = engine.api;

beforeEach(() => deleteContacts(engine));
afterEach(async () => {
  await engine.stopWorker();
  await engine.startWorker();
});

/** A sent campaign whose mail was refused. Returns its id, and the mail that is retried last. */
async function refused(recipients: number): Promise<{ id: string; last: string }> {
  await insertContacts(engine, recipients);
  isRefusing = true;
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  await campaignIn(engine, id, 'SENT', 60_000);
  isRefusing = false;
  const { rows } = await sql<{ last: string }>`select id as last from email
    where campaign_id = ${id} order by created_at, id limit 1`.execute(db);
  return { id, last: rows[0]!.last };
}

/** A sent campaign with two mails, which have failed by different reasons. */
async function failedByTwoReasons(): Promise<{ id: string; last: string }> {
  const campaign = await refused(2);
  await writeMail(db, (tx) =>
    sql`update email set refusal = null, error = 'domain_not_verified'
      where id = ${campaign.last}`.execute(tx),
  );
  await sql`delete from campaign_tally where campaign_id = ${campaign.id}`.execute(db);
  await sql`insert into campaign_tally (campaign_id, project_id, code, count, sent)
    select ${campaign.id}, ${engine.project.id}, code, 1, 0
      from unnest(array['provider_refused', 'domain_not_verified']) code`.execute(db);
  return campaign;
}

/** Makes the last page of a retry wait. */
const holdLastPage = ({ last }: { last: string }) =>
  holdBackAt(
    db,
    sql`update on email for each row
      when (old.id = ${sql.lit(last)} and new.retried_at is not null)`,
  );

/** Begins a retry in a process of its own, and kills it at the last page. */
async function dieAtLastPage(campaign: { id: string; last: string }) {
  const api = await startApiProcess(engine);
  const held = await holdLastPage(campaign);
  const lost = api.call('POST', `/campaigns/${campaign.id}/retry-failed`, {}).catch(() => null);
  await held.isReached();
  await api.kill();
  expect(await lost).toBeNull();
  await held.endWaiting();
  return held;
}

/** Lets the half minute pass after which the run takes over. */
const passRequestTime = (id: string) =>
  sql`update campaign set retry_look_at = now() - interval '1 minute'
    where id = ${id} and retry_look_at is not null`.execute(db);

async function statsOf(id: string) {
  const { outcomes, reasons, totalRecipients } = (
    await engine.call('GET', `/campaigns/${id}/stats`)
  ).body.data;
  const counts = Object.values(outcomes as Record<string, number>);
  expect(counts.reduce((one, other) => one + other, 0)).toBe(totalRecipients);
  return { outcomes, reasons };
}

/** Checks that each mail was retried once, and has arrived. */
async function expectAllRetried(id: string, recipients: number): Promise<void> {
  await campaignIn(engine, id, 'SENT', 60_000);
  expect(await statsOf(id)).toMatchObject({ reasons: {}, outcomes: { sent: recipients } });
  const { rows } = await sql<{ times: number }>`
    select distinct jsonb_array_length(
        jsonb_path_query_array(trace, '$[*] ? (@.state == "retried")')) as times
      from email where campaign_id = ${id}`.execute(db);
  expect(rows).toEqual([{ times: 1 }]);
  expect((await sql.raw(mailTableFaults).execute(db)).rows).toEqual([]);
}

it('is continued by the run within a minute when the API dies between two pages', async () => {
  const recipients = 2_100;
  const campaign = await refused(recipients);
  await engine.stopWorker();
  // Unlike the worker of a test, a process sends the signals that the dead API has left.
  const worker = await startWorkerProcess(engine, settings);
  await (await dieAtLastPage(campaign)).release();
  const { outcomes } = await statsOf(campaign.id);
  expect(outcomes.failed).toBe(100);
  await waitFor('the rest', async () => (await statsOf(campaign.id)).outcomes.failed === 0, 60_000);
  await expectAllRetried(campaign.id, recipients);
  await worker.stop();
}, 240_000);

it('is continued by another worker when that of the run dies as well', async () => {
  const campaign = await failedByTwoReasons();
  await engine.stopWorker();
  const held = await dieAtLastPage(campaign);
  await passRequestTime(campaign.id);
  const worker = await startWorkerProcess(engine, settings);
  await held.isReached();
  // Otherwise its outcome would be unknown, and settled minutes later.
  await waitFor('the first mail', async () => (await statsOf(campaign.id)).outcomes.sent === 1);
  await worker.kill();
  await held.endWaiting();
  await held.release();
  await engine.startWorker();
  await expectAllRetried(campaign.id, 2);
}, 240_000);

it('is continued after a sweep when the run is lost as well', async () => {
  const campaign = await failedByTwoReasons();
  await engine.stopWorker();
  await (await dieAtLastPage(campaign)).release();
  await engine.startWorker();
  const run = engine.temporal.client.workflow.getHandle(`campaign-${campaign.id}`);
  await waitFor('the run', async () => (await run.describe()).status.name === 'RUNNING');
  await run.terminate();
  await passRequestTime(campaign.id);
  await sql`update campaign set reconciled_at = now() - interval '3 minutes'
    where id = ${campaign.id}`.execute(db);
  await sweepNow(engine);
  await expectAllRetried(campaign.id, 2);
}, 240_000);

it('is not continued when the campaign is cancelled', async () => {
  const campaign = await failedByTwoReasons();
  await engine.stopWorker();
  await (await dieAtLastPage(campaign)).release();
  await act(engine, campaign.id, 'cancel');
  await passRequestTime(campaign.id);
  await engine.startWorker();
  const reasons = { campaign_cancelled: 1, domain_not_verified: 1 };
  await waitFor('the end', async () => (await statsOf(campaign.id)).reasons.campaign_cancelled);
  expect(await statsOf(campaign.id)).toMatchObject({ reasons });
}, 240_000);

it('answers how many wait again, although the run has taken over a slow request', async () => {
  const campaign = await failedByTwoReasons();
  const held = await holdLastPage(campaign);
  const path = `/campaigns/${campaign.id}/retry-failed`;
  const answer = engine.call('POST', path, {});
  await held.isReached();
  await passRequestTime(campaign.id);
  await waitFor('the run to wait, too', async () => {
    const { rows } = await sql`select from pg_locks where not granted`.execute(db);
    return rows.length > 1;
  });
  await held.release();
  expect((await answer).body.data).toMatchObject({ retried: 2 });
  await expectAllRetried(campaign.id, 2);
}, 240_000);
