import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { transact } from '../transaction.ts';

/**
 * The identities of the mail provider that this server has made. Only these are ever changed or
 * deleted: the account may have others, which are somebody else's.
 */

/** Until the transaction ends, nobody else claims this name, is verified, or gives it up. */
export async function lockDomainName(tx: Database, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`domain ${name}`}, 0))`.execute(tx);
}

/**
 * Notes that the identity of a name is this server's. To be called before it is made, when the
 * provider has none: who dies in between leaves nothing behind that nobody knows.
 */
export async function insertSesIdentity(db: Database, name: string): Promise<void> {
  await db
    .insertInto('ses_identity')
    .values({ name })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
}

/** Whether the identity of a name is this server's. */
export async function isOwnIdentity(db: Database, name: string): Promise<boolean> {
  const row = await db
    .selectFrom('ses_identity')
    .select('name')
    .where('name', '=', name)
    .executeTakeFirst();
  return row !== undefined;
}

/** Whether somebody is having the provider forget a name. Under the lock of the name this stays. */
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
 * Longer than the provider is waited for, and shorter than the activity that waits for it: when that
 * is tried again, this is over.
 */
const forgettingMax = sql`interval '1 minute'`;

/**
 * Has the provider forget the identity of a name that no project claims any more, when it is this
 * server's; else does nothing. `forget` runs without a transaction, which a provider that does not
 * answer would hold: meanwhile nobody can claim the name. What fails may be tried again at once; who
 * dies leaves it to who comes a minute later.
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
      .where(sql<boolean>`not exists (select from domain where host_name = ${name})`)
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
