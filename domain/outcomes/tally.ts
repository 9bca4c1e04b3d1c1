import {
  type MailOutcome,
  type Outcome,
  outcomeOfFailure,
  type PolicyHold,
  pendingIn,
  type ReasonCode,
} from './outcome.ts';

/** Recipients of a campaign by outcome, in numbers. */

/** The counts of a campaign at one moment. */
export interface CampaignTally {
  status: string;
  totalRecipients: number;
  /** Messages made so far, also those that were deleted with their contacts since. */
  made: number;
  /** Accepted by the provider. */
  sent: number;
  /** How many have failed, by their refusal, else their error. */
  failures: readonly {
    code: string;
    count: number;
    /** How many of them the provider had accepted before. */
    sent: number;
  }[];
  /** Held back by the send policy now. */
  held: Readonly<Record<PolicyHold, number>>;
  /** Their attempt has ended, and it is not known yet whether the provider has accepted them. */
  unsettled: number;
  /** Waiting for the moment of their contact, and for another attempt. */
  scheduled: number;
  retrying: number;
}

export interface CampaignOutcomes {
  /** The sum is the number of recipients. */
  outcomes: Record<Outcome, number>;
  /** Without zeros. The sum is the number of recipients who were not sent it. */
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
