import { type RawBuilder, sql } from 'kysely';
import type { ChunkWait } from '../../campaigns/chunks.ts';
import { type Database, transact } from '../../database.ts';
import { moveInRamps, type RampedEmail, type RampGate } from '../../ramps/admission.ts';
import { following, ledgerColumns } from '../../sql/ledger.ts';
import { type RoutedPart, routedIn } from '../../sql/mail-claims.ts';
import { handedOver, shortRouted, traceEntry, unrouted } from '../../sql/mail-trace.ts';
import { hasRamp } from '../../sql/send-policy.ts';
import { suppressionReason } from '../../../domain/mail/send-decision.ts';
import type {
  ProviderChoice,
  ProviderDecision,
  RoutedDetail,
} from '../../../domain/routing/routing.ts';
import { storableText } from '../../../domain/text-rules.ts';
import { among } from '../../expressions.ts';
import type { Withheld } from './claims.ts';

/**
 * Decides by which provider claimed mail leaves, in the transaction of its claim. So the provider
 * of a message is stored before any provider gets the message.
 */

/** A claimed message to choose a provider for. */
export interface RoutableEmail {
  id: string;
  message_class: string;
  from_email: string;
  to_email: string;
  topic_id: string | null;
  /** The provider of the message's last attempt; null: the default one, without a route. */
  provider_id: string | null;
  /** True if `provider_id` may have accepted the message, so no other provider may get it. */
  is_bound: boolean;
}

/** The provider that gets a claimed message, and those that may get it after a refusal. */
export interface Chosen {
  choice: ProviderChoice;
  /** Index of the provider in the candidates of the choice. */
  position: number;
}

/** Set in a claimed message of a project with routes. */
export type Routed = { chosen?: Chosen };

/**
 * Chooses the provider of a message by the routes of its project, and what providers can take now.
 */
export interface ProviderChooser {
  /**
   * Chooses the provider of a message.
   * @param isPassedOver returns true for a provider whose ramp lets no more mail pass
   */
  choose(
    email: RoutableEmail,
    isPassedOver: (providerId: string) => boolean,
  ): {
    choice: ProviderChoice;
    decision: ProviderDecision;
    /** null: no route took part, so the trace does not mention the provider. */
    detail: RoutedDetail | null;
  };
}

/** The provider of a claimed message, to record with the claim. */
export interface Assigned {
  id: string;
  /** null: the default provider, without a route. */
  providerId: string | null;
  detail: RoutedDetail | null;
}

/**
 * Chooses the providers of claimed messages. Returns those that go to a provider, with `chosen`
 * set, and those that wait for one; the caller records the waits and the `assigned` providers.
 * Messages that a ramp holds are in `gate`. Messages that must not be sent have no provider; if no
 * provider can take a message, `withheld` is set.
 */
export function assignProviders<
  E extends RoutableEmail & Withheld & Parameters<typeof suppressionReason>[0],
>(
  chooser: ProviderChooser,
  emails: readonly E[],
  gate: RampGate | null,
): { going: (E & Routed)[]; waits: ChunkWait[]; assigned: Assigned[] } {
  const going: (E & Routed)[] = [];
  const waits: ChunkWait[] = [];
  const assigned: Assigned[] = [];
  for (const email of emails) {
    if (email.withheld ?? suppressionReason(email)) {
      going.push(email);
      continue;
    }
    const isPassedOver = (providerId: string) => gate?.isPassedOver(email, providerId) ?? false;
    const { choice, decision, detail } = chooser.choose(email, isPassedOver);
    if (gate && !isAdmitted(gate, email, choice, decision)) continue;
    if (decision.kind === 'wait') {
      waits.push({ id: email.id, providerId: decision.providerId, waitMs: decision.waitMs });
    } else if (decision.kind === 'none') {
      going.push({ ...email, withheld: email.is_bound ? 'delivery_unknown' : 'no_provider' });
    } else {
      const chosen: Chosen = { choice, position: decision.position };
      // Not spread, because in V8 reads of a large object that was spread are slow.
      going.push(Object.assign(email, { chosen }));
      const providerId = detail ? decision.providerId : null;
      if (detail ?? email.provider_id) assigned.push({ id: email.id, providerId, detail });
    }
  }
  return { going, waits, assigned };
}

/**
 * Returns false if the ramp of a message's provider, or of all providers that could take the
 * message, holds it.
 */
function isAdmitted(
  gate: RampGate,
  email: RoutableEmail,
  { candidates }: ProviderChoice,
  decision: ProviderDecision,
): boolean {
  if (decision.kind === 'wait') return true;
  if (decision.kind === 'send') return gate.admit(email, decision.providerId);
  const full = candidates.find(({ providerId }) => gate.isPassedOver(email, providerId));
  return !full || gate.admit(email, full.providerId);
}

/** Records the providers of claimed messages that are in no chunk, in their rows. */
export async function recordAssigned(tx: Database, assigned: readonly Assigned[]): Promise<void> {
  if (assigned.length === 0) return;
  const ids = assigned.map(({ id }) => id);
  const routed = sql`case when assigned.detail = 'null' then '[]'
    else ${traceEntry('routed', sql`assigned.detail`)} end`;
  // The last entry of the trace is `handed_over`, which the claim has added.
  await sql`
    update email set provider_id = assigned."providerId",
        trace = (${unrouted(sql`(email.trace - (-1))`)}) || ${routed} || (email.trace -> -1)
      from jsonb_to_recordset(${JSON.stringify(assigned)}::jsonb)
        as assigned(id uuid, "providerId" text, detail jsonb)
      where email.id = assigned.id and ${among('email', ids)}
        and email.status = 'SENDING'`.execute(tx);
}

/**
 * Stores the providers of the messages of a claimed chunk in the chunk. Their rows are written
 * later with the outcomes, so this saves one write of each row.
 */
export async function recordRouted(
  tx: Database,
  { attemptId, claimedAt }: { attemptId: string; claimedAt: string },
  assigned: readonly Assigned[],
): Promise<void> {
  if (assigned.length === 0) return;
  const parts = new Map<string, RoutedPart & { emailIds: string[] }>();
  for (const { id, providerId, detail } of assigned) {
    // Nearly all messages have skipped no provider, and JSON of each would take longer.
    const key =
      detail?.skipped.length === 0
        ? `${detail.providerId} ${detail.route} ${detail.why}`
        : JSON.stringify(detail);
    const part = parts.get(key);
    if (part) {
      part.emailIds.push(id);
      continue;
    }
    const trace = detail
      ? [{ at: claimedAt, state: 'routed', detail: { ...detail } } as const]
      : [];
    parts.set(key, { providerId, trace, plain: trace.map(shortRouted), emailIds: [id] });
  }
  await sql`update campaign_chunk set routed = ${JSON.stringify([...parts.values()])}::jsonb
    where attempt_id = ${attemptId}`.execute(tx);
}

/** Makes claimed messages in no chunk, which no provider has got, wait for their providers. */
export async function recordProviderWaits(
  tx: Database,
  waits: readonly ChunkWait[],
): Promise<void> {
  if (waits.length === 0) return;
  const ids = waits.map(({ id }) => id);
  await sql`
    with waiting as (
      update email set
          status = 'PENDING', attempt_id = null, lease_until = null, attempts = email.attempts - 1,
          due_at = now() + make_interval(secs => wait."waitMs" / 1000.0),
          waits_for = wait."providerId", trace = email.trace - (-1), updated_at = now()
        from jsonb_to_recordset(${JSON.stringify(waits)}::jsonb)
          as wait(id uuid, "providerId" text, "waitMs" float8)
        where email.id = wait.id and ${among('email', ids)} and email.status = 'SENDING'
        returning ${ledgerColumns('email')}
    ), ${following({ now: 'waiting' }, ['queue'])}
    select from waiting`.execute(tx);
}

/** A message that leaves its provider for the next one, under the same claim. */
export interface ProviderMove {
  projectId: string;
  email: RampedEmail;
  attemptId: string;
  /** True if the claim is that of a chunk, so the row of the message does not show it. */
  hasChunk: boolean;
  /** ISO time of the claim of the chunk. */
  claimedAt: string | null;
  providerId: string;
  detail: RoutedDetail;
  /** Why the provider has refused the message; null: it was not given to this provider. */
  error: string | null;
}

/** The result of a move; `full`: a ramp of the next provider lets no more mail pass. */
export type MoveResult = 'moved' | 'lost' | { full: { until: Date } };

class RampIsFull extends Error {
  readonly until: Date;

  constructor(until: Date) {
    super('A ramp of the provider is full');
    this.until = until;
  }
}

/**
 * Records the next provider of a claimed message, before this provider gets it. `lost`: the attempt
 * no longer holds the claim, so no provider may get the message.
 */
export async function recordMove(db: Database, move: ProviderMove): Promise<MoveResult> {
  try {
    return await transact(db, (tx) => recordMoveIn(tx, move));
  } catch (error) {
    if (error instanceof RampIsFull) return { full: { until: error.until } };
    throw error;
  }
}

/**
 * Like `recordMove`, in the caller's transaction.
 * @throws RampIsFull when a ramp of the next provider lets no more mail pass
 */
async function recordMoveIn(tx: Database, move: ProviderMove): Promise<'moved' | 'lost'> {
  const { rows } = await (move.hasChunk ? moveInChunk(move) : moveInRow(move)).execute(tx);
  const [moved] = rows;
  if (!moved) return 'lost';
  const until = moved.hasRamp ? await moveInRamps(tx, move) : null;
  if (until) throw new RampIsFull(until);
  return 'moved';
}

type Moving = RawBuilder<{ hasRamp: boolean }>;

const projectHasRamp = () => sql`${hasRamp(sql.ref('email.project_id'))} as "hasRamp"`;

/** SQL of the trace entries with which a message leaves its provider. */
function entriesOfMove({ detail, error }: ProviderMove) {
  const reason = sql`jsonb_build_object('error', ${error === null ? null : storableText(error)}::text)`;
  return {
    refused: traceEntry('refused', reason),
    routed: traceEntry('routed', sql`${JSON.stringify(detail)}::jsonb`),
  };
}

function moveInRow(move: ProviderMove): Moving {
  const { refused, routed } = entriesOfMove(move);
  const attempt = sql`jsonb_build_object('attempt', email.attempts + 1)`;
  const trace =
    move.error === null
      ? sql`(${unrouted(sql`(email.trace - (-1))`)}) || ${routed} || (email.trace -> -1)`
      : sql`email.trace || ${refused} || ${routed} || ${traceEntry('handed_over', attempt)}`;
  return sql`
    update email set ${columnsOfMove(move)}, trace = ${trace}
      where email.id = ${move.email.id} and email.status = 'SENDING'
        and email.attempt_id = ${move.attemptId}
      returning ${projectHasRamp()}`;
}

const columnsOfMove = ({ providerId, error }: ProviderMove) =>
  sql`provider_id = ${providerId}, attempts = email.attempts + ${error === null ? 0 : 1}::int,
    updated_at = now()`;

/** From its first move on, the row of a message names its provider, and no longer the chunk. */
function moveInChunk(move: ProviderMove): Moving {
  const { email, attemptId, claimedAt } = move;
  const { refused, routed } = entriesOfMove(move);
  const before = sql`case when part.id is null then email.trace
    else (${unrouted(sql`email.trace`)}) || part.trace end`;
  const trace =
    move.error === null
      ? sql`(${unrouted(sql`email.trace`)}) || ${routed}`
      : sql`(${before}) || ${handedOver(sql`${claimedAt}::timestamptz`)} || ${refused} || ${routed}`;
  return sql`
    with held as (
      select attempt_id, routed from campaign_chunk where attempt_id = ${attemptId} for update
    ), moved as (
      update email set ${columnsOfMove(move)}, trace = ${trace}
        from held left join ${routedIn(sql`held`)} part on part.id = ${email.id}
        where email.id = ${email.id} and email.status = 'PENDING'
        returning ${projectHasRamp()}
    ), unnamed as (
      update campaign_chunk set routed = (
          select jsonb_agg(jsonb_set(item, '{emailIds}', (item -> 'emailIds') - ${email.id}::text))
            from jsonb_array_elements(held.routed) as item)
        from held, moved
        where campaign_chunk.attempt_id = held.attempt_id and held.routed is not null
    )
    select "hasRamp" from moved`;
}
