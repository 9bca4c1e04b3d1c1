import { sql } from 'kysely';
import { limits } from '../domain/limits.ts';
import type { Database } from './database.ts';

interface KeyUse {
  ownerId: string;
  key: string;
  claimedAt: Date;
}

/**
 * Claims a key for one request. A key that ran out, or whose request never ended, is new again.
 * Answers the moment of the claim, or the row of the earlier use.
 */
export async function claimIdempotencyKey(
  db: Database,
  given: { ownerId: string; key: string; request: string; bodyHash: Buffer; ttlHours: number },
) {
  const values = {
    request: given.request,
    body_hash: given.bodyHash,
    status_code: null,
    response: null,
    created_at: sql<Date>`clock_timestamp()`,
  };
  for (;;) {
    const claimed = await db
      .insertInto('idempotency')
      .values({ owner_id: given.ownerId, key: given.key, ...values })
      .onConflict((conflict) =>
        conflict
          .columns(['owner_id', 'key'])
          .doUpdateSet(values)
          .where(
            sql<boolean>`idempotency.created_at < now() - make_interval(hours => ${given.ttlHours}::int)
              or (idempotency.status_code is null and idempotency.created_at
                < now() - make_interval(secs => ${limits.idempotencyStaleMs / 1000}::float8))`,
          ),
      )
      .returning('created_at')
      .executeTakeFirst();
    if (claimed) return { claimedAt: claimed.created_at };
    const row = await db
      .selectFrom('idempotency')
      .select(['request', 'body_hash', 'status_code', 'response', 'created_at'])
      .where('owner_id', '=', given.ownerId)
      .where('key', '=', given.key)
      .executeTakeFirst();
    // Gone in between: the first request ended in an error and released the key.
    if (row) return { row };
  }
}

/** Stores the answer of the request that holds the claim. */
export async function completeIdempotencyKey(
  db: Database,
  use: KeyUse & { status: number; response: Buffer },
): Promise<void> {
  await db
    .updateTable('idempotency')
    .set({ status_code: use.status, response: use.response })
    .where('owner_id', '=', use.ownerId)
    .where('key', '=', use.key)
    .where('created_at', '=', use.claimedAt)
    .execute();
}

/** Makes the key new again. */
export async function releaseIdempotencyKey(db: Database, use: KeyUse): Promise<void> {
  await db
    .deleteFrom('idempotency')
    .where('owner_id', '=', use.ownerId)
    .where('key', '=', use.key)
    .where('created_at', '=', use.claimedAt)
    .execute();
}

/** Removes keys older than `ttlHours`; answers how many. */
export async function deleteExpiredIdempotencyKeys(
  db: Database,
  ttlHours: number,
): Promise<number> {
  const result = await db
    .deleteFrom('idempotency')
    .where('created_at', '<', sql<Date>`now() - make_interval(hours => ${ttlHours}::int)`)
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}
