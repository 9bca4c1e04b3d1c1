import { z } from 'zod';
import {
  countActivity,
  countRecentActivity,
  listActivity,
  listUpcoming,
} from '../../db/reads/activity.ts';
import { listEventCounts } from '../../db/events/statistics.ts';
import { activityTypes, isItemId, pastTypes } from '../../domain/activity.ts';
import { type CursorForm, encodeCursor } from '../../domain/cursor.ts';
import { unitMs } from '../../domain/filter/filter.ts';
import { limits } from '../../domain/limits.ts';
import {
  activityExample,
  upcomingExample,
  ActivityItem,
  presentActivity,
  presentUpcoming,
} from './record.ts';
import { periodOf, rangeQuery } from './date-range.ts';
import { endpoint } from '../http/endpoint.ts';
import { cursorQuery, queryInt, Uuid, commaList } from '../http/schemas.ts';

const Types = commaList(
  activityTypes,
  'Must be one or more of the types that GET /activity/types lists, separated by commas.',
)
  .optional()
  .meta({ description: 'Comma-separated types; all by default' });

/** The cursor of an empty page has an empty id. */
const feedOrder: CursorForm = {
  order: 'activity',
  value: 'time',
  isId: (id) => id === '' || isItemId(id),
};

export const getActivity = endpoint({
  id: 'listActivity',
  method: 'GET',
  path: '/activity',
  summary: 'List the activity, newest first; without dates the first page shows 30 days',
  description:
    'A cursor list of at most 100 items a page, by default 50. The cursor also continues to ' +
    'items older than 30 days.',
  access: 'secret',
  query: rangeQuery({
    limit: queryInt(1, limits.activityPage, limits.activityPageDefault),
    cursor: cursorQuery(feedOrder).shape.cursor,
    types: Types,
    contactId: Uuid.optional(),
  }),
  response: z.object({
    data: z.array(ActivityItem),
    cursor: z.string().optional(),
    hasMore: z.boolean(),
  }),
  example: { response: { data: [activityExample], hasMore: false } },
  async handle({ db, caller, query }) {
    const { startDate, endDate, cursor, types, contactId, limit } = query;
    // Without dates, the first page shows only 30 days. Older rows are read, too, because they show
    // if there is a next page.
    const { rows, hasMore: goesOn } = await listActivity(db, caller.projectId, {
      types: types ? pastTypes.filter((type) => types.includes(type)) : pastTypes,
      contactId,
      from: startDate ?? null,
      to: endDate ?? null,
      after: cursor ? { at: new Date(cursor.value), id: cursor.id } : null,
      limit,
    });
    const isUnbounded = cursor !== undefined || startDate !== undefined || endDate !== undefined;
    const from = isUnbounded ? null : periodOf(query, new Date()).from;
    const shown = rows.filter(({ at }) => !from || at >= from.toISOString());
    const hasMore = goesOn || rows.length > shown.length;
    const last = shown.at(-1);
    const end = { value: last?.at ?? from?.toISOString() ?? '', id: last?.item_id ?? '' };
    return {
      data: shown.map(presentActivity),
      ...(hasMore ? { cursor: encodeCursor(feedOrder, end) } : {}),
      hasMore,
    };
  },
});

export const getActivityStats = endpoint({
  id: 'getActivityStats',
  method: 'GET',
  path: '/activity/stats',
  summary: 'Count the activity, by default in the last 30 days',
  description:
    'Rates are percentages of the mail sent in the range, not rounded and at most 100; 0 when ' +
    'nothing was sent.',
  access: 'secret',
  query: rangeQuery({}),
  response: z.object({
    totalEvents: z.int().describe('All events, including system events'),
    totalEmailsSent: z.int(),
    totalEmailsOpened: z.int(),
    totalEmailsClicked: z.int(),
    totalWorkflowsStarted: z.int(),
    openRate: z.number().min(0).max(100).describe('Percent of sent'),
    clickRate: z.number().min(0).max(100).describe('Percent of sent'),
  }),
  example: {
    response: {
      totalEvents: 812,
      totalEmailsSent: 200,
      totalEmailsOpened: 80,
      totalEmailsClicked: 16,
      totalWorkflowsStarted: 12,
      openRate: 40,
      clickRate: 8,
    },
  },
  async handle({ db, caller: { projectId }, query }) {
    const period = periodOf(query, new Date());
    const types = ['email.sent', 'email.opened', 'email.clicked', 'workflow.started'] as const;
    const [events, counts] = await Promise.all([
      listEventCounts(db, projectId, period),
      countActivity(db, projectId, types, period),
    ]);
    // Mail sent before a period may be opened in the period, so rates are limited to 100 %.
    const rate = (count: number) =>
      counts['email.sent'] === 0 ? 0 : Math.min(100, (count / counts['email.sent']) * 100);
    return {
      totalEvents: events.reduce((sum, { count }) => sum + count, 0),
      totalEmailsSent: counts['email.sent'],
      totalEmailsOpened: counts['email.opened'],
      totalEmailsClicked: counts['email.clicked'],
      totalWorkflowsStarted: counts['workflow.started'],
      openRate: rate(counts['email.opened']),
      clickRate: rate(counts['email.clicked']),
    };
  },
});

export const getRecentCount = endpoint({
  id: 'countRecentActivity',
  method: 'GET',
  path: '/activity/recent-count',
  summary: 'Count the items of the last minutes',
  description: '`minutes` is 1 to 60, by default 5.',
  access: 'secret',
  query: z.object({
    minutes: queryInt(1, limits.activityMinutes, limits.activityMinutesDefault),
  }),
  response: z.object({ count: z.int(), minutes: z.int() }),
  example: { response: { count: 12, minutes: 5 } },
  async handle({ db, caller, query: { minutes } }) {
    const from = new Date(Date.now() - minutes * unitMs.minutes);
    return { count: await countRecentActivity(db, caller.projectId, from), minutes };
  },
});

export const getActivityTypes = endpoint({
  id: 'listActivityTypes',
  method: 'GET',
  path: '/activity/types',
  summary: 'List the types of items',
  description: 'The valid values of `types` in GET /activity.',
  access: 'secret',
  response: z.object({ types: z.array(z.string()) }),
  example: { response: { types: [...activityTypes] } },
  async handle() {
    return { types: [...activityTypes] };
  },
});

export const getUpcoming = endpoint({
  id: 'listUpcomingActivity',
  method: 'GET',
  path: '/activity/upcoming',
  summary: 'List upcoming activity, soonest first',
  description:
    'Scheduled campaigns, and steps of executions whose time is set, in the next `daysAhead` ' +
    'days (1 to 90, by default 30). At most 100 items, by default 50.',
  access: 'secret',
  query: z.object({
    limit: queryInt(1, limits.activityPage, limits.activityPageDefault),
    daysAhead: queryInt(1, limits.activityDaysAhead, limits.activityDaysAheadDefault),
  }),
  response: z.object({ activities: z.array(ActivityItem) }),
  example: { response: { activities: [upcomingExample] } },
  async handle({ db, caller, query: { limit, daysAhead } }) {
    const from = new Date();
    const to = new Date(from.getTime() + daysAhead * unitMs.days);
    const rows = await listUpcoming(db, caller.projectId, { from, to, limit });
    return { activities: rows.map(presentUpcoming) };
  },
});

export const activityEndpoints = [
  getActivity,
  getActivityStats,
  getRecentCount,
  getActivityTypes,
  getUpcoming,
];
