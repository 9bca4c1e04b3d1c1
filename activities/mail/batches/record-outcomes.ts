import { CancelledFailure } from '@temporalio/activity';
import type { Attempt, DeliveryOutcome } from '../../../db/transactions/mail/attempts.ts';
import { recordDeliveryOutcomes } from '../../../db/transactions/mail/record-outcomes.ts';
import { isRefusal } from '../../../db/sql-state.ts';
import type { Database } from '../../../db/database.ts';

interface WarningLog {
  warn(details: object, message: string): void;
}

/**
 * Milliseconds for which a stopping worker retries recording outcomes while the database is
 * unavailable. Process managers kill a stopping process after about this time.
 */
const shutdownTimeoutMs = 30_000;

/**
 * Records the outcomes of a batch. Retries while the database is unavailable; if the database
 * rejects an outcome, halves the batch until only that outcome fails.
 */
export async function recordOutcomes(
  services: { db: Database; log: WarningLog },
  attempt: Attempt,
  stop: AbortSignal,
): Promise<void> {
  const { projectId, outcomes } = attempt;
  const part = (some: readonly DeliveryOutcome[]) =>
    recordOutcomes(services, { ...attempt, outcomes: some }, stop);
  try {
    const work = () => recordDeliveryOutcomes(services.db, attempt);
    await endClaim(services, projectId, stop, work, isRefusal);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (outcomes.length > 1) {
      const half = Math.ceil(outcomes.length / 2);
      await part(outcomes.slice(0, half));
      await part(outcomes.slice(half));
      return;
    }
    const [refused] = outcomes;
    if (!refused) return;
    const details = { error, projectId, emailId: refused.emailId, outcome: refused.kind };
    services.log.warn(
      details,
      'The database rejected the outcome of a mail; a reduced one is recorded',
    );
    const less = withoutUnstorableParts(refused, error);
    if (less) await part([less]);
  }
}

/**
 * Reduces an outcome that the database rejected. An accepted outcome first loses the content and
 * the provider's id of the message. Any outcome then becomes `uncertain`, until the settle time
 * ends. null: the outcome cannot be reduced further. The message stays claimed, and its outcome is
 * unknown when the lease ends.
 */
function withoutUnstorableParts(refused: DeliveryOutcome, error: unknown): DeliveryOutcome | null {
  const { emailId } = refused;
  if (refused.kind === 'accepted' && (refused.messageId !== null || refused.content)) {
    return { ...refused, messageId: null, content: undefined };
  }
  if (refused.kind === 'uncertain' && !refused.content) return null;
  return {
    emailId,
    kind: 'uncertain',
    error: `The outcome of the message cannot be recorded: ${String(error)}`,
  };
}

/**
 * Ends a claim, and retries while the database is unavailable. Without retries, the outcomes of
 * accepted messages would be unknown, and unsent messages would not be released. A late call
 * changes only rows that the claim still holds. Gives up when the worker shuts down, or on an error
 * for which `isFinal` is true.
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
      log.warn(
        { error, projectId },
        'The outcomes of a batch could not be recorded yet; tried again in a second',
      );
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

/**
 * Returns true if the worker shuts down. A timeout of the activity also aborts `stop`, but then the
 * process continues.
 */
function isShutdown(stop: AbortSignal): boolean {
  return stop.reason instanceof CancelledFailure && stop.reason.message === 'WORKER_SHUTDOWN';
}
