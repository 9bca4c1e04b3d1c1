import type { DeliveryOutcome } from '../../../db/transactions/mail/attempts.ts';
import { simulatedFeedback } from '../../../domain/mail/feedback.ts';
import { retryDelayMs } from '../../../domain/runs/retry.ts';
import type { Mailer, SendOutcome } from '../../../providers/mail/mailer.ts';

/** The columns of a claimed message that determine its outcome. */
export interface Attempted {
  id: string;
  to_email: string;
  /** Number of attempts, including this one. */
  attempts: number;
  /** Start of the first attempt; null: this is the first. */
  first_attempt_at: string | null;
}

export interface OutcomeRules {
  mailer: Pick<Mailer, 'hasSimulator'>;
  /**
   * Milliseconds after the first attempt within which the message is retried. After this time, the
   * message fails.
   */
  retryMs: number;
}

/** Returns the outcome of a message from the mailer's response. */
export function deliveryOutcomeOf(
  { id: emailId, to_email: to, attempts, first_attempt_at: firstAt }: Attempted,
  outcome: SendOutcome,
  content: DeliveryOutcome['content'],
  { mailer, retryMs }: OutcomeRules,
): DeliveryOutcome {
  if (outcome.kind === 'refused') {
    const refusal = outcome.isRecipient ? 'recipient_refused' : 'provider_refused';
    return { emailId, content, kind: 'refused', error: outcome.error, refusal };
  }
  if (outcome.kind === 'stopped') return { emailId, kind: 'released' };
  if (outcome.kind === 'accepted' && isSimulated(mailer, to)) {
    return { emailId, content, ...outcome, delivered: false, simulator: to };
  }
  // The spread comes last: V8 would make a hidden class for each object in which a new property
  // follows a spread.
  if (outcome.kind !== 'retry') return { emailId, content, ...outcome };
  const { error } = outcome;
  const isOver = firstAt !== null && Date.now() - Date.parse(firstAt) >= retryMs;
  if (isOver) {
    const refusal = 'provider_unavailable';
    return { emailId, content, kind: 'refused', error, refusal };
  }
  const delayMs = Math.max(retryDelayMs(attempts), outcome.retryAfterMs ?? 0);
  return { emailId, content, kind: 'again', error, delayMs };
}

/**
 * Returns true if the mailer simulates reports about mail to this address, such as
 * `bounce@simulator.test`.
 */
function isSimulated(mailer: Pick<Mailer, 'hasSimulator'>, address: string): boolean {
  return mailer.hasSimulator && simulatedFeedback(address, new Date()) !== null;
}
