import { type RawBuilder, sql } from 'kysely';
import { columns, type DB } from './tables.ts';

/**
 * The columns of a table for `select` and `returning`, each with the table's name before it. They
 * are named, never asked for with `*`: a column that the migration of a later version adds must not
 * change what this version reads.
 * @param alias what the table is called in the statement, where that is not its own name.
 */
export function columnsOf<T extends keyof DB, A extends string = T>(
  table: T,
  alias: A = table as string as A,
): `${A}.${keyof DB[T] & string}`[] {
  return columns[table].map((column) => `${alias}.${column as keyof DB[T] & string}` as const);
}

/** The same list for a statement that is written by hand. */
export function columnList(table: keyof DB, alias: string = table): RawBuilder<unknown> {
  return references(columns[table], alias);
}

/** Columns of what is called `source` in a statement, as a list for it. */
export function references(names: readonly string[], source: string): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql.ref(`${source}.${name}`)));
}
