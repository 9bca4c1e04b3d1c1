import { sql } from 'kysely';
import { sweepAgeMax } from '../../domain/runs/runs.ts';
import type { Database } from '../database.ts';
import type { SendingRates } from './send-rate.ts';
import { findWatermark } from '../watermarks.ts';

/** Records the worker processes that are alive: each refreshes its own row. */

/** Milliseconds between two refreshes of a worker's row. */
export const beatMs = 5_000;
/**
 * Seconds without a refresh after which a worker counts as dead: it has then missed three or more
 * refreshes.
 */
const silenceMax = 20;

export interface WorkerProcess {
  id: string;
  /** Mail provider through which the worker sends. */
  provider: string;
  rates: SendingRates;
}

/**
 * Records that a worker is alive. A worker's first call also deletes rows of workers that are long
 * dead.
 */
export async function recordWorker(
  db: Database,
  { id, provider, rates }: WorkerProcess,
  isFirst: boolean,
): Promise<void> {
  await sql`
    insert into worker_process (id, provider, rate_per_second, rate_per_project_per_second)
      values (${id}, ${provider}, ${rates.perSecond}, ${rates.perProjectPerSecond})
      on conflict (id) do update set seen_at = now()`.execute(db);
  if (!isFirst) return;
  await sql`delete from worker_process where seen_at < now() - interval '1 day'`.execute(db);
}

/** Records that a worker has finished its work and no longer polls. */
export async function recordWorkerStop(db: Database, id: string): Promise<void> {
  await sql`
    update worker_process set seen_at = now(), stopped_at = now() where id = ${id}`.execute(db);
}

/** All workers of this server. */
export interface Fleet {
  workers: number;
  /** Since when no worker is alive; null: a worker is alive, or none was ever seen. */
  downSince: Date | null;
  /**
   * True if no sweep has begun lately, so lost runs are not restarted. False if none has ever
   * begun.
   */
  isSweepLate: boolean;
  /** Mail provider of the newest worker, and its limits. */
  provider: string | null;
  rates: SendingRates | null;
}

export async function findFleet(db: Database): Promise<Fleet> {
  const { rows } = await sql<{
    isAlive: boolean;
    lastAt: Date;
    provider: string;
    perSecond: number;
    perProjectPerSecond: number;
  }>`
    select stopped_at is null
          and seen_at > now() - make_interval(secs => ${silenceMax}) as "isAlive",
        coalesce(stopped_at, seen_at) as "lastAt", provider, rate_per_second as "perSecond",
        rate_per_project_per_second as "perProjectPerSecond"
      from worker_process order by "isAlive" desc, started_at desc`.execute(db);
  const sweptAt = await findWatermark(db, 'sweep');
  const [newest] = rows;
  const workers = rows.filter(({ isAlive }) => isAlive).length;
  const last = Math.max(...rows.map(({ lastAt }) => lastAt.getTime()));
  return {
    workers,
    downSince: newest && workers === 0 ? new Date(last) : null,
    isSweepLate: sweptAt !== null && Date.now() - sweptAt.getTime() > sweepAgeMax,
    provider: newest?.provider ?? null,
    rates: newest ?? null,
  };
}
