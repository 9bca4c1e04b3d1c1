import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import { following, ledgerColumns } from '../sql/ledger.ts';

/**
 * Deletes messages, and all that follows them in other tables. Sent mail stays billed.
 * @param given.where a condition on `email`
 * @param given.rows maximum number of messages; absent: all
 * @returns how many were deleted
 */
export async function deleteMail(
  db: Database,
  { where, rows }: { where: RawBuilder<boolean>; rows?: number },
): Promise<number> {
  const page = sql`array(select id from email where ${where} limit ${rows ?? null}::int)`;
  // The condition is checked again, because a row may have changed since it was found.
  const { rows: deleted } = await sql`
    with gone as (
      delete from email where ${where} and id = any(${page}) returning ${ledgerColumns('email')}
    ), ${following({ was: 'gone' })}
    select from gone`.execute(db);
  return deleted.length;
}
