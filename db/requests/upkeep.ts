import { sql } from 'kysely';
import { type Database, limitLockWaits, transact } from '../database.ts';
import { deletePage } from '../pages.ts';
import { isLockTimeout } from '../sql-state.ts';

/**
 * Milliseconds for which dropping a partition may wait for a lock. Meanwhile no requests are stored
 * or listed.
 */
const lockMs = 1_000;

/**
 * Drops the requests of days that ended more than `days` days ago. If a partition is in use, the
 * next call drops it.
 */
export async function dropOldRequests(
  db: Database,
  days: number,
  isOver: () => boolean,
): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select child.relname as name from pg_inherits join pg_class child on child.oid = inhrelid
      where inhparent = 'request_log'::regclass
        and to_date(right(child.relname, 8), 'YYYYMMDD') < ${lastDay(days)}
      order by name`.execute(db);
  for (const { name } of rows) {
    if (isOver() || !(await drop(db, name))) return;
  }
  const old = {
    table: 'request_log_count',
    where: sql<boolean>`day < ${lastDay(days)}`,
    rows: 1_000,
  };
  while (!isOver() && (await deletePage(db, old)) === old.rows);
}

/** SQL of the oldest day of which requests are kept. */
function lastDay(days: number) {
  return sql`((now() at time zone 'utc')::date - ${days}::int)`;
}

/** Returns false if the partition is in use. */
async function drop(db: Database, name: string): Promise<boolean> {
  try {
    await transact(db, async (tx) => {
      await limitLockWaits(tx, lockMs);
      await sql`drop table ${sql.table(name)}`.execute(tx);
    });
    return true;
  } catch (error) {
    if (isLockTimeout(error)) return false;
    throw error;
  }
}
