import { z } from 'zod';
import type { EmailSummary as EmailSummaryRow } from '../../db/emails/records.ts';
import { addressesIn } from '../../domain/email-address.ts';
import { optOutUrls } from '../../domain/mail/content.ts';
import { holdOf, holdReasons } from '../../domain/outcomes/hold.ts';
import { outcomeOf, outcomes, reasonCodes } from '../../domain/outcomes/outcome.ts';
import { Actor, type readActors } from '../actors/actor.ts';
import { Contact } from '../contacts/record.ts';
import { exampleOf, present } from '../http/record.ts';
import { JsonObject, Time, named, ofProject, time, times } from '../http/schemas.ts';
import type { OwnerProject } from '../access/caller.ts';
import { type MessageClass, classHeaders } from '../../domain/mail/headers.ts';

export const EmailStatus = z.enum([
  'PENDING',
  'SENDING',
  'SENT',
  'DELIVERED',
  'OPENED',
  'CLICKED',
  'BOUNCED',
  'COMPLAINED',
  'FAILED',
  'RECEIVED',
]);
export const SourceType = z.enum(['TRANSACTIONAL', 'CAMPAIGN', 'WORKFLOW', 'INBOUND']);

export const ReasonCode = z.enum([...new Set(Object.values(reasonCodes).flat())]);

export const EmailSummary = named('EmailSummary', {
  id: z.uuid().meta({ examples: ['c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21'] }),
  projectId: ofProject.projectId,
  contactId: Contact.shape.id,
  toName: z.string().nullable(),
  toEmail: Contact.shape.email,
  subject: z.string().meta({ examples: ['Hi Ada'] }),
  from: z.string().meta({ examples: ['team@shop.example'] }),
  fromName: z
    .string()
    .nullable()
    .meta({ examples: ['The Shop'] }),
  replyTo: z.string().nullable().describe('The addresses of Reply-To, separated by commas'),
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
  attachments: z.array(
    z.object({
      filename: z.string(),
      contentType: z.string(),
      disposition: z.enum(['attachment', 'inline']),
      contentId: z.string().nullable(),
      bytes: z.int(),
    }),
  ),
  messageId: z.string().nullable().describe("The provider's id of the message"),
  sourceType: SourceType,
  templateId: z.uuid().nullable(),
  campaignId: z.uuid().nullable(),
  arm: z.string().optional().describe('Its arm in an experiment of the campaign'),
  workflowExecutionId: z.uuid().nullable(),
  workflowStepExecutionId: z.uuid().nullable(),
  causedBy: Actor.nullable().describe(
    'Who sent it, sent its campaign or caused its execution; null: not known',
  ),
  topicId: z.uuid().optional(),
  providerId: z.string().optional().describe('Its mail provider, if a route has chosen one'),
  scheduledFor: Time.nullable().describe('The requested send time; null: at once'),
  hold: named('Hold', { reason: z.enum(holdReasons), until: Time.nullable() })
    .nullable()
    .describe('Why it is PENDING and not due yet; the last reason, if there are several'),
  status: EmailStatus,
  sentAt: Time.nullable(),
  deliveredAt: Time.nullable(),
  openedAt: Time.nullable(),
  clickedAt: Time.nullable(),
  humanOpenedAt: Time.optional().describe('The first open by a person'),
  humanClickedAt: Time.optional().describe('The first click by a person'),
  bouncedAt: Time.nullable(),
  complainedAt: Time.nullable(),
  opens: z.int(),
  clicks: z.int(),
  error: z.string().nullable(),
  outcome: z.enum(outcomes).nullable().describe('null: received'),
  reasonCode: ReasonCode.nullable().describe('Why it was not sent; null: it was sent or received'),
  ...times,
});

export const Trace = z
  .array(
    z.object({
      at: Time,
      state: z.enum([
        'queued',
        'rendered_plainly',
        'scheduled',
        'held',
        'throttled',
        'routed',
        'handed_over',
        'accepted',
        'refused',
        'uncertain',
        'settled',
        'delivered',
        'delayed',
        'opened',
        'clicked',
        'bounced',
        'complained',
        'withheld',
        'released',
        'retried',
      ]),
      detail: JsonObject.meta({ type: 'object', additionalProperties: true }).nullable(),
    }),
  )
  .describe('Every state it had and why, oldest first');

export const emailExample = {
  ...exampleOf(EmailSummary),
  messageId: '0100019ab2c3d4e5-6f7a8b9c',
  status: 'DELIVERED',
  outcome: 'sent',
  reasonCode: null,
  sentAt: '2026-11-20T10:00:01.000Z',
  deliveredAt: '2026-11-20T10:00:02.000Z',
} as const;

/**
 * Presents a message.
 * @param shown.presentActor presents the actors of all messages of the response
 * @param body null: the body was not read. Some headers are not stored, and depend on the body.
 */
export function presentEmail(
  row: EmailSummaryRow,
  shown: {
    project: OwnerProject;
    apiUrl: string;
    presentActor: Awaited<ReturnType<typeof readActors>>;
  },
  body: string | null = null,
) {
  const { apiUrl, presentActor } = shown;
  const now = new Date();
  const hold = holdOf(row, now);
  const isReceived = row.status === 'RECEIVED';
  return present(EmailSummary, row, {
    projectId: shown.project.publicId,
    causedBy: presentActor(row.caused_by),
    ...(isReceived ? { outcome: null, reasonCode: null } : outcomeOf(row, now)),
    replyTo: row.reply_to && addressesIn(row.reply_to),
    hold: hold && { ...hold, until: time(hold.until) },
    from: row.from_email,
    topicId: row.topic_id ?? undefined,
    providerId: row.provider_id ?? undefined,
    humanOpenedAt: row.human_opened_at?.toISOString(),
    humanClickedAt: row.human_clicked_at?.toISOString(),
    arm: row.arm ?? undefined,
    headers: row.campaign_id ? campaignHeaders(row, apiUrl, body) : row.headers,
  });
}

/**
 * Returns the headers of a campaign message. Headers are stored only if they do not follow from the
 * class of the message. The headers of marketing mail do not depend on the body, so they are known
 * after the deletion of the body, too.
 */
function campaignHeaders(row: EmailSummaryRow, apiUrl: string, body: string | null) {
  if (row.headers.length > 0) return row.headers;
  const isKnown = row.has_body || (row.sent_at !== null && row.message_class === 'MARKETING');
  if (!isKnown) return [];
  return classHeaders({
    messageClass: row.message_class as MessageClass,
    sourceType: 'CAMPAIGN',
    body: body ?? '',
    contactId: row.contact_id,
    unsubscribeUrl: optOutUrls(apiUrl, row.contact_id, row.id, row.topic_key).unsubscribeUrl,
  });
}
