import { CancelledFailure } from '@temporalio/activity';
import type { Due } from '../../db/events/events.ts';
import {
  type Attempt,
  recordDeliveryOutcomes,
  type DeliveryOutcome,
} from '../../db/emails/outcomes.ts';
import { isRefusal } from '../../db/sql-state.ts';
import type { Database } from '../../db/database.ts';

interface WarningLog {
  warn(details: object, message: string): void;
}

/**
 * How long a worker that shuts down tries to record outcomes while the database is away, in
 * milliseconds: who asked it to stop kills it soon.
 */
const shutdownTimeoutMs = 30_000;

/**
 * Records the outcomes of a batch, however long the database is away. Where it refuses one of them,
 * the batch is split until that one stands alone, and the others are recorded: each split is a
 * transaction of its own. Returns what has become due.
 */
export async function recordOutcomes(
  services: { db: Database; log: WarningLog },
  attempt: Attempt,
  stop: AbortSignal,
): Promise<Due[]> {
  const { projectId, outcomes } = attempt;
  const part = (some: readonly DeliveryOutcome[]) =>
    recordOutcomes(services, { ...attempt, outcomes: some }, stop);
  try {
    const work = () => recordDeliveryOutcomes(services.db, attempt);
    return [await endClaim(services, projectId, stop, work, isRefusal)];
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (outcomes.length > 1) {
      const half = Math.ceil(outcomes.length / 2);
      return [...(await part(outcomes.slice(0, half))), ...(await part(outcomes.slice(half)))];
    }
    const [refused] = outcomes;
    if (!refused) return [];
    const details = { error, projectId, emailId: refused.emailId, outcome: refused.kind };
    services.log.warn(details, 'The database refuses the outcome of a mail');
    const less = withLess(refused, error);
    return less ? part([less]) : [];
  }
}

/**
 * An outcome with less in it that could be refused: without the provider's id and the content; then
 * only that nobody knows, which the settle time ends. null: there is nothing less. The message stays
 * claimed, and ends in the same way once its lease is over.
 */
function withLess(refused: DeliveryOutcome, error: unknown): DeliveryOutcome | null {
  const { emailId } = refused;
  if (refused.kind === 'accepted' && (refused.messageId !== null || refused.content)) {
    return { ...refused, messageId: null, content: undefined };
  }
  if (refused.kind === 'uncertain' && !refused.content) return null;
  return { emailId, kind: 'uncertain', error: `Its outcome cannot be recorded: ${String(error)}` };
}

/**
 * Does what ends a claim, trying again while the database is away: what was accepted and not
 * recorded, or claimed and not released, would count as unknown. However late it comes, it changes
 * only what is still this claim's. Gives up only when the worker shuts down, or for an error that
 * `isFinal`.
 */
export async function endClaim<T>(
  { log }: { log: WarningLog },
  projectId: string,
  stop: AbortSignal,
  work: () => Promise<T>,
  isFinal: (error: unknown) => boolean = () => false,
): Promise<T> {
  let giveUpAt = Infinity;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (isFinal(error)) throw error;
      if (isShutdown(stop)) giveUpAt = Math.min(giveUpAt, Date.now() + shutdownTimeoutMs);
      if (Date.now() >= giveUpAt) throw error;
      log.warn({ error, projectId }, 'A claim could not be ended yet');
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

/** Temporal also stops an activity it has given up, in a process that lives on. */
function isShutdown(stop: AbortSignal): boolean {
  return stop.reason instanceof CancelledFailure && stop.reason.message === 'WORKER_SHUTDOWN';
}
