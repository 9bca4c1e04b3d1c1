import { addressesIn } from '../../domain/email-address.ts';
import { z } from 'zod';
import type { ActivityRow, UpcomingRow } from '../../db/reads/activity.ts';
import { activityTypes, type ActivityType } from '../../domain/activity.ts';
import { JsonObject, named, Time } from '../http/schemas.ts';

export const ActivityItem = named('ActivityItem', {
  id: z.string(),
  type: z.enum(activityTypes),
  timestamp: Time,
  contactEmail: z.string().optional(),
  contactId: z.uuid().optional(),
  metadata: JsonObject.meta({ type: 'object', additionalProperties: true }),
});

type Item = z.input<typeof ActivityItem>;

export const activityExample: Item = {
  id: 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21_opened',
  type: 'email.opened',
  timestamp: '2026-11-21T09:00:00.000Z',
  contactEmail: 'ada@shop.example',
  contactId: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
  metadata: {
    subject: 'Hi Ada',
    body: '<p>Hi</p>',
    from: 'team@shop.example',
    fromName: 'The Shop',
    replyTo: null,
    toName: null,
    sourceType: 'TRANSACTIONAL',
    campaignName: null,
    workflowName: null,
    totalOpens: 2,
  },
};

export const upcomingExample: Item = {
  id: 'campaign_7a9e4c1d-5b0e-4c51-8a27-2f6e1b3c4d05_scheduled',
  type: 'campaign.scheduled',
  timestamp: '2026-12-01T08:00:00.000Z',
  metadata: {
    campaignName: 'Spring sale',
    subject: 'Hello {{name ?? you}}',
    totalRecipients: 128,
    segmentName: 'Pro users',
    audienceType: 'SEGMENT',
  },
};

export function presentActivity(row: ActivityRow): Item {
  return present(row, row.type, metadataOf(row));
}

function metadataOf(row: ActivityRow): Record<string, unknown> {
  switch (row.type) {
    case 'event.triggered':
      return { eventName: row.event_name, eventData: row.event_data };
    case 'contact.subscribed':
    case 'contact.unsubscribed':
      return { source: row.event_data?.['source'] ?? null };
    case 'email.opened':
      return { ...emailOf(row), totalOpens: row.opens };
    case 'email.clicked':
      return { ...emailOf(row), totalClicks: row.clicks };
    case 'email.bounced':
      return { ...emailOf(row), error: row.error };
    case 'email.sent':
    case 'email.delivered':
    case 'email.complaint':
    case 'email.received':
      return emailOf(row);
    case 'campaign.sent':
      return campaignOf({ ...row, subject: row.campaign_subject });
    case 'workflow.started':
    case 'workflow.completed':
      return {
        workflowName: row.workflow_name,
        ...keyOf(row),
        status: row.status,
        exitReason: row.exit_reason,
      };
  }
}

function keyOf({ key }: { key: string | null }): { key?: string } {
  return key === null ? {} : { key };
}

function emailOf(row: ActivityRow) {
  return {
    subject: row.subject,
    body: row.body,
    from: row.from_email,
    fromName: row.from_name,
    replyTo: row.reply_to && addressesIn(row.reply_to),
    toName: row.to_name,
    sourceType: row.source_type,
    campaignName: row.campaign_name,
    workflowName: row.workflow_name,
  };
}

function campaignOf(
  row: Pick<
    UpcomingRow,
    'campaign_name' | 'subject' | 'total_recipients' | 'segment_name' | 'audience_type'
  >,
) {
  return {
    campaignName: row.campaign_name,
    subject: row.subject,
    totalRecipients: row.total_recipients,
    segmentName: row.segment_name,
    audienceType: row.audience_type,
  };
}

export function presentUpcoming(row: UpcomingRow): Item {
  if (row.kind === 'campaign') return present(row, 'campaign.scheduled', campaignOf(row));
  const { workflow_name: workflowName, step_name: stepName, subject } = row;
  return row.is_email
    ? present(row, 'workflow.email.scheduled', { workflowName, ...keyOf(row), subject, stepName })
    : present(row, 'workflow.waiting', { workflowName, ...keyOf(row), stepName });
}

function present(
  row: { item_id: string; at: string; contact_id: string | null; contact_email: string | null },
  type: ActivityType,
  metadata: Record<string, unknown>,
): Item {
  return {
    id: row.item_id,
    type,
    timestamp: row.at,
    ...(row.contact_email === null ? {} : { contactEmail: row.contact_email }),
    ...(row.contact_id === null ? {} : { contactId: row.contact_id }),
    metadata,
  };
}
