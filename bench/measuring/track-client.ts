import { once } from 'node:events';
import pg from 'pg';
import { Pool } from 'undici';
import { times } from './waiting.ts';

/**
 * The client of the track benchmark, in its own process. Each message starts a load, which is
 * requests to the API, or the same writes directly in PostgreSQL.
 */

export interface Load {
  kind: 'api' | 'sql';
  /** The beginning of each event's mark. */
  mark: string;
  /** Number of requests in all, and at once. */
  requests: number;
  parallel: number;
  /**
   * Number of contacts to which every second event belongs. The other events belong to new
   * contacts.
   */
  contacts: number;
  event: string;
  projectId: string;
  authorization: string;
}

export interface LoadResult {
  seconds: number;
  /** Milliseconds of each acknowledged request. */
  latencies: number[];
  /** Marks of the acknowledged events. */
  acknowledged: string[];
  /** The answers to the first few requests that failed. */
  failures: string[];
}

const { API_URL, DATABASE_URL } = process.env;
const sql = new pg.Pool({ connectionString: DATABASE_URL, max: 20 });
let api: Pool | null = null;

process.on('message', (load: Load) => {
  void play(load).then((result) => process.send?.(result));
});
process.send?.({ ready: true });
await Promise.race(['SIGTERM', 'SIGINT', 'disconnect'].map((name) => once(process, name)));
process.exit(0);

async function play(load: Load): Promise<LoadResult> {
  const pool = (api ??= new Pool(API_URL ?? '', { connections: load.parallel, pipelining: 1 }));
  const result: LoadResult = { seconds: 0, latencies: [], acknowledged: [], failures: [] };
  const startedAt = performance.now();
  await times(load.requests, load.parallel, async (index) => {
    const mark = `${load.mark}-${index}`;
    const who = index % 2 === 0 ? mark : `known-${(index >> 1) % load.contacts}`;
    const askedAt = performance.now();
    const failure = await (
      load.kind === 'api'
        ? request(pool, load, `${who}@bench.example`, mark)
        : write(load, `${who}@bench.example`, mark)
    ).catch((error: unknown) => String(error));
    if (failure === null) {
      result.latencies.push(performance.now() - askedAt);
      result.acknowledged.push(mark);
    } else if (result.failures.length < 5) result.failures.push(failure);
  });
  result.seconds = (performance.now() - startedAt) / 1000;
  return result;
}

// Returns null if the request was acknowledged, otherwise the failure.
async function request(
  pool: Pool,
  load: Load,
  email: string,
  mark: string,
): Promise<string | null> {
  const { statusCode, body } = await pool.request({
    path: '/v1/track',
    method: 'POST',
    headers: { authorization: load.authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ email, event: load.event, data: { mark, plan: 'pro' } }),
  });
  const text = await body.text();
  return statusCode === 200 ? null : `${statusCode} ${text}`;
}

async function write(load: Load, email: string, mark: string): Promise<null> {
  const data = JSON.stringify({ mark, plan: 'pro' });
  const client = await sql.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query<{ id: string }>({
      name: 'contact',
      text: `insert into contact (project_id, email, subscribed, data) values ($1, $2, true, $3)
        on conflict (project_id, email) do update set data = contact.data || excluded.data,
          updated_at = now()
        returning id`,
      values: [load.projectId, email, data],
    });
    await client.query({
      name: 'event',
      text: 'insert into event (project_id, contact_id, name, data) values ($1, $2, $3, $4)',
      values: [load.projectId, rows[0]?.id, load.event, data],
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
