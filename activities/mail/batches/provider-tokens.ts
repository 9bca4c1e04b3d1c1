import { takeProviderTokens } from '../../../db/delivery/send-rate.ts';
import type { Database } from '../../../db/database.ts';
import type { PoolProvider } from '../../../providers/mail-pool.ts';

/**
 * Maximum number of milliseconds that claimed messages wait for the rate limit of their provider.
 * Messages that would wait longer are released.
 */
const rateWaitMsMax = 10_000;
/**
 * Minimum number of milliseconds for which messages over the rate limit of their provider are
 * released.
 */
export const overRateMs = 1_000;

/**
 * Takes tokens from the bucket of a provider with a rate limit. Returns how many messages the
 * provider may get and after how many milliseconds; if none, the milliseconds until the next try.
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
    // If the database does not answer, the messages wait.
    return { granted: 0, waitMs: overRateMs };
  }
}
