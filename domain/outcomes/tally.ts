import {
  type MailOutcome,
  type Outcome,
  outcomeOfFailure,
  type PolicyHold,
  pendingIn,
  type ReasonCode,
} from './outcome.ts';

/** Counts the recipients of a campaign by outcome. */

export interface CampaignTally {
  status: string;
  totalRecipients: number;
  /** Messages created so far, including those deleted with their contacts since. */
  made: number;
  /** Accepted by the provider. */
  sent: number;
  /** Failed messages, grouped by the column `refusal`, or by `error` if `refusal` is null. */
  failures: readonly {
    code: string;
    count: number;
    /** How many of them the provider had accepted before. */
    sent: number;
  }[];
  /** Messages that the send policy holds back now. */
  held: Readonly<Record<PolicyHold, number>>;
  /** Messages whose attempt has ended, while it is unknown if the provider accepted them. */
  unsettled: number;
  /** Messages that wait for the local time of their contact. */
  scheduled: number;
  /** Messages that wait for another attempt. */
  retrying: number;
}

export interface CampaignOutcomes {
  /** The sum is the number of recipients. */
  outcomes: Record<Outcome, number>;
  /**
   * Without zeros. The sum is the number of recipients to whom the campaign was not sent, or not yet.
   */
  reasons: Partial<Record<ReasonCode, number>>;
}

export function campaignOutcomes(tally: CampaignTally): CampaignOutcomes {
  const outcomes = { sent: 0, failed: 0, withheld: 0, held: 0, pending: 0, unknown: 0 };
  const reasons: CampaignOutcomes['reasons'] = {};
  const add = ({ outcome, reasonCode }: MailOutcome, count: number) => {
    if (count === 0) return;
    outcomes[outcome] += count;
    if (reasonCode !== null) reasons[reasonCode] = (reasons[reasonCode] ?? 0) + count;
  };
  const { status, failures, held, unsettled, scheduled, retrying } = tally;
  const sum = (numbers: readonly number[]) => numbers.reduce((one, other) => one + other, 0);
  const sent = tally.sent - sum(failures.map((failure) => failure.sent));
  let waiting = tally.made - sent - sum(failures.map(({ count }) => count));
  add({ outcome: 'sent', reasonCode: null }, sent);
  for (const { code, count } of failures) add(outcomeOfFailure(code), count);
  const take = (outcome: MailOutcome, count: number) => {
    add(outcome, count);
    waiting -= count;
  };
  take({ outcome: 'unknown', reasonCode: 'delivery_unsettled' }, unsettled);
  if (status !== 'PAUSED') {
    take({ outcome: 'held', reasonCode: 'quiet_hours' }, held.quiet_hours);
    take({ outcome: 'held', reasonCode: 'frequency_cap' }, held.frequency_cap);
    take({ outcome: 'pending', reasonCode: 'schedule' }, scheduled);
    take({ outcome: 'pending', reasonCode: 'retry' }, retrying);
  }
  // Messages waiting in a cancelled campaign will fail, but have not failed yet.
  add(pendingIn(status === 'CANCELLED' ? 'SENDING' : status), waiting);
  add(pendingIn(status), tally.totalRecipients - tally.made);
  return { outcomes, reasons };
}
