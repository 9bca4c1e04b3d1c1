import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { bug } from '../domain/errors.ts';

/**
 * Returns SQL that matches any of the values, for the right side of `=`. The values are one
 * parameter, so the statement text is the same for any number of values.
 */
export function anyOf(values: readonly string[], type: 'uuid' | 'text' | 'bigint' = 'uuid') {
  return sql<string>`any(${values}::${sql.raw(type)}[])`;
}

/**
 * Returns SQL that is true for rows of a table with one of these ids. Use it with a join on a list
 * of ids and a condition on open work: table statistics come from finished rows, so PostgreSQL
 * expects one open row, and would compare each open row with each id.
 */
export function among(table: string, ids: readonly string[]): RawBuilder<boolean> {
  return sql<boolean>`${sql.ref(`${table}.id`)} = ${anyOf(ids)}`;
}

/** Returns SQL that is true if one of the columns contains the text, case-insensitively. */
export function containsText(columns: readonly string[], text: string) {
  const matches = columns.map(
    (column) => sql`strpos(lower(${sql.ref(column)}), lower(${text})) > 0`,
  );
  return sql<boolean>`(${sql.join(matches, sql` or `)})`;
}

/** SQL of the domain of a mail address. */
export function addressDomain(address: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`split_part(${address}, '@', -1)`;
}

/** Returns the number of rows of a query. */
export async function countRows<D, T extends keyof D>(
  query: SelectQueryBuilder<D, T, object>,
): Promise<number> {
  const { total } = await query
    .select(sql<number>`count(*)::int`.as('total'))
    .$castTo<{ total: number }>()
    .executeTakeFirstOrThrow();
  return total;
}

/**
 * Returns the row of a query that always returns one.
 * @throws Error if there is none
 */
export function onlyRow<T>(rows: readonly T[]): T {
  const [row] = rows;
  if (row === undefined) throw bug('A query that always returns a row has returned none.');
  return row;
}

/** The id and size of a row, which are read first to decide which rows to read. */
export interface RowSize {
  id: string;
  /** Bytes of the columns that may be large. */
  bytes: number;
}

/** Returns SQL that sorts rows in the order of a list of ids. */
export function orderOf(ids: readonly string[], column: string) {
  return sql`array_position(${ids}::uuid[], ${sql.ref(column)})`;
}

/** The query of the lists of templates, campaigns and workflows. */
export interface ListQuery {
  search?: string | undefined;
  sort: 'name' | 'createdAt' | 'updatedAt';
  dir: 'asc' | 'desc';
  /** Number of the page, from 1. */
  page: number;
  pageSize: number;
}

/** The columns by which a list can be sorted. */
export const sortColumns = {
  name: 'name',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
} as const;

/** Returns SQL of a timestamp as text in the format of the API. */
export function isoTime(moment: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`to_char(${moment} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/**
 * Returns SQL of a timestamp as text with microseconds, for comparisons and as a position in a
 * list.
 */
export function isoInstant(moment: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`to_char(${moment} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/**
 * Returns SQL of the whole milliseconds until a time: 0 when it has passed, null if it is null. A
 * bare `greatest(0, …)` would return 0 for null, because PostgreSQL's `greatest` ignores nulls; a
 * run would then read again at once, forever.
 */
export function millisecondsUntil(moment: RawBuilder<unknown>): RawBuilder<number | null> {
  const until = sql`ceil(extract(epoch from ${moment} - clock_timestamp()) * 1000)::float8`;
  return sql<number | null>`case when ${moment} is not null then greatest(0, ${until}) end`;
}

/**
 * Maximum milliseconds for which a run waits, for mail that is held without an end. After that, the
 * run checks and waits again.
 */
const longestWaitMs = 30 * 24 * 3_600_000;

/** Like `millisecondsUntil`, but at most `longestWaitMs`. */
export function millisecondsToWait(moment: RawBuilder<unknown>): RawBuilder<number | null> {
  const until = millisecondsUntil(moment);
  return sql<
    number | null
  >`case when ${moment} is not null then least(${until}, ${longestWaitMs}) end`;
}

/** Returns SQL of the milliseconds since a time; 0 if it is in the future or null. */
export function millisecondsSince(moment: RawBuilder<unknown>): RawBuilder<number> {
  const since = sql`extract(epoch from clock_timestamp() - ${moment}) * 1000`;
  return sql<number>`coalesce(greatest(0, ${since}), 0)::float8`;
}

/** Replaces infinity by the largest finite number, because JSON has no infinity. */
export function finite(value: number): number {
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));
}
