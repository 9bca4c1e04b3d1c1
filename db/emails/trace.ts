import { type RawBuilder, sql } from 'kysely';

/**
 * What a message goes through after it was queued, as its trace names it. `queued` itself is the
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
 * An entry to be appended to `email.trace`, in the statement that changes the row:
 * `trace = trace || ${traceEntry('accepted', …)}`. Its time is the moment of the statement.
 * @param detail SQL of a JSON object, for what only the row knows.
 */
export function traceEntry(state: TraceState, detail?: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`trace_entry(${sql.lit(state)}, ${detail ?? sql`null`})`;
}
