import { type RawBuilder, sql } from 'kysely';
import { isoInstant } from '../../expressions.ts';

/**
 * An entry in the column `history` of an execution or step, about an action that does not change
 * the status.
 */
export interface Act {
  from: RawBuilder<unknown>;
  to: RawBuilder<unknown>;
  /** The details of the action, a JSON object. */
  detail: RawBuilder<unknown>;
}

/**
 * SQL of the column `history` with one more entry, for an update of this column. Do not use it when
 * the same update changes `status`, because a trigger then writes the column.
 */
export function historyWith({ from, to, detail }: Act): RawBuilder<string> {
  return sql<string>`history || jsonb_build_object('at', ${isoInstant(sql`clock_timestamp()`)},
    'from', ${from}::text, 'to', ${to}::text, 'detail', ${detail}::jsonb)`;
}
