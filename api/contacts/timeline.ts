import { z } from 'zod';
import { findContact } from '../../db/contacts/contacts.ts';
import {
  type JudgedColumns,
  listTimeline,
  type TimelineItem,
  timelineTypes,
} from '../../db/reads/timeline.ts';
import { reasonOfOutcome } from '../../domain/campaign/campaign.ts';
import { type CursorForm, encodeCursor } from '../../domain/cursor.ts';
import { found } from '../../domain/errors.ts';
import { holdOf } from '../../domain/outcomes/hold.ts';
import { outcomeOf } from '../../domain/outcomes/outcome.ts';
import type { NotStartedReason } from '../../domain/workflow/start.ts';
import { waitingText } from '../../domain/workflow/steps/wait-for-event.ts';
import { endpoint } from '../http/endpoint.ts';
import {
  cursorListOf,
  cursorQuery,
  JsonObject,
  named,
  Time,
  commaList,
  ById,
  time,
} from '../http/schemas.ts';

const Types = commaList(
  timelineTypes,
  `Must be one or more of ${timelineTypes.join(', ')}, separated by commas.`,
)
  .optional()
  .meta({ description: 'Comma-separated types; all by default' });

const TimelineEntry = named('TimelineEntry', {
  at: Time,
  type: z.enum(timelineTypes),
  title: z.string(),
  detail: JsonObject.meta({ type: 'object', additionalProperties: true }),
  links: z
    .object({
      email: z.uuid().optional(),
      execution: z.uuid().optional(),
      campaign: z.uuid().optional(),
      workflow: z.uuid().optional(),
    })
    .describe('Ids of the objects that the item is about'),
});

type Entry = z.input<typeof TimelineEntry>;

/**
 * The times in cursors have microseconds, because several items of one millisecond need an order.
 * So a page begins exactly where the previous page ended.
 */
const newestFirst: CursorForm = { order: 'timeline', value: 'instant' };

export const getTimeline = endpoint({
  id: 'listTimeline',
  method: 'GET',
  path: '/contacts/{id}/timeline',
  summary: 'List the timeline of a contact, newest first, with mail that did not reach it',
  description:
    'A cursor list of events, mail, executions, events that started none (type `not_started`, ' +
    'with `detail.reason`), changes of segments and subscriptions, and opt-in requests (type ' +
    '`consent`, with `detail.consent`). `not_reached` are campaigns and mail of workflows that ' +
    'should have reached this contact but did not, with `detail.reason` as in ' +
    'GET /campaigns/{id}/recipients/{contactId}. For these and for mail, `detail.reasonCode` ' +
    'says why it was not sent; null: it was sent. `detail.explanation` says which event an execution ' +
    'waits for, if that has conditions. A page can have fewer items than `limit`, ' +
    'or none, although `hasMore` is true. On the first page `total` is the number of ' +
    'all matches; on later pages it is 0.',
  access: 'secret',
  params: ById,
  query: cursorQuery(newestFirst).extend({ types: Types }),
  response: cursorListOf(TimelineEntry),
  problems: ['CONTACT_NOT_FOUND'],
  example: {
    response: {
      data: [
        {
          at: '2026-12-01T08:00:00.000Z',
          type: 'not_reached',
          title: 'Spring sale',
          detail: {
            reason: 'unsubscribed_at_freeze',
            reasonCode: 'unsubscribed_at_freeze',
            subject: 'Hello {{name ?? you}}',
          },
          links: { campaign: '7a9e4c1d-5b0e-4c51-8a27-2f6e1b3c4d05' },
        },
        {
          at: '2026-11-21T08:30:00.000Z',
          type: 'event',
          title: 'order_placed',
          detail: { data: { total: 42 } },
          links: {},
        },
      ],
      hasMore: false,
      total: 2,
    },
  },
  async handle({ db, caller, params: { id }, query: { cursor, limit, types } }) {
    const contact = found('CONTACT', id, await findContact(db, caller.projectId, id));
    const query = { types: types ?? timelineTypes, after: cursor, limit };
    const { items, next, total } = await listTimeline(db, contact, query);
    return {
      data: items.map(presentItem),
      ...(next && { cursor: encodeCursor(newestFirst, next) }),
      hasMore: next !== null,
      total,
    };
  },
});

function presentItem(item: TimelineItem): Entry {
  const { type } = item;
  const at = new Date(item.at).toISOString();
  switch (item.kind) {
    case 'event':
      return {
        at,
        type,
        title: titleOf(item.name, item.data),
        detail: { ...(type === 'event' ? {} : { event: item.name }), data: item.data },
        links: linksOf({ email: item.email_id }),
      };
    case 'email': {
      const { campaignId, executionId, workflowId, judged, ...mail } = item.mail;
      const { hold, outcome, reasonCode } = judge({ ...judged, ...mail });
      const reason = type === 'not_reached' && outcome ? { reason: reasonOfOutcome(outcome) } : {};
      const about = { campaign: campaignId, execution: executionId, workflow: workflowId };
      const links = linksOf({ email: item.id, ...about });
      const detail = { ...reason, reasonCode, ...mail, ...(hold && { hold }) };
      return { at, type, title: mail.subject, detail, links };
    }
    case 'execution': {
      const { workflowId: workflow, workflowName: title, key, waiting, ...other } = item.execution;
      const explanation = waiting && waitingText(waiting);
      const detail = {
        ...(key !== null && { key }),
        ...other,
        ...(explanation !== null && { explanation }),
      };
      return { at, type, title, detail, links: linksOf({ execution: item.id, workflow }) };
    }
    case 'not_started': {
      const { workflowId: workflow, workflowName, ...detail } = item.notStarted;
      const title = `${workflowName} did not start: ${notStartedTitles[detail.reason]}`;
      return { at, type, title, detail, links: linksOf({ workflow }) };
    }
    case 'opt_in': {
      const { state: consent, topics, endedAt } = item.optIn;
      const detail = { consent, topics, ...(endedAt && { endedAt }) };
      return { at, type, title: optInTitles[consent], detail, links: {} };
    }
    case 'campaign': {
      const { id: campaign, name: title, subject, reason } = item.campaign;
      const detail = { reason, reasonCode: reason, subject };
      return { at, type, title, detail, links: linksOf({ campaign }) };
    }
  }
}

const notStartedTitles: Record<NotStartedReason, string> = {
  no_key: 'the event has no execution key',
  key_too_long: 'the execution key of the event is too long',
  too_many: 'too many executions of the contact are active',
};

const optInTitles = {
  pending: 'Opt-in: not confirmed yet',
  confirmed: 'Opt-in: confirmed',
  expired: 'Opt-in: expired without confirmation',
};

/** Returns the outcome of a message. `hold` is the reason why the message is not due yet. */
function judge(mail: JudgedColumns & { status: string; error: string | null }) {
  const toDate = (time: string | null) => (time === null ? null : new Date(time));
  const columns = {
    ...mail,
    scheduled_for: toDate(mail.scheduled_for),
    retry_at: toDate(mail.retry_at),
    held_until: toDate(mail.held_until),
  };
  const now = new Date();
  const hold = holdOf(columns, now);
  const isReceived = mail.status === 'RECEIVED';
  return {
    hold: hold && { reason: hold.reason, until: time(hold.until) },
    ...(isReceived ? { outcome: null, reasonCode: null } : outcomeOf(columns, now)),
  };
}

/** Returns a sentence for an event of Everpost itself, and the name of any other event. */
function titleOf(name: string, data: Record<string, unknown> | null): string {
  if (name === 'contact.subscribed') return 'Subscribed';
  if (name === 'contact.unsubscribed') return 'Unsubscribed';
  const topic = data?.['topic'];
  if (name.startsWith('contact.topic.') && typeof topic === 'string') {
    return name.endsWith('.subscribed') ? `Joined the topic ${topic}` : `Left the topic ${topic}`;
  }
  const segment = data?.['segmentName'];
  if (!name.startsWith('segment.') || typeof segment !== 'string') return name;
  return name.endsWith('.entry') ? `Entered the segment ${segment}` : `Left the segment ${segment}`;
}

function linksOf(ids: Record<string, string | null>): Entry['links'] {
  return Object.fromEntries(Object.entries(ids).filter(([, id]) => id !== null));
}
