import { type RawBuilder, sql } from 'kysely';

/** History entry of an action that does not change the status. */
export interface Act {
  from: RawBuilder<unknown>;
  to: RawBuilder<unknown>;
  /** A JSON object. */
  detail: RawBuilder<unknown>;
}

/**
 * SQL that adds an entry to a row's history, for an update of `history`. Do not use it when the
 * same update changes `status`: a trigger then writes the history itself.
 */
export function historyWith({ from, to, detail }: Act): RawBuilder<string> {
  return sql<string>`history || jsonb_build_object('at', ${microseconds(sql`clock_timestamp()`)},
    'from', ${from}::text, 'to', ${to}::text, 'detail', ${detail}::jsonb)`;
}

/** A time to the microsecond, as histories have it. Such texts can be compared. */
export function microseconds(time: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`to_char(${time} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}
