import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

/** Deletes many rows in short statements: each holds locks and memory for its own rows only. */

interface Page {
  table: string;
  where: RawBuilder<boolean>;
  /** Maximum number of rows deleted at once. */
  rows: number;
  /** SQL of the order in which they are deleted, if it matters. */
  order?: RawBuilder<unknown> | undefined;
}

/** Deletes up to `rows` rows of a table. Returns how many. */
export async function deletePage(
  db: Database,
  { table, where, rows, order }: Page,
): Promise<number> {
  // The condition is checked again, because the row may have changed since it was found.
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)}
      where ${where} and ctid = any (array(
        select ctid from ${sql.table(table)} where ${where}
          ${order ? sql`order by ${order}` : sql``} limit ${rows}))`.execute(db);
  return Number(numAffectedRows ?? 0);
}
