import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

/** Deletes many rows in short statements: each holds locks and memory for its own rows only. */

interface Page {
  table: string;
  where: RawBuilder<boolean>;
  /** Maximum number of rows that one statement deletes. */
  rows: number;
  /** SQL of the order of deletion, if it matters. */
  order?: RawBuilder<unknown> | undefined;
}

/**
 * Does one page of work for each id in turn, until all are done or `isOver`. So a large amount of
 * work for one id does not delay the others.
 * @param page returns true if it was the last page of this id
 */
export async function pageInTurn(
  ids: readonly string[],
  isOver: () => boolean,
  page: (id: string) => Promise<boolean>,
): Promise<void> {
  const left = new Set(ids);
  // Deleting an id from the set and adding it again moves it to the end of this loop.
  for (const id of left) {
    if (isOver()) return;
    left.delete(id);
    if (!(await page(id))) left.add(id);
  }
}

/** Deletes up to `rows` rows of a table. Returns the number of deleted rows. */
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
