import { type HeldMail, holdOf } from './hold.ts';
import { type PolicyHold, policyHolds } from './policy-holds.ts';

/** The outcome of a message, and the code of the reason if the message was not sent. */

export const outcomes = ['sent', 'failed', 'withheld', 'held', 'pending', 'unknown'] as const;
export type Outcome = (typeof outcomes)[number];

/** Reasons for which the provider did not accept a message, as `email.refusal` stores them. */
export const refusals = ['provider_refused', 'recipient_refused', 'provider_unavailable'] as const;
export type Refusal = (typeof refusals)[number];

/**
 * Reasons for which a waiting message fails without being given to the mail provider, as
 * `email.error` stores them.
 */
export const withheldReasons = [
  'contact_unsubscribed',
  'topic_unsubscribed',
  'suppressed',
  'held_out',
  'frequency_cap',
  'late',
  'billing_limit',
  'domain_not_verified',
  'project_disabled',
  'campaign_cancelled',
  'execution_ended',
  'cancelled',
  'message_too_large',
  'no_provider',
  'contact_deleted',
  'restored',
] as const;
export type WithheldReason = (typeof withheldReasons)[number];

/** Reasons why a message was not given to the mail provider yet. */
const pendingReasons = [
  'awaiting_start',
  'campaign_paused',
  'experiment',
  'schedule',
  'retry',
  'queued',
] as const;
type PendingReason = (typeof pendingReasons)[number];

const unknownReasons = ['delivery_unsettled', 'delivery_unknown'] as const;

export type ReasonCode =
  | Refusal
  | WithheldReason
  | PolicyHold
  | PendingReason
  | (typeof unknownReasons)[number];

/** The reason codes of each outcome; `sent` has none. */
export const reasonCodes = {
  failed: refusals,
  withheld: withheldReasons,
  held: policyHolds,
  pending: pendingReasons,
  unknown: unknownReasons,
} as const satisfies Record<Exclude<Outcome, 'sent'>, readonly ReasonCode[]>;

export interface MailOutcome {
  outcome: Outcome;
  /** null: the message was sent. */
  reasonCode: ReasonCode | null;
}

/** The columns that determine the outcome of a message. */
export interface JudgedMail extends HeldMail {
  error: string | null;
  /** One of `refusals`; null: the provider did not refuse the message. */
  refusal: string | null;
  /**
   * The status of the campaign, or UNDECIDED while the message waits for the decision of an
   * experiment. null: the message has no campaign, or was sent or has failed.
   */
  campaign_status: string | null;
  /**
   * True if the attempt has ended without a known result: the provider may have accepted the
   * message.
   */
  is_unsettled: boolean;
}

export function outcomeOf(mail: JudgedMail, now: Date): MailOutcome {
  if (mail.status === 'FAILED') return outcomeOfFailure(mail.refusal ?? mail.error);
  if (mail.status !== 'PENDING' && mail.status !== 'SENDING') {
    return { outcome: 'sent', reasonCode: null };
  }
  if (mail.is_unsettled) return { outcome: 'unknown', reasonCode: 'delivery_unsettled' };
  if (mail.campaign_status === 'PAUSED') return pendingIn('PAUSED');
  if (mail.campaign_status === 'UNDECIDED') return { outcome: 'pending', reasonCode: 'experiment' };
  const hold = holdOf(mail, now);
  if (!hold) return { outcome: 'pending', reasonCode: 'queued' };
  const { reason } = hold;
  return { outcome: isPolicyHold(reason) ? 'held' : 'pending', reasonCode: reason };
}

function isPolicyHold(reason: string): boolean {
  return (policyHolds as readonly string[]).includes(reason);
}

/**
 * Returns the outcome for a recipient of a campaign whose message does not exist yet or waits for
 * its turn.
 */
export function pendingIn(campaignStatus: string): MailOutcome {
  if (campaignStatus === 'CANCELLED') {
    return { outcome: 'withheld', reasonCode: 'campaign_cancelled' };
  }
  const isAhead = campaignStatus === 'DRAFT' || campaignStatus === 'SCHEDULED';
  const waiting = campaignStatus === 'PAUSED' ? 'campaign_paused' : 'queued';
  return { outcome: 'pending', reasonCode: isAhead ? 'awaiting_start' : waiting };
}

/**
 * Returns the outcome of a failed message.
 * @param code the column `refusal`; if it is null, the column `error`
 */
export function outcomeOfFailure(code: string | null): MailOutcome {
  const withheld = withheldReasons.find((reason) => reason === code);
  if (withheld) return { outcome: 'withheld', reasonCode: withheld };
  if (code === 'delivery_unknown') return { outcome: 'unknown', reasonCode: code };
  const refusal = refusals.find((reason) => reason === code) ?? 'provider_refused';
  return { outcome: 'failed', reasonCode: refusal };
}

/**
 * Returns the outcome for a reason code; null: the message was sent.
 * @param isFailed true if the message has the status FAILED. The status is needed because
 * `frequency_cap` can fail a message or only hold it.
 */
export function outcomeOfReason(code: ReasonCode | null, isFailed: boolean): Outcome {
  if (code === null) return 'sent';
  if (isFailed) return outcomeOfFailure(code).outcome;
  const isOf = (outcome: 'held' | 'unknown') =>
    (reasonCodes[outcome] as readonly ReasonCode[]).includes(code);
  return isOf('held') ? 'held' : isOf('unknown') ? 'unknown' : 'pending';
}
