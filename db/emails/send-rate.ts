import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** Sending limits in messages per second; 0 means none. */
export interface SendingRates {
  perSecond: number;
  perProjectPerSecond: number;
}

/**
 * Takes up to `wanted` sending tokens from the buckets of the server and the project, which hold
 * together. Returns how many were granted and how long to wait: until there is one, when none
 * were; before they may be used, when `urgent` was given and they were taken in advance.
 * @param projectId null: mail of the platform, which only the limit of the server holds back.
 * @param options.urgent goes before all that is not: an empty bucket gives its next tokens, to
 *   whoever asked first.
 */
export async function takeSendingTokens(
  db: Database,
  rates: SendingRates,
  projectId: string | null,
  wanted: number,
  { urgent = false } = {},
): Promise<{ granted: number; waitMs: number }> {
  const buckets = [
    { key: `project ${projectId}`, rate: projectId === null ? 0 : rates.perProjectPerSecond },
    { key: 'server', rate: rates.perSecond },
  ].filter((bucket) => bucket.rate > 0);
  if (buckets.length === 0) return { granted: wanted, waitMs: 0 };
  const { rows } = await sql<{ granted: number; wait_ms: number }>`
    select granted, wait_ms from take_sending_tokens(${buckets.map(({ key }) => key)}::text[],
      ${buckets.map(({ rate }) => rate)}::float8[], ${wanted}, ${urgent})`.execute(db);
  const [taken] = rows;
  if (!taken) throw new Error('takeSendingTokens: no answer');
  return { granted: taken.granted, waitMs: taken.wait_ms };
}

/** Gives back tokens that were granted and not used. */
export async function returnSendingTokens(
  db: Database,
  rates: SendingRates,
  projectId: string,
  unused: number,
): Promise<void> {
  const keys = [
    ...(rates.perProjectPerSecond > 0 ? [`project ${projectId}`] : []),
    ...(rates.perSecond > 0 ? ['server'] : []),
  ];
  if (keys.length === 0 || unused <= 0) return;
  // In order, as they are taken.
  await sql`
    with held as (
      select key from token_bucket where key = any(${keys}::text[]) order by key for update
    )
    update token_bucket set tokens = tokens + ${unused}
      from held where token_bucket.key = held.key`.execute(db);
}
