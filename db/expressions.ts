import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';

/**
 * Returns SQL that matches any of the values, for the right side of `=`. They are one parameter, so
 * the statement is the same for any number of them.
 */
export function anyOf(values: readonly string[], type: 'uuid' | 'text' | 'bigint' = 'uuid') {
  return sql<string>`any(${values}::${sql.raw(type)}[])`;
}

/**
 * Returns SQL that is true for rows of a table with one of these ids. Use it beside a join with a
 * list of records by id and a condition about open work. The statistics of a table come from
 * finished rows, so PostgreSQL expects one open row, and in a small table it would compare each
 * open row with each record.
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

/** The number of rows of a query. */
export async function countRows<D, T extends keyof D>(
  query: SelectQueryBuilder<D, T, object>,
): Promise<number> {
  const { total } = await query
    .select(sql<number>`count(*)::int`.as('total'))
    .$castTo<{ total: number }>()
    .executeTakeFirstOrThrow();
  return total;
}

/** The id and size of a row, read first to decide which rows to read. */
export interface RowSize {
  id: string;
  /** Bytes of the columns that may be large. */
  bytes: number;
}

/** Returns an order that sorts rows as their ids are sorted in a list. */
export function orderOf(ids: readonly string[], column: string) {
  return sql`array_position(${ids}::uuid[], ${sql.ref(column)})`;
}

/** The query of the lists of templates, campaigns and workflows. */
export interface ListQuery {
  search?: string | undefined;
  sort: 'name' | 'createdAt' | 'updatedAt';
  dir: 'asc' | 'desc';
  /** The first page is 1. */
  page: number;
  pageSize: number;
}

/** The columns by which a list can be sorted. */
export const sortColumns = {
  name: 'name',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
} as const;

/** A timestamp in the API's format, formatted by the database. */
export function isoTime(moment: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`to_char(${moment} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** A timestamp to the microsecond, to compare with others or to mark a position in a list. */
export function isoInstant(moment: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`to_char(${moment} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/**
 * Whole milliseconds from now until a moment: 0 when it has passed, null without one. A bare
 * `greatest(0, …)` would return 0 for null, because PostgreSQL's `greatest` ignores nulls. A run
 * that waits for "no moment" would then read again at once, forever.
 */
export function millisecondsUntil(moment: RawBuilder<unknown>): RawBuilder<number | null> {
  const until = sql`ceil(extract(epoch from ${moment} - clock_timestamp()) * 1000)::float8`;
  return sql<number | null>`case when ${moment} is not null then greatest(0, ${until}) end`;
}

/**
 * Longest wait of a run in milliseconds, for mail that is held without an end. After it, the run
 * waits again.
 */
const longestWaitMs = 30 * 24 * 3_600_000;

/** The same as `millisecondsUntil` for a run that waits, so at most `longestWaitMs`. */
export function millisecondsToWait(moment: RawBuilder<unknown>): RawBuilder<number | null> {
  const until = millisecondsUntil(moment);
  return sql<
    number | null
  >`case when ${moment} is not null then least(${until}, ${longestWaitMs}) end`;
}

/** SQL that counts the milliseconds since a moment; 0 before it, and without one. */
export function millisecondsSince(moment: RawBuilder<unknown>): RawBuilder<number> {
  const since = sql`extract(epoch from clock_timestamp() - ${moment}) * 1000`;
  return sql<number>`coalesce(greatest(0, ${since}), 0)::float8`;
}

/** Limits a number to those that JSON has. */
export function finite(value: number): number {
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));
}
