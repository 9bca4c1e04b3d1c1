import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** One-time sign-in links that an operator creates for a user who is locked out. */

/** Minutes for which a link works. */
export const linkMinutes = 15;

/** Stores the hash of a link's token, in place of the user's previous link. */
export async function replaceLink(tx: Database, userId: string, hash: Buffer): Promise<void> {
  await sql`
    insert into break_glass (user_id, token_hash, expires_at)
      values (${userId}, ${hash}, now() + make_interval(mins => ${linkMinutes}))
      on conflict (user_id) do update
        set token_hash = excluded.token_hash, expires_at = excluded.expires_at`.execute(tx);
}

/**
 * Deletes a link that is still valid and returns its user. Of several concurrent callers, one gets
 * the user, the others undefined.
 */
export async function useLink(tx: Database, hash: Buffer): Promise<string | undefined> {
  const { rows } = await sql<{ userId: string }>`
    delete from break_glass where token_hash = ${hash} and expires_at > now()
      returning user_id as "userId"`.execute(tx);
  return rows[0]?.userId;
}
