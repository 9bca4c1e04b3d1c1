import type { Campaign, GetCampaignStatsProgress, Recipient } from '../api/api.ts';
import type { Tone } from './tone.ts';

export type CampaignStatus = Campaign['status'];
type Reason = NonNullable<Recipient['reasonCode']>;

/** States of campaigns in words. */
export const statuses: Record<CampaignStatus, { text: string; tone: Tone }> = {
  DRAFT: { text: 'Draft', tone: 'neutral' },
  SCHEDULED: { text: 'Scheduled', tone: 'neutral' },
  SENDING: { text: 'Sending', tone: 'neutral' },
  PAUSED: { text: 'Paused', tone: 'warning' },
  SENT: { text: 'Sent', tone: 'good' },
  CANCELLED: { text: 'Cancelled', tone: 'bad' },
};

/** Outcomes of recipients in words. */
export const outcomes: Record<NonNullable<Recipient['outcome']>, { text: string; tone: Tone }> = {
  sent: { text: 'Sent', tone: 'good' },
  failed: { text: 'Failed', tone: 'bad' },
  withheld: { text: 'Not sent', tone: 'warning' },
  held: { text: 'Held back for now', tone: 'neutral' },
  pending: { text: 'Waits', tone: 'neutral' },
  unknown: { text: 'Not known', tone: 'warning' },
};

/** Results by which recipients are chosen: outcomes, and events of mail that was sent. */
export const results = {
  sent: 'Sent',
  failed: 'Failed',
  withheld: 'Not sent',
  held: 'Held back for now',
  pending: 'Waits',
  unknown: 'Not known',
  delivered: 'Delivered',
  opened: 'Opened',
  clicked: 'Clicked',
  humanOpened: 'Opened by a person',
  humanClicked: 'Clicked by a person',
  bounced: 'Bounced',
  complained: 'Complained',
  unsubscribed: 'Unsubscribed',
  converted: 'Reached the goal',
} as const;

/** Why a recipient did not get the mail, one sentence per code. */
export const reasons: Record<Reason, string> = {
  provider_refused: 'The provider refused the mail',
  recipient_refused: 'The recipient’s server refused the mail',
  provider_unavailable: 'The provider was not available',
  contact_unsubscribed: 'Unsubscribed before the mail was sent',
  topic_unsubscribed: 'Unsubscribed from the topic before the mail was sent',
  suppressed: 'On the suppression list',
  held_out: 'In the hold-out group',
  frequency_cap: 'Over the limit of mails per contact',
  late: 'The local time had passed',
  billing_limit: 'Over the billing limit',
  domain_not_verified: 'The sender’s domain is not verified',
  project_disabled: 'The project is disabled',
  campaign_cancelled: 'The campaign was cancelled',
  execution_ended: 'The workflow had ended for the contact',
  cancelled: 'The mail was cancelled',
  message_too_large: 'The mail is too large',
  no_provider: 'No provider takes this mail',
  contact_deleted: 'The contact was deleted',
  quiet_hours: 'Quiet hours',
  warm_up: 'The warm-up of the domain',
  awaiting_start: 'The campaign has not begun',
  campaign_paused: 'The campaign is paused',
  experiment: 'Waits for the decision of the experiment',
  schedule: 'Waits for its time',
  retry: 'Waits for another try',
  queued: 'Waits in the queue',
  delivery_unsettled: 'The provider has not confirmed it yet',
  delivery_unknown: 'The provider never confirmed it',
  unsubscribed_at_freeze: 'Was unsubscribed when the campaign began',
  topic_unsubscribed_at_freeze: 'Was not subscribed to the topic when the campaign began',
};

/** Returns a reason in words; a code that is new has no words yet. */
export const reasonText = (code: string): string =>
  (reasons as Record<string, string>)[code] ?? code;

/** Limits on the speed of a campaign, one sentence per code. */
export const limits: Record<NonNullable<GetCampaignStatsProgress['limitedBy']>, string> = {
  project_rate: 'The rate of the project limits it',
  server_rate: 'The rate of the server limits it',
  campaign_rate: 'Its own limit of emails per minute slows it down',
  provider: 'The mail provider takes no more at present',
  no_worker: 'No worker is running: start one',
};
