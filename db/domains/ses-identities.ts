import { sql } from 'kysely';
import { type Database, transact } from '../database.ts';

/**
 * The identities at the mail provider that this server has created. Other identities are never
 * changed or deleted, because the account may be shared.
 */

/**
 * Locks a name until the transaction ends, so that no other transaction can claim, verify or
 * release it.
 */
export async function lockDomainName(tx: Database, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`domain ${name}`}, 0))`.execute(tx);
}

/**
 * Records that this server owns the identity of a name. Call it before the identity is created at
 * the provider, so that a crash in between leaves no identity that this server does not know.
 */
export async function insertSesIdentity(db: Database, name: string): Promise<void> {
  await db
    .insertInto('ses_identity')
    .values({ name })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
}

/** Returns true if this server owns the identity of a name. */
export async function isOwnIdentity(db: Database, name: string): Promise<boolean> {
  const row = await db
    .selectFrom('ses_identity')
    .select('name')
    .where('name', '=', name)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Returns true if the provider is removing a name now. The result cannot change while the name is
 * locked.
 */
export async function isBeingForgotten(tx: Database, name: string): Promise<boolean> {
  const row = await tx
    .selectFrom('ses_identity')
    .select('name')
    .where('name', '=', name)
    .where('removing_until', '>', sql<Date>`clock_timestamp()`)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Time for which a name counts as being removed: longer than the call to the provider may take, and
 * shorter than the timeout of the activity, so that the time is over when the activity is retried.
 */
const forgettingMax = sql`interval '1 minute'`;

/**
 * Makes the provider remove the identity of a name that no project claims any more, if this server
 * owns it; otherwise does nothing. `forget` runs outside a transaction, so that a slow provider
 * keeps none open. Meanwhile the name cannot be claimed.
 * A failed call may be repeated at once. After a crash, a call one minute later completes the
 * removal.
 */
export async function forgetUnclaimedIdentity(
  db: Database,
  name: string,
  forget: () => Promise<void>,
): Promise<void> {
  const identity = () => db.updateTable('ses_identity').where('name', '=', name);
  const isMine = await transact(db, async (tx) => {
    await lockDomainName(tx, name);
    const { numUpdatedRows } = await tx
      .updateTable('ses_identity')
      .set({ removing_until: sql<Date>`clock_timestamp() + ${forgettingMax}` })
      .where('name', '=', name)
      .where(sql<boolean>`(removing_until is null or removing_until <= clock_timestamp())`)
      .where(sql<boolean>`not exists (select from domain where name = ${name})`)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  });
  if (!isMine) return;
  try {
    await forget();
  } catch (error) {
    await identity().set({ removing_until: null }).execute();
    throw error;
  }
  await db.deleteFrom('ses_identity').where('name', '=', name).execute();
}
