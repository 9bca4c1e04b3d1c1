import { type Selectable, sql } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import type { Identity } from '../tables.ts';
import type { UserRow } from './users.ts';

/**
 * Identifies a user of an OpenID provider. `provider` is our id of the provider, `issuer` its
 * address, and `subject` the id of the user at the provider.
 */
export interface IdentityKey {
  provider: string;
  issuer: string;
  subject: string;
}

export type IdentityRow = Selectable<Identity>;

/** Returns the account to which a user of an OpenID provider is linked. */
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

/**
 * Links a user of an OpenID provider to an account. Returns false when the user is linked to an
 * account already.
 */
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

/**
 * Records a sign-in by a user of an OpenID provider. Also updates the provider's id, because the
 * file of providers may have changed it.
 */
export async function updateIdentityUsed(
  db: Database,
  { provider, issuer, subject }: IdentityKey,
): Promise<void> {
  await db
    .updateTable('identity')
    .set({ provider, last_used_at: sql<Date>`now()` })
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .execute();
}

/** Lists the users of OpenID providers that are linked to an account, oldest first. */
export async function listIdentities(db: Database, userId: string): Promise<IdentityRow[]> {
  return db
    .selectFrom('identity')
    .select(columnsOf('identity'))
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute();
}

export async function deleteIdentity(tx: Database, userId: string, id: string): Promise<void> {
  await tx.deleteFrom('identity').where('user_id', '=', userId).where('id', '=', id).execute();
}
