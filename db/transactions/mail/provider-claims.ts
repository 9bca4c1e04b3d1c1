import { sql } from 'kysely';
import type { ChunkWait } from '../../campaigns/chunks.ts';
import { type Database, transact } from '../../database.ts';
import { moveInRamps, type RampedEmail, type RampGate } from '../../ramps/admission.ts';
import { following, ledgerColumns } from '../../sql/ledger.ts';
import { handedOver, traceEntry } from '../../sql/mail-trace.ts';
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
 * Decides by which provider claimed mail leaves, in the transaction of its claim. So the provider of
 * a message is known before any provider gets it, whatever dies.
 */

/** A claimed message to choose a provider for. */
export interface RoutableEmail {
  id: string;
  message_class: string;
  from_email: string;
  to_email: string;
  topic_id: string | null;
  /** The provider of its last attempt; null: the default one, without a route. */
  provider_id: string | null;
  /** True if that provider may have accepted it, so no other one may get it. */
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

/** Chooses the provider of a message by the routes of its project, and what providers can take now. */
export interface ProviderChooser {
  /** @param isPassedOver returns true for a provider whose ramp lets no more mail pass */
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

/**
 * Chooses the providers of claimed messages. Returns those that go to a provider, with `chosen` set,
 * and those that wait for one; the caller records the waits. Messages that a ramp holds are in `gate`. Messages that must not be sent have no
 * provider; if no provider can take a message, `withheld` is set.
 */
export async function assignProviders<
  E extends RoutableEmail & Withheld & Parameters<typeof suppressionReason>[0],
>(
  tx: Database,
  chooser: ProviderChooser,
  emails: readonly E[],
  gate: RampGate | null,
): Promise<{ going: (E & Routed)[]; waits: ChunkWait[] }> {
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
      going.push({ ...email, chosen: { choice, position: decision.position } });
      const providerId = detail ? decision.providerId : null;
      if (detail ?? email.provider_id) assigned.push({ id: email.id, providerId, detail });
    }
  }
  if (assigned.length > 0) await recordAssigned(tx, assigned);
  return { going, waits };
}

/** Returns false if a ramp holds a message: that of its provider, or of all that could take it. */
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

interface Assigned {
  id: string;
  providerId: string | null;
  detail: RoutedDetail | null;
}

/** SQL of a trace without an entry `routed` at its end: that message was not given to the provider. */
const unrouted = (trace: ReturnType<typeof sql>) =>
  sql`case when ${trace} -> -1 ->> 'state' = 'routed' then ${trace} - (-1) else ${trace} end`;

async function recordAssigned(tx: Database, assigned: readonly Assigned[]): Promise<void> {
  const ids = assigned.map(({ id }) => id);
  const routed = sql`case when assigned.detail = 'null' then '[]'
    else ${traceEntry('routed', sql`assigned.detail`)} end`;
  // The claim of a message that is in no chunk has added the entry `handed_over`.
  await sql`
    update email set provider_id = assigned."providerId", trace = case email.status
          when 'SENDING'
            then (${unrouted(sql`(email.trace - (-1))`)}) || ${routed} || (email.trace -> -1)
          else (${unrouted(sql`email.trace`)}) || ${routed} end
      from jsonb_to_recordset(${JSON.stringify(assigned)}::jsonb)
        as assigned(id uuid, "providerId" text, detail jsonb)
      where email.id = assigned.id and ${among('email', ids)}
        and email.status in ('PENDING', 'SENDING')`.execute(tx);
}

/**
 * Makes claimed messages that are in no chunk wait for their providers. They were not given to any
 * provider.
 */
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
 * Records the next provider of a claimed message, before this provider gets it. `lost`: the attempt no
 * longer holds the claim, so no provider may get the message.
 */
export async function recordMove(db: Database, move: ProviderMove): Promise<MoveResult> {
  try {
    return await transact(db, (tx) => recordMoveIn(tx, move));
  } catch (error) {
    if (error instanceof RampIsFull) return { full: { until: error.until } };
    throw error;
  }
}

/** @throws RampIsFull */
async function recordMoveIn(tx: Database, move: ProviderMove): Promise<'moved' | 'lost'> {
  const { email, attemptId, error } = move;
  const isHeld = move.hasChunk
    ? sql`email.status = 'PENDING'
        and exists (select from campaign_chunk where attempt_id = ${attemptId})`
    : sql`email.status = 'SENDING' and email.attempt_id = ${attemptId}`;
  const routed = traceEntry('routed', sql`${JSON.stringify(move.detail)}::jsonb`);
  const { rows } = await sql<{ hasRamp: boolean }>`
    update email set provider_id = ${move.providerId}, trace = ${traceOfMove(move, routed)},
        attempts = attempts + ${error === null ? 0 : 1}, updated_at = now()
      where email.id = ${email.id} and ${isHeld}
      returning ${hasRamp(sql.ref('email.project_id'))} as "hasRamp"`.execute(tx);
  const [moved] = rows;
  if (!moved) return 'lost';
  const until = moved.hasRamp ? await moveInRamps(tx, move) : null;
  if (until) throw new RampIsFull(until);
  return 'moved';
}

function traceOfMove(
  { hasChunk, claimedAt, error }: ProviderMove,
  routed: ReturnType<typeof traceEntry>,
) {
  const trace = sql`email.trace`;
  if (error === null) {
    return hasChunk
      ? sql`(${unrouted(trace)}) || ${routed}`
      : sql`(${unrouted(sql`(email.trace - (-1))`)}) || ${routed} || (email.trace -> -1)`;
  }
  const refused = traceEntry(
    'refused',
    sql`jsonb_build_object('error', ${storableText(error)}::text)`,
  );
  if (hasChunk) {
    return sql`${trace} || ${handedOver(sql`${claimedAt}::timestamptz`)} || ${refused} || ${routed}`;
  }
  const attempt = sql`jsonb_build_object('attempt', email.attempts + 1)`;
  return sql`${trace} || ${refused} || ${routed} || ${traceEntry('handed_over', attempt)}`;
}
