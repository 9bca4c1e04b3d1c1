import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import { waitFor } from './wait-for.ts';

/** A number for an advisory lock that no other code uses. */
const lock = 4_711;

/** Makes inserts of mail to an address wait until they are released. */
export async function holdBack(db: Database, address: string) {
  return holdBackAt(
    db,
    sql`insert on email for each row when (new.to_email = ${sql.lit(address)})`,
  );
}

/** Makes the changes that the trigger clause `change` names wait until they are released. */
export const holdBackAt = (db: Database, change: RawBuilder<unknown>) =>
  holdBackBy(db, sql`create trigger hold_back before ${change}`);

/** Makes commits of transactions that insert into a table wait until they are released. */
export const holdBackCommits = (db: Database, table: string) =>
  holdBackBy(
    db,
    sql`create constraint trigger hold_back after insert on ${sql.table(table)}
      deferrable initially deferred for each row`,
  );

async function holdBackBy(db: Database, trigger: RawBuilder<unknown>) {
  await sql`create or replace function hold_back() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(${sql.lit(lock)}); return new; end $$`.execute(
    db,
  );
  await sql`${trigger} execute function hold_back()`.execute(db);
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let isHeld = false;
  const held = db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${sql.lit(lock)})`.execute(tx);
    isHeld = true;
    await released;
  });
  await waitFor('the lock', () => isHeld);
  return {
    /** Resolves when a change waits. */
    isReached: () =>
      waitFor('a change that waits', async () => {
        const { rows } = await sql`select from pg_locks
          where locktype = 'advisory' and objid = ${lock} and not granted`.execute(db);
        return rows.length > 0;
      }),
    /** Ends the connections of the waiting changes, which are then rolled back. */
    async endWaiting() {
      await sql`select pg_terminate_backend(pid) from pg_locks
        where locktype = 'advisory' and objid = ${lock} and not granted`.execute(db);
    },
    async release() {
      release();
      await held;
      await sql`drop function hold_back cascade`.execute(db);
    },
  };
}
