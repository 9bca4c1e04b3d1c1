/** Follow-ups: campaigns to recipients of another campaign, chosen by the outcome of their mail. */

export const followUpOutcomes = ['not_opened', 'not_clicked', 'failed', 'not_sent'] as const;
export type FollowUpOutcome = (typeof followUpOutcomes)[number];

export interface FollowUp {
  /** The id of the original campaign, which may be deleted by now. */
  campaignId: string;
  outcome: FollowUpOutcome;
  /** True if opens and clicks by machines do not count. */
  ignoreMachines: boolean;
  /** When the recipients were chosen, in ISO 8601. */
  asOf: string;
}
