import type { Condition } from '../filter/filter.ts';
import { needsSubscription } from '../mail/headers.ts';
import type { Outcome } from '../outcomes/outcome.ts';

export const campaignStatuses = [
  'DRAFT',
  'SCHEDULED',
  'SENDING',
  'PAUSED',
  'SENT',
  'CANCELLED',
] as const;
export type CampaignStatus = (typeof campaignStatuses)[number];

/** The statuses of campaigns that may still send mail. */
export const openCampaignStatuses = [
  'DRAFT',
  'SCHEDULED',
  'SENDING',
  'PAUSED',
] as const satisfies CampaignStatus[];

/** The audiences that a request can choose. */
export const chosenAudienceTypes = ['ALL', 'SEGMENT', 'FILTERED'] as const;

export const audienceTypes = [...chosenAudienceTypes, 'FOLLOW_UP'] as const;

export interface CampaignAudience {
  type: (typeof audienceTypes)[number];
  /** null with the type SEGMENT: the segment was deleted, so the audience is empty. */
  segmentId: string | null;
  condition: Condition | null;
  /** The list with the recipients of a FOLLOW_UP; null for all other types. */
  listId: string | null;
}

/** The statuses in which an action on a campaign is possible. */
export const campaignActions = {
  edit: ['DRAFT', 'SCHEDULED', 'PAUSED'],
  send: ['DRAFT', 'SCHEDULED'],
  cancel: ['SCHEDULED', 'SENDING', 'PAUSED'],
  pause: ['SENDING'],
  resume: ['PAUSED'],
  archive: ['DRAFT', 'SENT', 'CANCELLED'],
  delete: ['DRAFT', 'SENT', 'CANCELLED'],
} as const satisfies Record<string, readonly CampaignStatus[]>;

/**
 * Returns true if the campaign will send no more mail: it was sent, or cancelled after its audience
 * was fixed.
 */
export function isFinished({
  status,
  isFrozen,
}: {
  status: CampaignStatus;
  isFrozen: boolean;
}): boolean {
  return status === 'SENT' || (status === 'CANCELLED' && isFrozen);
}

export const absences = [
  'not_in_audience',
  'unsubscribed_at_freeze',
  'topic_unsubscribed_at_freeze',
  'created_after_freeze',
] as const;
export type Absence = (typeof absences)[number];

/** Reasons why contacts that belong to the audience get no mail. */
export const leftOutReasons = [
  'unsubscribed_at_freeze',
  'topic_unsubscribed_at_freeze',
] as const satisfies Absence[];
export type LeftOutReason = (typeof leftOutReasons)[number];

/**
 * Why a contact got a campaign or not, in a few broad terms. `outcomeOf` gives the exact reason.
 */
export type RecipientReason = 'sent' | 'withheld' | 'refused' | 'pending' | Absence;

/**
 * Returns the broad term for an outcome. A message with an unknown outcome is pending, because a
 * later report may settle it.
 */
export function reasonOfOutcome(outcome: Outcome): Exclude<RecipientReason, Absence> {
  if (outcome === 'sent' || outcome === 'withheld') return outcome;
  return outcome === 'failed' ? 'refused' : 'pending';
}

/**
 * Returns why a contact without a message of the campaign is not a recipient; null: the contact is
 * a recipient, and the message is not created yet.
 * @param contact.subscribed the state when the campaign checked the contact; before that check, the
 * current state. `topicLeft` follows the same rule.
 */
export function absenceOf(
  campaign: {
    messageClass: string;
    frozenAt: Date | null;
    isFixed: boolean;
    /** True if the audience is all contacts. */
    isForAll: boolean;
  },
  contact: { createdAt: Date; subscribed: boolean; topicLeft: boolean; isInAudience: boolean },
): Absence | null {
  if (campaign.frozenAt && contact.createdAt > campaign.frozenAt) return 'created_after_freeze';
  if (!contact.isInAudience) return 'not_in_audience';
  if (needsSubscription(campaign.messageClass, 'CAMPAIGN') && !contact.subscribed) {
    return 'unsubscribed_at_freeze';
  }
  if (contact.topicLeft) return 'topic_unsubscribed_at_freeze';
  // The contact would be in the audience now, but has no message. Either the contact's data were
  // different when the audience was fixed, or the contact was committed after that.
  if (campaign.isFixed) return campaign.isForAll ? 'created_after_freeze' : 'not_in_audience';
  return null;
}

type WaitReason = 'retry' | 'outcome' | 'decision';

/**
 * The phase of a campaign, from which its run decides what to do next. `sent` and `total` count
 * messages.
 */
export type CampaignPhase =
  | { phase: 'scheduled'; waitMs: number; startsAt: string }
  /** The run must insert or send messages; for a paused campaign, only insert. */
  | { phase: 'sending'; sent: number; total: number }
  /**
   * The run waits for the next retry, for unknown outcomes, or for the decision of an experiment.
   */
  | { phase: 'waiting'; for: WaitReason; waitMs: number; sent: number; total: number }
  | { phase: 'paused'; sent: number; total: number }
  /** The run must set the waiting messages to FAILED. */
  | { phase: 'cancelled' }
  | { phase: 'over'; sent: number; total: number };
