import { needsSubscription } from '../mail/class-headers.ts';
import type { Condition } from '../filter/filter.ts';

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
  /** null with SEGMENT: the segment is gone, and nobody is in it. */
  segmentId: string | null;
  condition: Condition | null;
}

/** In what states an action on a campaign is possible. */
export const campaignActions = {
  edit: ['DRAFT', 'SCHEDULED', 'PAUSED'],
  send: ['DRAFT', 'SCHEDULED'],
  cancel: ['SCHEDULED', 'SENDING', 'PAUSED'],
  pause: ['SENDING'],
  resume: ['PAUSED'],
  archive: ['DRAFT', 'SENT', 'CANCELLED'],
  delete: ['DRAFT', 'SENT', 'CANCELLED'],
} as const satisfies Record<string, readonly CampaignStatus[]>;

/** Reasons for which a message that was queued was not handed over. */
const suppressionReasons: readonly string[] = [
  'contact_unsubscribed',
  'project_disabled',
  'campaign_cancelled',
  'billing_limit',
  'message_too_large',
];

/** Why a contact got a campaign, or did not. */
export type RecipientReason =
  | 'sent'
  | 'withheld'
  | 'refused'
  | 'not_in_audience'
  | 'unsubscribed_at_freeze'
  | 'created_after_freeze'
  | 'pending';

/** What a message of a campaign says of its recipient. */
export function reasonOfEmail(email: { status: string; error: string | null }): RecipientReason {
  if (email.status === 'PENDING' || email.status === 'SENDING') return 'pending';
  if (email.status !== 'FAILED') return 'sent';
  // Nobody knows whether it arrived; the provider may still say so.
  if (email.error === 'delivery_unknown') return 'pending';
  return suppressionReasons.includes(email.error ?? '') ? 'withheld' : 'refused';
}

/**
 * What is said of a contact for whom a campaign has no message.
 * @param contact.subscribed as it was when the audience was fixed; now, while it is not.
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
  contact: { createdAt: Date; subscribed: boolean; isInAudience: boolean },
): RecipientReason {
  if (campaign.frozenAt && contact.createdAt > campaign.frozenAt) return 'created_after_freeze';
  if (!contact.isInAudience) return 'not_in_audience';
  if (needsSubscription(campaign.messageClass, 'CAMPAIGN') && !contact.subscribed) {
    return 'unsubscribed_at_freeze';
  }
  // Its data were others then, or a transaction that began before was committed after.
  if (campaign.isFixed) return campaign.isForAll ? 'created_after_freeze' : 'not_in_audience';
  return campaign.status === 'CANCELLED' ? 'withheld' : 'pending';
}

/** How a campaign stands, for its run. Numbers of messages, milliseconds. */
export type CampaignPhase =
  | { phase: 'scheduled'; waitMs: number; startsAt: string }
  /** There are messages to be made or handed over. */
  | { phase: 'sending'; sent: number; total: number }
  /** For the next try of some, or for outcomes that are unknown. */
  | { phase: 'waiting'; for: 'retry' | 'outcome'; waitMs: number; sent: number; total: number }
  | { phase: 'paused'; sent: number; total: number }
  /** What still waits must fail. */
  | { phase: 'cancelled' }
  | { phase: 'over'; sent: number; total: number };
