import {
  type MailOutcome,
  type Outcome,
  outcomeOfFailure,
  outcomeOfReason,
  pendingIn,
  type ReasonCode,
} from './outcome.ts';
import { type PolicyHold, policyHolds } from './policy-holds.ts';

/** Counts messages, and the recipients of a campaign, by outcome and by reason. */

export interface CampaignTally {
  status: string;
  totalRecipients: number;
  /**
   * Number of messages created so far, including messages that were deleted with their contacts.
   */
  made: number;
  /** Number of messages that the provider accepted. */
  sent: number;
  /** Failed messages by their column `refusal`, or by `error` if `refusal` is null. */
  failures: readonly {
    code: string;
    count: number;
    /** Number of these messages that the provider had accepted before they failed. */
    sent: number;
  }[];
  /** Messages that the send policy or a ramp holds back now. */
  held: Readonly<Record<PolicyHold, number>>;
  /** Messages whose attempt ended without a known result. */
  unsettled: number;
  /** Messages that wait for the local time of their contact. */
  scheduled: number;
  /** Messages that wait for another attempt. */
  retrying: number;
  /**
   * Waiting messages of the test group, while the rest waits for the decision of the experiment;
   * null: no decision is pending.
   */
  testing: number | null;
}

export interface OutcomeCounts {
  outcomes: Record<Outcome, number>;
  /** The counts above zero, by reason. Their sum equals that of `outcomes` without `sent`. */
  reasons: Partial<Record<ReasonCode, number>>;
}

class Counter {
  readonly counts: OutcomeCounts = {
    outcomes: { sent: 0, failed: 0, withheld: 0, held: 0, pending: 0, unknown: 0 },
    reasons: {},
  };

  add({ outcome, reasonCode }: MailOutcome, count: number): void {
    const { outcomes, reasons } = this.counts;
    if (count === 0) return;
    outcomes[outcome] += count;
    if (reasonCode !== null) reasons[reasonCode] = (reasons[reasonCode] ?? 0) + count;
  }
}

/** A number of messages with the same reason. */
export interface ReasonCount {
  /** null: the messages were sent. */
  code: ReasonCode | null;
  /** True if the messages have the status FAILED. */
  isFailed: boolean;
  count: number;
}

/** Counts messages by outcome. The sum of `outcomes` is the number of messages. */
export function countOutcomes(counted: readonly ReasonCount[]): OutcomeCounts {
  const counter = new Counter();
  for (const { code, isFailed, count } of counted) {
    counter.add({ outcome: outcomeOfReason(code, isFailed), reasonCode: code }, count);
  }
  return counter.counts;
}

/** Counts recipients by outcome. The sum of `outcomes` is the number of recipients. */
export function campaignOutcomes(tally: CampaignTally): OutcomeCounts {
  const counter = new Counter();
  const { status, failures, held, unsettled, scheduled, retrying, testing } = tally;
  const sum = (numbers: readonly number[]) => numbers.reduce((one, other) => one + other, 0);
  const sent = tally.sent - sum(failures.map((failure) => failure.sent));
  let waiting = tally.made - sent - sum(failures.map(({ count }) => count));
  counter.add({ outcome: 'sent', reasonCode: null }, sent);
  for (const { code, count } of failures) counter.add(outcomeOfFailure(code), count);
  const take = (outcome: MailOutcome, count: number) => {
    counter.add(outcome, count);
    waiting -= count;
  };
  if (testing !== null && status === 'SENDING') {
    take({ outcome: 'pending', reasonCode: 'experiment' }, waiting - testing);
  }
  take({ outcome: 'unknown', reasonCode: 'delivery_unsettled' }, unsettled);
  if (status !== 'PAUSED') {
    for (const hold of policyHolds) take({ outcome: 'held', reasonCode: hold }, held[hold]);
    take({ outcome: 'pending', reasonCode: 'schedule' }, scheduled);
    take({ outcome: 'pending', reasonCode: 'retry' }, retrying);
  }
  // Messages waiting in a cancelled campaign will fail, but have not failed yet.
  counter.add(pendingIn(status === 'CANCELLED' ? 'SENDING' : status), waiting);
  counter.add(pendingIn(status), tally.totalRecipients - tally.made);
  return counter.counts;
}
