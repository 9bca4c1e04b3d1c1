import {
  type Outcome,
  outcomes,
  type ReasonCode,
  reasonCodes,
  refusals,
  withheldReasons,
} from './outcome.ts';

/** Which recipients a list shows. */

/** Later events of a message that was sent. */
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

/** Messages by the reason why they were not sent. */
export interface ReasonSelection {
  /** True if sent messages belong to it. */
  isSent: boolean;
  /** Reasons of messages with the status FAILED. */
  failed: ReasonCode[];
  /** Reasons of messages that have not failed and were not sent. */
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

/** Returns the messages with an outcome and a reason; undefined: any. Null: all messages. */
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
