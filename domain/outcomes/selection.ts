import {
  type Outcome,
  outcomes,
  type ReasonCode,
  reasonCodes,
  refusals,
  withheldReasons,
} from './outcome.ts';

/** Selects the recipients of a list by outcome and reason. */

/** Events that may follow the sending of a message. */
export const recipientEvents = [
  'delivered',
  'opened',
  'clicked',
  'humanOpened',
  'humanClicked',
  'bounced',
  'complained',
  'unsubscribed',
  'converted',
] as const;
export type RecipientEvent = (typeof recipientEvents)[number];

export const recipientOutcomes = [...outcomes, ...recipientEvents] as const;
export type RecipientOutcome = (typeof recipientOutcomes)[number];

export function isRecipientEvent(outcome: RecipientOutcome): outcome is RecipientEvent {
  return recipientEvents.some((event) => event === outcome);
}

/** A selection of messages by reason. */
export interface ReasonSelection {
  /** True if sent messages are included. */
  isSent: boolean;
  /** The included reasons of messages with the status FAILED. */
  failed: ReasonCode[];
  /** The included reasons of messages that were not sent and have not failed. */
  waiting: ReasonCode[];
}

const failedBy: Partial<Record<Outcome, readonly ReasonCode[]>> = {
  failed: refusals,
  withheld: withheldReasons,
  unknown: ['delivery_unknown'],
};

const waitingFor: Partial<Record<Outcome, readonly ReasonCode[]>> = {
  held: reasonCodes.held,
  pending: reasonCodes.pending,
  unknown: ['delivery_unsettled'],
};

/**
 * Returns the selection of messages with an outcome and a reason; undefined: any. Returns null if
 * all messages are selected.
 */
export function selectionOf(
  outcome: Outcome | undefined,
  reason: ReasonCode | undefined,
): ReasonSelection | null {
  if (outcome === undefined && reason === undefined) return null;
  const codesIn = (codes: typeof failedBy) =>
    outcomes
      .filter((one) => outcome === undefined || one === outcome)
      .flatMap((one) => codes[one] ?? [])
      .filter((code) => reason === undefined || code === reason);
  return {
    isSent: outcome === 'sent' && reason === undefined,
    failed: codesIn(failedBy),
    waiting: codesIn(waitingFor),
  };
}
