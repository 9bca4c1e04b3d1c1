import { type RawBuilder, sql } from 'kysely';
import { isoTime } from '../expressions.ts';
import { storableText } from '../../domain/text-rules.ts';

/**
 * The states of a message after it was queued, as its trace names them. `queued` itself is the
 * row's `created_at`.
 */
export type TraceState =
  | 'rendered_plainly'
  | 'scheduled'
  | 'held'
  | 'throttled'
  | 'routed'
  | 'handed_over'
  | 'accepted'
  | 'refused'
  | 'uncertain'
  | 'settled'
  | 'delivered'
  | 'delayed'
  | 'opened'
  | 'clicked'
  | 'bounced'
  | 'complained'
  | 'withheld'
  | 'released'
  | 'retried';

export interface TraceEntry {
  at: string;
  state: 'queued' | TraceState;
  detail: Record<string, unknown> | null;
}

/**
 * An entry to append to `email.trace`, in the statement that changes the row: `trace = trace ||
 * ${traceEntry('accepted', …)}`. The entry has the time of the statement.
 * @param detail a JSON object as SQL, for data that only the row has.
 */
export function traceEntry(state: TraceState, detail?: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`trace_entry(${sql.lit(state)}, ${detail ?? sql`null`})`;
}

/** The entry for a message that has got a send time; `at` null: the message is sent at once. */
export function scheduledEntry(at: Date | null): RawBuilder<string> {
  return traceEntry('scheduled', sql`jsonb_build_object('for', ${at && at.toISOString()}::text)`);
}

/** Why the template of a message could not be rendered. */
export interface PlainRendering {
  code: string;
  message: string;
  line: number | null;
}

/**
 * The entry for a message that was rendered plainly: its placeholders were replaced, and nothing
 * else.
 */
export function plainRendering({ code, message, line }: PlainRendering): RawBuilder<string> {
  const detail = JSON.stringify({ code, message: storableText(message), line });
  return traceEntry('rendered_plainly', sql`${detail}::jsonb`);
}

/**
 * SQL of the entry for a delay by the sending limits, to append to `email.trace`. The SQL gives an
 * empty list if the trace has such an entry already, because a delay is noted once.
 * @param since ISO time: when the message was due.
 */
export function throttled(since: string | RawBuilder<string>): RawBuilder<unknown> {
  return sql`case when email.trace @> '[{"state": "throttled"}]' then '[]'
    else jsonb_set(${traceEntry('throttled')}, '{0,at}', to_jsonb(${since}::text)) end`;
}

/** An entry as it is stored, without what the columns of the message show: see `shortRouted`. */
export type StoredEntry = Partial<Pick<TraceEntry, 'at'>> & Omit<TraceEntry, 'at'>;

/** Properties of an entry `routed` of most messages. */
const usualRoute = { why: 'chosen', skipped: [] } as const;

/**
 * Returns what is stored of an entry `routed` of a message whose first attempt is accepted. The
 * message's columns have the time and the provider, and most messages have `usualRoute`, so these
 * are not stored again.
 */
export function shortRouted({ state, detail }: TraceEntry): StoredEntry {
  const { providerId: _, why, skipped, ...rest } = detail ?? {};
  const isUsual = why === usualRoute.why && Array.isArray(skipped) && skipped.length === 0;
  return { state, detail: isUsual ? rest : { ...rest, why, skipped } };
}

/** Columns with the states of a message whose first attempt was accepted. */
interface PlainSteps {
  handed_over_at: Date | null;
  sent_at: Date | null;
  delivered_at: Date | null;
  message_id: string | null;
  provider_id: string | null;
  trace: readonly StoredEntry[];
}

/** Trace entries of a message before it is given to the mail provider. */
const beforeHandOver: readonly string[] = [
  'rendered_plainly',
  'scheduled',
  'held',
  'throttled',
  'routed',
];

/**
 * Returns the whole trace of a message except `queued`: the stored entries, and those that are made
 * from its columns.
 */
export function traceOf(email: PlainSteps): TraceEntry[] {
  const { trace, handed_over_at: handedOverAt, sent_at: sentAt, delivered_at: deliveredAt } = email;
  if (!handedOverAt) return trace.filter(isWhole);
  const { message_id: messageId, provider_id: providerId } = email;
  const stored = trace.map((entry) =>
    isWhole(entry)
      ? entry
      : {
          at: handedOverAt.toISOString(),
          state: entry.state,
          detail: { providerId, ...usualRoute, ...entry.detail },
        },
  );
  const steps = [
    { at: handedOverAt, state: 'handed_over', detail: { attempt: 1 } },
    { at: sentAt, state: 'accepted', detail: { messageId, ...(providerId && { providerId }) } },
    { at: deliveredAt, state: 'delivered', detail: null },
  ] as const;
  const plain = steps.flatMap(({ at, state, detail }) =>
    at && trace.every((entry) => entry.state !== state)
      ? { at: at.toISOString(), state, detail }
      : [],
  );
  const isBefore = ({ state }: TraceEntry) => beforeHandOver.includes(state);
  const before = stored.filter(isBefore);
  const after = stored.filter((entry) => !isBefore(entry));
  // Feedback may have arrived before the provider's response.
  const ordered = [...plain, ...after].sort((one, other) =>
    one.at < other.at ? -1 : one.at > other.at ? 1 : 0,
  );
  return [...before, ...ordered];
}

function isWhole(entry: StoredEntry): entry is TraceEntry {
  return entry.at !== undefined;
}

/**
 * The detail of the trace entry `accepted`, as SQL. The detail names the provider if a route took
 * part.
 * @param providerId null without a route
 */
export function acceptedDetail(
  messageId: RawBuilder<unknown>,
  providerId: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`jsonb_build_object('messageId', ${messageId}) || case when ${providerId} is null
    then '{}' else jsonb_build_object('providerId', ${providerId}) end`;
}

/**
 * SQL of a trace without its last entry if that is `routed`, because the provider did not get the
 * message.
 */
export function unrouted(trace: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`case when ${trace} -> -1 ->> 'state' = 'routed' then ${trace} - (-1) else ${trace} end`;
}

/**
 * The trace entry `handed_over` of a message that was claimed with its chunk. A provider may have
 * refused the message since.
 */
export function handedOver(claimedAt: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`jsonb_set(
    ${traceEntry('handed_over', sql`jsonb_build_object('attempt', email.attempts + 1)`)},
    '{0,at}', to_jsonb(greatest(${isoTime(claimedAt)}, email.trace -> -1 ->> 'at')))`;
}
