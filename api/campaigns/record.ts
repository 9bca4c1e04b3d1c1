import { z } from 'zod';
import type { NamedCampaignRow } from '../../db/campaigns/campaigns.ts';
import { audienceTypes, campaignStatuses } from '../../domain/campaign/campaign.ts';
import { conditionToFlat } from '../../domain/filter/forms.ts';
import { ConditionAnswer, FlatAnswer } from '../segments/conditions.ts';
import { Time, time, Uuid } from '../http/schemas.ts';

/** The record of a campaign as the API answers it. */

export const tag = 'Campaigns';

export const CampaignById = z.object({ id: Uuid });

export const AudienceType = z.enum(audienceTypes);

export const MessageType = z.enum(['MARKETING', 'TRANSACTIONAL', 'HEADLESS']);

export const CampaignState = z.enum(campaignStatuses);

export const Campaign = z.object({
  id: z.uuid(),
  name: z.string(),
  description: z.string().nullable(),
  subject: z.string(),
  body: z.string(),
  from: z.string(),
  fromName: z.string().nullable(),
  replyTo: z.string().nullable(),
  templateId: z.uuid().nullable(),
  type: AudienceType.describe('The same as audienceType'),
  audienceType: AudienceType,
  segmentId: z.uuid().nullable(),
  segment: z.object({ id: z.uuid(), name: z.string() }).nullable(),
  audienceCondition: ConditionAnswer.nullable(),
  audienceFilter: FlatAnswer.nullable().describe('The condition as a list, if it can be one'),
  messageType: MessageType,
  status: CampaignState,
  scheduledFor: Time.nullable(),
  scheduledAt: Time.nullable().describe('The same as scheduledFor'),
  sentAt: Time.nullable(),
  pausedReason: z.enum(['requested', 'provider_failures']).nullable(),
  archived: z.boolean(),
  totalRecipients: z.int().describe('As counted last; the final number once it is SENT'),
  sentCount: z.int(),
  deliveredCount: z.int(),
  openedCount: z.int(),
  clickedCount: z.int(),
  bouncedCount: z.int(),
  complainedCount: z.int(),
  unsubscribedCount: z.int(),
  projectId: z.uuid(),
  createdAt: Time,
  updatedAt: Time,
});

/** What an action on a campaign answers. */
export const CampaignDone = z.object({
  success: z.literal(true),
  data: Campaign,
  message: z.string(),
});

export function presentCampaign(row: NamedCampaignRow): z.input<typeof Campaign> {
  const audienceType = row.audience_type as z.input<typeof AudienceType>;
  const { audience_condition: condition, segment_id: segmentId, segment_name: segmentName } = row;
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    subject: row.subject,
    body: row.body,
    from: row.from_email,
    fromName: row.from_name,
    replyTo: row.reply_to,
    templateId: row.template_id,
    type: audienceType,
    audienceType,
    segmentId,
    segment:
      segmentId !== null && segmentName !== null ? { id: segmentId, name: segmentName } : null,
    audienceCondition: condition,
    audienceFilter: condition && conditionToFlat(condition),
    messageType: row.message_class as z.input<typeof MessageType>,
    status: row.status,
    scheduledFor: time(row.scheduled_for),
    scheduledAt: time(row.scheduled_for),
    sentAt: time(row.sent_at),
    pausedReason: row.paused_reason as 'requested' | 'provider_failures' | null,
    archived: row.archived,
    totalRecipients: row.total_recipients,
    sentCount: row.sent_count,
    deliveredCount: row.delivered_count,
    openedCount: row.opened_count,
    clickedCount: row.clicked_count,
    bouncedCount: row.bounced_count,
    complainedCount: row.complained_count,
    unsubscribedCount: row.unsubscribed_count,
    projectId: row.project_id,
    createdAt: time(row.created_at),
    updatedAt: time(row.updated_at),
  };
}

export const campaignExample = {
  id: '7a9e4c1d-5b0e-4c51-8a27-2f6e1b3c4d05',
  name: 'Spring sale',
  description: null,
  subject: 'Hello {{name ?? you}}',
  body: '<p>20% off</p>',
  from: 'news@shop.example',
  fromName: 'The Shop',
  replyTo: null,
  templateId: null,
  type: 'SEGMENT',
  audienceType: 'SEGMENT',
  segmentId: '9d3f1c1e-8a53-4d3c-b0ff-6c1b6a3b7e01',
  segment: { id: '9d3f1c1e-8a53-4d3c-b0ff-6c1b6a3b7e01', name: 'Pro users' },
  audienceCondition: null,
  audienceFilter: null,
  messageType: 'MARKETING',
  status: 'SCHEDULED',
  scheduledFor: '2026-12-01T08:00:00.000Z',
  scheduledAt: '2026-12-01T08:00:00.000Z',
  sentAt: null,
  pausedReason: null,
  archived: false,
  totalRecipients: 128,
  sentCount: 0,
  deliveredCount: 0,
  openedCount: 0,
  clickedCount: 0,
  bouncedCount: 0,
  complainedCount: 0,
  unsubscribedCount: 0,
  projectId: '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01',
  createdAt: '2026-11-20T10:00:00.000Z',
  updatedAt: '2026-11-21T08:30:00.000Z',
} as const;
