import { sql } from 'kysely';
import type { Database } from './database.ts';

/** Sending limits in messages per second; 0 means none. */
export interface SendingRates {
  perSecond: number;
  perProjectPerSecond: number;
}

/**
 * Takes up to `wanted` sending tokens from the buckets of the server and the project, which hold
 * together. Answers how many were granted and, when none were, how long until one is.
 */
export async function takeSendingTokens(
  db: Database,
  rates: SendingRates,
  projectId: string,
  wanted: number,
): Promise<{ granted: number; waitMs: number }> {
  const buckets = [
    { key: `project ${projectId}`, rate: rates.perProjectPerSecond },
    { key: 'server', rate: rates.perSecond },
  ].filter((bucket) => bucket.rate > 0);
  if (buckets.length === 0) return { granted: wanted, waitMs: 0 };
  const { rows } = await sql<{ granted: number; wait_ms: number }>`
    select * from take_tokens(${buckets.map(({ key }) => key)}::text[],
      ${buckets.map(({ rate }) => rate)}::float8[], ${wanted})`.execute(db);
  const [taken] = rows;
  if (!taken) throw new Error('takeSendingTokens: no answer');
  return { granted: taken.granted, waitMs: taken.wait_ms };
}
