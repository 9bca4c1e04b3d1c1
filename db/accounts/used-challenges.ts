import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** Marks a challenge as used for `seconds`. Only the first call with a hash returns true. */
export async function useChallenge(db: Database, hash: Buffer, seconds: number): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await db
    .insertInto('used_challenge')
    .values({ hash, expires_at: sql<Date>`now() + ${seconds} * interval '1 second'` })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows > 0n;
}
