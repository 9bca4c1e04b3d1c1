import { z } from 'zod';
import {
  type EmailSummary as EmailSummaryRow,
  findEmail,
  listEmails as listEmailRows,
} from '../../db/emails/records.ts';
import { classHeaders, type MessageClass } from '../../domain/mail/class-headers.ts';
import { found } from '../../domain/errors.ts';
import { optOutUrls } from '../../domain/mail/content.ts';
import type { CursorForm } from '../../domain/cursor.ts';
import { endpoint } from '../http/endpoint.ts';
import {
  cursorListOf,
  cursorQuery,
  JsonObject,
  named,
  presentCursorList,
  Time,
  time,
  Uuid,
} from '../http/schemas.ts';

/** Every message, its outcome, and why. */

const tag = 'Emails';

const EmailStatus = z.enum([
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
const SourceType = z.enum(['TRANSACTIONAL', 'CAMPAIGN', 'WORKFLOW', 'INBOUND']);

const EmailSummary = named('EmailSummary', {
  id: z.uuid(),
  projectId: z.uuid(),
  contactId: z.uuid(),
  toName: z.string().nullable(),
  toEmail: z.string(),
  subject: z.string(),
  from: z.string(),
  fromName: z.string().nullable(),
  replyTo: z.string().nullable(),
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
  messageId: z.string().nullable().describe('Of the provider'),
  sourceType: SourceType,
  templateId: z.uuid().nullable(),
  campaignId: z.uuid().nullable(),
  workflowExecutionId: z.uuid().nullable(),
  workflowStepExecutionId: z.uuid().nullable(),
  status: EmailStatus,
  sentAt: Time.nullable(),
  deliveredAt: Time.nullable(),
  openedAt: Time.nullable(),
  clickedAt: Time.nullable(),
  bouncedAt: Time.nullable(),
  complainedAt: Time.nullable(),
  opens: z.int(),
  clicks: z.int(),
  error: z.string().nullable(),
  createdAt: Time,
  updatedAt: Time,
});

const Trace = z
  .array(
    z.object({
      at: Time,
      state: z.enum([
        'queued',
        'throttled',
        'handed_over',
        'accepted',
        'refused',
        'uncertain',
        'settled',
        'delivered',
        'opened',
        'clicked',
        'bounced',
        'complained',
        'withheld',
      ]),
      detail: JsonObject.meta({ type: 'object', additionalProperties: true }).nullable(),
    }),
  )
  .describe('Every state it went through and why, oldest first');

/** For the documentation. */
const example: z.input<typeof EmailSummary> = {
  id: 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21',
  projectId: '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01',
  contactId: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
  toName: null,
  toEmail: 'ada@shop.example',
  subject: 'Hi Ada',
  from: 'team@shop.example',
  fromName: 'The Shop',
  replyTo: null,
  headers: [],
  attachments: [],
  messageId: '0100019ab2c3d4e5-6f7a8b9c',
  sourceType: 'TRANSACTIONAL',
  templateId: null,
  campaignId: null,
  workflowExecutionId: null,
  workflowStepExecutionId: null,
  status: 'DELIVERED',
  sentAt: '2026-11-21T08:30:01.000Z',
  deliveredAt: '2026-11-21T08:30:02.000Z',
  openedAt: null,
  clickedAt: null,
  bouncedAt: null,
  complainedAt: null,
  opens: 0,
  clicks: 0,
  error: null,
  createdAt: '2026-11-21T08:30:00.000Z',
  updatedAt: '2026-11-21T08:30:02.000Z',
};

/** Such a body cannot be rendered again: it would show the contact's current state. */
const bodyIsNull =
  'null: not made yet, removed after its time, or never kept: a message of a campaign whose ' +
  'sender died before it could record it, which the trace shows as `settled`; its subject is ' +
  'then the template of the campaign';

const newestFirst: CursorForm = { order: 'emails', value: 'time' };

export const listEmails = endpoint({
  id: 'listEmails',
  method: 'GET',
  path: '/emails',
  tag,
  summary: 'List the mail of the project, newest first',
  description:
    'A cursor list of all mail, without bodies: that of campaigns, workflows and /v1/send, ' +
    'and mail received. `total` counts all matches on the first page and is 0 on later ones.',
  access: 'secret',
  query: cursorQuery(newestFirst).extend({
    contactId: Uuid.optional(),
    campaignId: Uuid.optional(),
    executionId: Uuid.optional(),
    status: EmailStatus.optional(),
    sourceType: SourceType.optional(),
  }),
  response: cursorListOf(EmailSummary),
  example: { response: { data: [example], hasMore: false, total: 1 } },
  async handle({ db, config, caller, query: { cursor, limit, ...filters } }) {
    const { rows, total } = await listEmailRows(db, caller.projectId, {
      ...filters,
      after: cursor,
      limit: limit + 1,
    });
    return presentCursorList(rows, {
      form: newestFirst,
      limit,
      total,
      position: (row) => ({ value: time(row.created_at), id: row.id }),
      present: (row) => presentEmail(row, config.apiUrl),
    });
  },
});

export const getEmail = endpoint({
  id: 'getEmail',
  method: 'GET',
  path: '/emails/{id}',
  tag,
  summary: 'Get one mail with its body and all it went through',
  description:
    '`body` is as it was sent; it is null once its time of keeping is over. `trace` lists ' +
    'every state with its time and reason.',
  access: 'secret',
  params: z.object({ id: Uuid }),
  response: named('Email', {
    ...EmailSummary.shape,
    body: z.string().nullable().describe(bodyIsNull),
    trace: Trace,
  }),
  problems: ['EMAIL_NOT_FOUND'],
  example: {
    response: {
      ...example,
      body: '<p>Hi Ada</p>',
      trace: [
        { at: '2026-11-21T08:30:00.000Z', state: 'queued', detail: null },
        { at: '2026-11-21T08:30:01.000Z', state: 'handed_over', detail: null },
        { at: '2026-11-21T08:30:01.000Z', state: 'accepted', detail: null },
        { at: '2026-11-21T08:30:02.000Z', state: 'delivered', detail: null },
      ],
    },
  },
  async handle({ db, config, caller, params: { id } }) {
    const row = found('EMAIL', id, await findEmail(db, caller.projectId, id));
    const queued = { at: time(row.created_at), state: 'queued' as const, detail: null };
    return {
      ...presentEmail(row, config.apiUrl, row.body),
      body: row.body,
      trace: [queued, ...row.trace],
    };
  },
});

export const emailEndpoints = [listEmails, getEmail];

/** @param body if it was read; some headers of older rows follow from it. */
function presentEmail(
  row: EmailSummaryRow,
  apiUrl: string,
  body: string | null = null,
): z.input<typeof EmailSummary> {
  return {
    id: row.id,
    projectId: row.project_id,
    contactId: row.contact_id,
    toName: row.to_name,
    toEmail: row.to_email,
    subject: row.subject,
    from: row.from_email,
    fromName: row.from_name,
    replyTo: row.reply_to,
    headers: row.campaign_id ? campaignHeaders(row, apiUrl, body) : row.headers,
    attachments: row.attachments.map(
      ({ filename, contentType, disposition, contentId, bytes }) => ({
        filename,
        contentType,
        disposition,
        contentId,
        bytes,
      }),
    ),
    messageId: row.message_id,
    sourceType: row.source_type as z.input<typeof SourceType>,
    templateId: row.template_id,
    campaignId: row.campaign_id,
    workflowExecutionId: row.workflow_execution_id,
    workflowStepExecutionId: row.workflow_step_execution_id,
    status: row.status as z.input<typeof EmailStatus>,
    sentAt: time(row.sent_at),
    deliveredAt: time(row.delivered_at),
    openedAt: time(row.opened_at),
    clickedAt: time(row.clicked_at),
    bouncedAt: time(row.bounced_at),
    complainedAt: time(row.complained_at),
    opens: row.opens,
    clicks: row.clicks,
    error: row.error,
    createdAt: time(row.created_at),
    updatedAt: time(row.updated_at),
  };
}

/**
 * A campaign message's headers are stored only where its class does not determine them. A marketing
 * message's headers are known even without its body: they are always the same.
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
    unsubscribeUrl: optOutUrls(apiUrl, row.contact_id, row.id).unsubscribeUrl,
  });
}
