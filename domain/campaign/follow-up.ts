/** Who gets a follow-up: recipients of another campaign, by what became of their mail. */

export const followUpOutcomes = ['not_opened', 'not_clicked', 'failed', 'not_sent'] as const;
export type FollowUpOutcome = (typeof followUpOutcomes)[number];

export interface FollowUp {
  /** The campaign that is followed up; it may be deleted by now. */
  campaignId: string;
  outcome: FollowUpOutcome;
  /** True if opens and clicks by machines do not count. */
  ignoreMachines: boolean;
  /** When the recipients were chosen, as ISO time. */
  asOf: string;
}
