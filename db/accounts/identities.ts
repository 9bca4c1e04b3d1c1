import { sql } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import type { UserRow } from './users.ts';

/** A user of an OpenID provider. */
export interface IdentityKey {
  provider: string;
  issuer: string;
  subject: string;
}

/** Returns the account that signs in by a user of a provider. */
export async function findUserByIdentity(
  db: Database,
  { issuer, subject }: IdentityKey,
): Promise<UserRow | undefined> {
  return db
    .selectFrom('app_user')
    .select(columnsOf('app_user'))
    .where('id', '=', (from) =>
      from
        .selectFrom('identity')
        .select('user_id')
        .where('issuer', '=', issuer)
        .where('subject', '=', subject),
    )
    .executeTakeFirst();
}

/** Links a user of a provider to an account. Returns false when it has an account already. */
export async function insertIdentity(
  tx: Database,
  userId: string,
  key: IdentityKey,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await tx
    .insertInto('identity')
    .values({ user_id: userId, ...key })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows > 0n;
}

export async function updateIdentityUsed(
  db: Database,
  { issuer, subject }: IdentityKey,
): Promise<void> {
  await db
    .updateTable('identity')
    .set({ last_used_at: sql<Date>`now()` })
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .execute();
}
