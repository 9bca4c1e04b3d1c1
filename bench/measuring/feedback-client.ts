import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Pool } from 'undici';
import { times } from './waiting.ts';

/**
 * The client of the feedback benchmark, in its own process. Each message starts a load, which is
 * requests to the API, or the same writes directly in PostgreSQL.
 */

export type FeedbackLoad = {
  /** Requests started per second; 0: no rate, but at most `parallel` requests at once. */
  perSecond: number;
  parallel: number;
} & (
  | { kind: 'http'; requests: readonly FeedbackRequest[] }
  | { kind: 'sql'; projectId: string; reports: readonly FeedbackReport[]; together: number }
);

export interface FeedbackRequest {
  path: string;
  /** The body of a POST; absent: a GET. */
  body?: string;
  /** Default: the headers of SNS for a POST, and none for a GET. */
  headers?: Record<string, string>;
}

/** A report that is written by SQL alone. */
export interface FeedbackReport {
  receipt: string;
  emailId: string;
  contactId: string;
  campaignId: string | null;
  kind: 'Delivery' | 'Open' | 'Click';
}

export interface FeedbackResult {
  seconds: number;
  latencies: number[];
  /** Indexes of the acknowledged requests in the load. */
  acknowledged: number[];
  failures: string[];
}

/** Headers of a notification of Amazon SNS. */
const ofSns = { 'content-type': 'text/plain; charset=UTF-8' };

const { API_URL, DATABASE_URL } = process.env;
const sql = new pg.Pool({ connectionString: DATABASE_URL, max: 20 });
let api: Pool | null = null;

process.on('message', (load: FeedbackLoad) => {
  void play(load).then((result) => process.send?.(result));
});
process.send?.({ ready: true });
await Promise.race(['SIGTERM', 'SIGINT', 'disconnect'].map((name) => once(process, name)));
process.exit(0);

async function play(load: FeedbackLoad): Promise<FeedbackResult> {
  const result: FeedbackResult = { seconds: 0, latencies: [], acknowledged: [], failures: [] };
  const startedAt = performance.now();
  const count = async (places: readonly number[], work: () => Promise<string | null>) => {
    const askedAt = performance.now();
    const failure = await work().catch((error: unknown) => String(error));
    if (failure === null) {
      result.latencies.push(performance.now() - askedAt);
      result.acknowledged.push(...places);
    } else if (result.failures.length < 5) result.failures.push(failure);
  };
  if (load.kind === 'sql') {
    const { reports, together } = load;
    await times(Math.ceil(reports.length / together), load.parallel, async (page) => {
      const some = reports.slice(page * together, (page + 1) * together);
      await count(
        some.map((_, index) => page * together + index),
        () => write(load.projectId, some),
      );
    });
  } else {
    const { requests, perSecond } = load;
    // With a rate, there are many connections, so that slow responses do not delay later requests.
    const connections = perSecond > 0 ? 256 : load.parallel;
    const pool = (api ??= new Pool(API_URL ?? '', { connections: 256, pipelining: 1 }));
    await times(requests.length, connections, async (index) => {
      if (perSecond > 0) {
        const wait = startedAt + (index * 1000) / perSecond - performance.now();
        if (wait > 0) await sleep(wait);
      }
      await count([index], () => request(pool, requests[index] ?? { path: '/' }));
    });
  }
  result.seconds = (performance.now() - startedAt) / 1000;
  return result;
}

/** Returns null if the request was acknowledged, otherwise the failure. */
async function request(
  pool: Pool,
  { path, body, headers = body === undefined ? {} : ofSns }: FeedbackRequest,
): Promise<string | null> {
  const answer = await pool.request({
    path,
    method: body === undefined ? 'GET' : 'POST',
    headers,
    ...(body === undefined ? {} : { body }),
  });
  const text = await answer.body.text();
  return [200, 302].includes(answer.statusCode) ? null : `${answer.statusCode} ${text}`;
}

/** The changes that reports make, and nothing else, in one transaction. */
async function write(projectId: string, reports: readonly FeedbackReport[]): Promise<null> {
  const client = await sql.connect();
  const ids = (kind: FeedbackReport['kind']) =>
    reports.filter((report) => report.kind === kind).map(({ emailId }) => emailId);
  const ofCampaigns = reports.filter(({ campaignId }) => campaignId !== null);
  const given = reports.map(({ emailId, contactId, kind }) => ({
    email_id: emailId,
    contact_id: contactId,
    name: `email.${kind.toLowerCase()}`,
    data: { subject: 'Hello', from: 'team@shop.test', messageId: emailId, emailId, at: new Date() },
  }));
  try {
    await client.query('begin');
    await client.query({
      name: 'receipts',
      text: 'insert into report_receipt (id) select unnest($1::text[]) on conflict do nothing',
      values: [reports.map(({ receipt }) => receipt)],
    });
    await client.query({
      name: 'emails',
      text: `update email set delivered_at = case when id = any($1) then now() else delivered_at end,
          opened_at = case when id = any($2) then now() else opened_at end,
          opens = opens + case when id = any($2) then 1 else 0 end,
          clicked_at = case when id = any($3) then now() else clicked_at end,
          clicks = clicks + case when id = any($3) then 1 else 0 end,
          status = case when id = any($3) or status = 'CLICKED' then 'CLICKED'
            when id = any($2) or status = 'OPENED' then 'OPENED' else 'DELIVERED' end,
          updated_at = now()
        where id = any($1::uuid[] || $2::uuid[] || $3::uuid[])`,
      values: [ids('Delivery'), ids('Open'), ids('Click')],
    });
    await client.query({
      name: 'events',
      text: `insert into event (project_id, contact_id, email_id, name, data)
        select $1, contact_id, email_id, name, data from jsonb_to_recordset($2::jsonb)
          as e(contact_id uuid, email_id uuid, name text, data jsonb)`,
      values: [projectId, JSON.stringify(given)],
    });
    await client.query({
      name: 'campaign',
      text: `update campaign set delivered_count = delivered_count + given.delivered,
          opened_count = opened_count + given.opened, clicked_count = clicked_count + given.clicked
        from (select id, count(*) filter (where kind = 'Delivery') as delivered,
            count(*) filter (where kind = 'Open') as opened,
            count(*) filter (where kind = 'Click') as clicked
          from unnest($1::uuid[], $2::text[]) as report(id, kind) group by 1 order by 1) given
        where campaign.id = given.id`,
      values: [
        ofCampaigns.map(({ campaignId }) => campaignId),
        ofCampaigns.map(({ kind }) => kind),
      ],
    });
    await client.query('commit');
    return null;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}
