import type { Campaign, GetCampaignStatsProgress, Recipient } from '../api/api.ts';
import type { Tone } from './tone.ts';

export type CampaignStatus = Campaign['status'];

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

/**
 * Results by which recipients are chosen: outcomes of mail, and events of sent mail such as an
 * open.
 */
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

/** Recipients of a follow-up, as the end of `recipients who …`. */
export const followUpRecipients: Record<NonNullable<Campaign['followUp']>['outcome'], string> = {
  not_opened: 'have not opened it',
  not_clicked: 'have not clicked in it',
  failed: 'did not get it, because it failed',
  not_sent: 'did not get it, because it failed or was not sent',
};

/** Limits on the speed of a campaign, one sentence per code. */
export const limits: Record<NonNullable<GetCampaignStatsProgress['limitedBy']>, string> = {
  project_rate: 'The rate of the project limits it',
  server_rate: 'The rate of the server limits it',
  campaign_rate: 'Its own limit of emails per minute slows it down',
  provider: 'The mail provider takes no more at present',
  no_worker: 'No worker is running: start one',
  operator: 'The operator must decide about it, because the database was restored',
};
