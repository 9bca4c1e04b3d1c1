import type { Condition } from '../filter/filter.ts';
import { needsSubscription } from '../mail/headers.ts';

export const campaignStatuses = [
  'DRAFT',
  'SCHEDULED',
  'SENDING',
  'PAUSED',
  'SENT',
  'CANCELLED',
] as const;
export type CampaignStatus = (typeof campaignStatuses)[number];

export const audienceTypes = ['ALL', 'SEGMENT', 'FILTERED'] as const;

/** Who a campaign is for. */
export interface CampaignAudience {
  type: (typeof audienceTypes)[number];
  /** null with SEGMENT: the segment was deleted, and the audience is empty. */
  segmentId: string | null;
  condition: Condition | null;
}

/** The states in which an action on a campaign is possible. */
export const campaignActions = {
  edit: ['DRAFT', 'SCHEDULED', 'PAUSED'],
  send: ['DRAFT', 'SCHEDULED'],
  cancel: ['SCHEDULED', 'SENDING', 'PAUSED'],
  pause: ['SENDING'],
  resume: ['PAUSED'],
  archive: ['DRAFT', 'SENT', 'CANCELLED'],
  delete: ['DRAFT', 'SENT', 'CANCELLED'],
} as const satisfies Record<string, readonly CampaignStatus[]>;

/** Reasons why a queued message was not handed over. */
const suppressionReasons: readonly string[] = [
  'contact_unsubscribed',
  'topic_unsubscribed',
  'domain_not_verified',
  'cancelled',
  'project_disabled',
  'campaign_cancelled',
  'billing_limit',
  'message_too_large',
  'frequency_cap',
  'late',
  'suppressed',
];

/** Why a contact got a campaign, or did not. */
export type RecipientReason =
  | 'sent'
  | 'withheld'
  | 'refused'
  | 'not_in_audience'
  | 'unsubscribed_at_freeze'
  | 'topic_unsubscribed_at_freeze'
  | 'created_after_freeze'
  | 'pending';

/** The reason that a campaign message gives for its recipient. */
export function reasonOfEmail(email: { status: string; error: string | null }): RecipientReason {
  if (email.status === 'PENDING' || email.status === 'SENDING') return 'pending';
  if (email.status !== 'FAILED') return 'sent';
  // It is unknown whether it arrived; the provider may still report it.
  if (email.error === 'delivery_unknown') return 'pending';
  return suppressionReasons.includes(email.error ?? '') ? 'withheld' : 'refused';
}

/**
 * The reason for a contact without a message of the campaign.
 * @param contact.subscribed as of the moment the audience was fixed; before that, as of now; so is
 *   `contact.topicLeft`.
 */
export function reasonWithoutEmail(
  campaign: {
    status: CampaignStatus;
    messageClass: string;
    frozenAt: Date | null;
    isFixed: boolean;
    /** Its audience is everybody. */
    isForAll: boolean;
  },
  contact: { createdAt: Date; subscribed: boolean; topicLeft: boolean; isInAudience: boolean },
): RecipientReason {
  if (campaign.frozenAt && contact.createdAt > campaign.frozenAt) return 'created_after_freeze';
  if (!contact.isInAudience) return 'not_in_audience';
  if (needsSubscription(campaign.messageClass, 'CAMPAIGN') && !contact.subscribed) {
    return 'unsubscribed_at_freeze';
  }
  if (contact.topicLeft) return 'topic_unsubscribed_at_freeze';
  // Its data were different then, or a transaction that began earlier was committed later.
  if (campaign.isFixed) return campaign.isForAll ? 'created_after_freeze' : 'not_in_audience';
  return campaign.status === 'CANCELLED' ? 'withheld' : 'pending';
}

/** The phase of a campaign, for its run. Numbers of messages, milliseconds. */
export type CampaignPhase =
  | { phase: 'scheduled'; waitMs: number; startsAt: string }
  /** Messages must be inserted or sent. */
  | { phase: 'sending'; sent: number; total: number }
  /** For the next retry, or for unknown outcomes. */
  | { phase: 'waiting'; for: 'retry' | 'outcome'; waitMs: number; sent: number; total: number }
  | { phase: 'paused'; sent: number; total: number }
  /** The waiting messages must be failed. */
  | { phase: 'cancelled' }
  | { phase: 'over'; sent: number; total: number };
