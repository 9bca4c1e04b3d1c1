import { type RawBuilder, sql } from 'kysely';

/** History entry of an act that does not change the status. */
export interface Act {
  from: RawBuilder<unknown>;
  to: RawBuilder<unknown>;
  /** A JSON object. */
  detail: RawBuilder<unknown>;
}

/**
 * The history of a row, with an act added: the value for an update of its `history`. Not in an update
 * of its `status`, whose trigger writes the history itself.
 */
export function historyWith({ from, to, detail }: Act): RawBuilder<string> {
  return sql<string>`history || jsonb_build_object('at', ${microseconds(sql`clock_timestamp()`)},
    'from', ${from}::text, 'to', ${to}::text, 'detail', ${detail}::jsonb)`;
}

/** A time to the microsecond, as histories have it: such texts have one order. */
export function microseconds(time: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`to_char(${time} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}
