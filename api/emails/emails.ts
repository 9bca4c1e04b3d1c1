import { z } from 'zod';
import { findEmail, listEmails as listEmailRows } from '../../db/emails/records.ts';
import { listEngagement } from '../../db/engagement/engagement.ts';
import { verdictRules, verdicts } from '../../domain/engagement/verdict.ts';
import { found } from '../../domain/errors.ts';
import type { CursorForm } from '../../domain/cursor.ts';
import { limits } from '../../domain/limits.ts';
import { readActors } from '../actors/actor.ts';
import { endpoint } from '../http/endpoint.ts';
import type { Services } from '../services/services.ts';
import {
  cursorListOf,
  cursorQuery,
  Email as EmailAddress,
  Moment,
  named,
  presentCursorList,
  time,
  Uuid,
  queryBoolean,
  ById,
  Time,
} from '../http/schemas.ts';
import type { Project } from '../access/caller.ts';
import {
  EmailStatus,
  emailExample,
  EmailSummary,
  presentEmail,
  SourceType,
  Trace,
} from './record.ts';

/** The messages of a project, each with its outcome and the reason. */

/**
 * The body is stored, and not rendered again after its deletion, because it would show the
 * contact's current data.
 */
const bodyIsNull =
  'null: the body is not rendered yet, or was deleted after its retention time. Or a worker ' +
  'stopped while it sent a campaign, before the body was recorded: then the trace has `settled`, ' +
  "and the subject is the campaign's template";

export const Email = named('Email', {
  ...EmailSummary.shape,
  body: z.string().nullable().describe(bodyIsNull),
  trace: Trace,
  engagement: z
    .array(
      z.object({
        at: Time,
        kind: z.enum(['open', 'click']),
        link: z.string().nullable().describe('The target of the link'),
        linkId: z.string().nullable(),
        verdict: z.enum(verdicts).nullable().describe('Who made it; null: not judged yet'),
        rule: z.enum(verdictRules).nullable().describe('The rule that gave the verdict'),
      }),
    )
    .describe('Opens and clicks, oldest first; the newest 200'),
});

/**
 * Reads one message.
 * @throws Problem EMAIL_NOT_FOUND
 */
export async function readEmail(
  { db, config }: Pick<Services, 'db' | 'config'>,
  project: Project,
  id: string,
): Promise<z.input<typeof Email>> {
  const row = found('EMAIL', id, await findEmail(db, project.id, id));
  const shown = row.opens + row.clicks > 0 ? await listEngagement(db, id) : [];
  const presentActor = await readActors(db, [row.caused_by]);
  const causedBy = presentActor(row.caused_by);
  const detail = causedBy && { causedBy };
  const queued = { at: time(row.created_at), state: 'queued' as const, detail };
  return {
    ...presentEmail(row, { project, apiUrl: config.apiUrl, presentActor }, row.body),
    body: row.body,
    trace: [queued, ...row.trace],
    engagement: shown.map((one) => ({ ...one, at: time(one.at) })),
  };
}

/** Example for the documentation: a scheduled message. */
export const waitingExample: z.input<typeof Email> = {
  ...emailExample,
  messageId: null,
  status: 'PENDING',
  sentAt: null,
  deliveredAt: null,
  scheduledFor: '2026-12-01T09:00:00.000Z',
  hold: { reason: 'schedule', until: '2026-12-01T09:00:00.000Z' },
  body: '<p>Hi Ada</p>',
  engagement: [],
  trace: [
    { at: '2026-11-20T10:00:00.000Z', state: 'queued', detail: null },
    {
      at: '2026-11-20T10:00:00.000Z',
      state: 'scheduled',
      detail: { for: '2026-12-01T09:00:00.000Z' },
    },
  ],
};

const newestFirst: CursorForm = { order: 'emails', value: 'time' };

const listEmails = endpoint({
  id: 'listEmails',
  method: 'GET',
  path: '/emails',
  summary: 'List the mail of the project, newest first',
  description:
    'A cursor list of all mail, without bodies: mail of campaigns, workflows and /v1/send, ' +
    'and received mail. On the first page `total` is the number of ' +
    'all matches; on later pages it is 0. ' +
    'STATS_TOO_HEAVY: the search for a text took longer than 20 seconds.',
  access: 'secret',
  problems: ['STATS_TOO_HEAVY'],
  query: cursorQuery(newestFirst).extend({
    contactId: Uuid.optional(),
    campaignId: Uuid.optional(),
    executionId: Uuid.optional(),
    templateId: Uuid.optional().describe('Made from this template'),
    email: EmailAddress.optional().describe('The whole address of the recipient, in any case'),
    search: z
      .string()
      .min(1)
      .max(limits.searchChars)
      .optional()
      .describe('Part of the address of the recipient, or of the subject, in any case'),
    createdAfter: Moment.optional().describe('Queued at this time or later'),
    createdBefore: Moment.optional().describe('Queued before this time'),
    status: EmailStatus.optional(),
    sourceType: SourceType.optional(),
    scheduled: queryBoolean.optional().describe('Only mail with, or without, a `scheduledFor`'),
  }),
  response: cursorListOf(EmailSummary),
  example: { response: { data: [emailExample], hasMore: false, total: 1 } },
  async handle({ db, config, caller, query: { cursor, limit, ...filters } }) {
    const { rows, total } = await listEmailRows(db, caller.projectId, {
      ...filters,
      after: cursor,
      limit: limit + 1,
    });
    const presentActor = await readActors(
      db,
      rows.map((row) => row.caused_by),
    );
    const shown = { project: caller.project, apiUrl: config.apiUrl, presentActor };
    return presentCursorList(rows, {
      form: newestFirst,
      limit,
      total,
      position: (row) => ({ value: time(row.created_at), id: row.id }),
      present: (row) => presentEmail(row, shown),
    });
  },
});

const getEmail = endpoint({
  id: 'getEmail',
  method: 'GET',
  path: '/emails/{id}',
  summary: 'Get one mail with its body and its history',
  description:
    '`body` is the body as sent; it is null after its retention time. `trace` lists every ' +
    'state with its time and reason.',
  access: 'secret',
  params: ById,
  response: Email,
  problems: ['EMAIL_NOT_FOUND'],
  example: {
    response: {
      ...emailExample,
      body: '<p>Hi Ada</p>',
      trace: [
        { at: '2026-11-20T10:00:00.000Z', state: 'queued', detail: null },
        { at: '2026-11-20T10:00:01.000Z', state: 'handed_over', detail: null },
        { at: '2026-11-20T10:00:01.000Z', state: 'accepted', detail: null },
        { at: '2026-11-20T10:00:02.000Z', state: 'delivered', detail: null },
      ],
      engagement: [],
    },
  },
  async handle({ db, config, caller, params: { id } }) {
    return readEmail({ db, config }, caller.project, id);
  },
});

export const emailEndpoints = [listEmails, getEmail];
