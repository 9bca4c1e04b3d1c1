import { takeProviderTokens } from '../../../db/delivery/send-rate.ts';
import type { Database } from '../../../db/database.ts';
import type { PoolProvider } from '../../../providers/mail-pool.ts';

/**
 * Longest wait of claimed messages for the rate limit of their provider, in milliseconds. Others are
 * released.
 */
const rateWaitMsMax = 10_000;
/** Shortest time for which messages over the rate limit of their provider are released. */
export const overRateMs = 1_000;

/**
 * Takes tokens from the bucket of a provider with a rate limit. Returns how many messages it may get,
 * and the milliseconds until then; for none, the milliseconds until the next may be tried.
 */
export async function takeTokens(
  { db }: { db: Database },
  { provider: { id, ratePerSecond } }: { provider: PoolProvider },
  wanted: number,
  { urgent }: { urgent: boolean },
): Promise<{ granted: number; waitMs: number }> {
  if (ratePerSecond === null) return { granted: wanted, waitMs: 0 };
  const limit = { providerId: id, ratePerSecond, waitMsMax: rateWaitMsMax };
  try {
    return await takeProviderTokens(db, limit, wanted, { urgent });
  } catch {
    // Without an answer, the messages wait. The database is probably unavailable.
    return { granted: 0, waitMs: overRateMs };
  }
}
