import { type RawBuilder, sql } from 'kysely';

/**
 * The states of a message after it was queued, as its trace names them. `queued` itself is the
 * row's `created_at`.
 */
export type TraceState =
  | 'throttled'
  | 'handed_over'
  | 'accepted'
  | 'refused'
  | 'uncertain'
  | 'settled'
  | 'delivered'
  | 'opened'
  | 'clicked'
  | 'bounced'
  | 'complained'
  | 'withheld';

export interface TraceEntry {
  at: string;
  state: 'queued' | TraceState;
  detail: Record<string, unknown> | null;
}

/**
 * An entry to append to `email.trace`, in the statement that changes the row: `trace = trace ||
 * ${traceEntry('accepted', …)}`. Its time is that of the statement.
 * @param detail SQL of a JSON object, for data that only the row has.
 */
export function traceEntry(state: TraceState, detail?: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`trace_entry(${sql.lit(state)}, ${detail ?? sql`null`})`;
}
