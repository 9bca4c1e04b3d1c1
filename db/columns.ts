import { type RawBuilder, sql } from 'kysely';
import { columns, type DB } from './tables.ts';

/**
 * Lists the columns of a table for `select` and `returning`, each prefixed with the table's name.
 * `*` is not used: a later migration may add a column that this version must not read.
 * @param alias the alias of the table in the statement, if there is one.
 */
export function columnsOf<T extends keyof DB, A extends string = T>(
  table: T,
  alias: A = table as string as A,
): `${A}.${keyof DB[T] & string}`[] {
  return columns[table].map((column) => `${alias}.${column as keyof DB[T] & string}` as const);
}

/** Returns the columns of a table as an SQL list. */
export function columnList(table: keyof DB, alias: string = table): RawBuilder<unknown> {
  return references(columns[table], alias);
}

/** Lists columns of `source`, a table or its alias in the statement. */
export function references(names: readonly string[], source: string): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql.ref(`${source}.${name}`)));
}

/** The column name of an API field: `sentAt` becomes `sent_at`. */
export type SnakeCase<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Tail>}`
  : Name;

const columnNames = new Map<string, string>();

/** Converts a field name to its column name at run time. */
export function snakeCase(name: string): string {
  let column = columnNames.get(name);
  if (column === undefined) {
    column = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    columnNames.set(name, column);
  }
  return column;
}

/** `T` with column names as keys; a field that may be undefined becomes optional. */
type ColumnsFrom<T> = {
  [K in keyof T as undefined extends T[K] ? never : SnakeCase<K & string>]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? SnakeCase<K & string> : never]?: Exclude<
    T[K],
    undefined
  >;
};

/**
 * Converts a request's fields to columns: `{ fromName }` becomes `{ from_name }`. Undefined fields
 * are left out. Every key becomes a column, so a schema must have parsed the fields and dropped
 * unknown keys.
 */
export function columnsFrom<T extends object>(fields: T): ColumnsFrom<T> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]) => [snakeCase(name), value as unknown]),
  ) as ColumnsFrom<T>;
}
