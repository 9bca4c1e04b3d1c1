import { type RawBuilder, sql } from 'kysely';

/** Timestamps in SQL, as the API and the runs read them. */

/** A timestamp in the API's format, made by the database. */
export function isoTime(moment: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`to_char(${moment} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/**
 * Whole milliseconds from now until a moment: 0 when it is past, null when there is none. A bare
 * `greatest(0, …)` would give 0 for null, as PostgreSQL's `greatest` ignores nulls: a run that
 * waits for "no moment" would then look again at once, forever.
 */
export function millisecondsUntil(moment: RawBuilder<unknown>): RawBuilder<number | null> {
  const until = sql`ceil(extract(epoch from ${moment} - clock_timestamp()) * 1000)::float8`;
  return sql<number | null>`case when ${moment} is not null then greatest(0, ${until}) end`;
}
