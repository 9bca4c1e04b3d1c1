import { type RawBuilder, sql } from 'kysely';
import { type Database, transact } from '../database.ts';
import { following, ledgerColumns } from '../sql/ledger.ts';

/**
 * Deletes messages, and their rows in all other tables. Sent mail stays billed.
 * @param given.where a condition on `email`
 * @param given.rows maximum number of messages; absent: all
 * @returns the number of deleted messages
 */
export async function deleteMail(
  db: Database,
  { where, rows }: { where: RawBuilder<boolean>; rows?: number },
): Promise<number> {
  return db.isTransaction ? remove(db) : transact(db, remove);

  async function remove(tx: Database): Promise<number> {
    // Lock the messages first, so that the next statement sees rows that other transactions have
    // just added to these tables.
    const { rows: found } = await sql<{ id: string }>`
      select id from email where ${where} limit ${rows ?? null}::int for update`.execute(tx);
    const { rows: deleted } = await sql`
      with gone as (
        delete from email where id = any(${found.map(({ id }) => id)}::uuid[])
          returning ${ledgerColumns('email')}
      ), ${following({ was: 'gone' })}
      select from gone`.execute(tx);
    return deleted.length;
  }
}
