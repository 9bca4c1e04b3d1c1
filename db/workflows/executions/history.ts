import { type RawBuilder, sql } from 'kysely';
import { isoInstant } from '../../expressions.ts';

/** An entry in the history about an action that does not change the status. */
export interface Act {
  from: RawBuilder<unknown>;
  to: RawBuilder<unknown>;
  /** The details of the action, a JSON object. */
  detail: RawBuilder<unknown>;
}

/**
 * SQL that appends an entry to a row's history, for an update of `history`. Do not use it when the
 * same update changes `status`, because a trigger then writes the history.
 */
export function historyWith({ from, to, detail }: Act): RawBuilder<string> {
  return sql<string>`history || jsonb_build_object('at', ${isoInstant(sql`clock_timestamp()`)},
    'from', ${from}::text, 'to', ${to}::text, 'detail', ${detail}::jsonb)`;
}
