import { z } from 'zod';
import {
  campaignMetrics,
  findCampaignStats,
  listTopCampaigns,
} from '../../db/reads/analytics/totals.ts';
import { countKinds, type SeriesPart } from '../../db/reads/analytics/series.ts';
import { listTopEvents } from '../../db/events/statistics.ts';
import { limits } from '../../domain/limits.ts';
import { daysOf, rangeQuery } from './date-range.ts';
import { getSeries } from './series.ts';
import { lastOfDay, startOfLastDays, zonedBounds, zonedRangeQuery } from './zoned-range.ts';
import { endpoint } from '../http/endpoint.ts';
import { queryInt } from '../http/schemas.ts';
import { invalidField } from '../../domain/errors.ts';
import { Zone } from '../../domain/time/schemas.ts';
import { startsWithin, wallTimeAt } from '../../domain/time/zones.ts';

/**
 * All statistics use whole days, including the first and the last; by default the last 30 days. The
 * days are in UTC, unless a query has a time zone.
 */

const Rate = z.number().min(0);

const DayQuery = zonedRangeQuery({ timeZone: Zone.default('UTC').describe('Zone of the days') });

/**
 * Returns the days of a query, as whole days of its time zone.
 * @throws Problem VALIDATION_ERROR
 */
function daysIn(query: z.output<typeof DayQuery>): SeriesPart[] {
  const { timeZone: zone } = query;
  const { from: first, to = new Date() } = zonedBounds(query, zone);
  const from = first ?? startOfLastDays(zone, to);
  const period = { from, to: from > to ? from : to };
  const starts = startsWithin({ zone, interval: 'day' }, period, limits.analyticsDays);
  if (!starts) {
    const message = `The range from \`startDate\` to \`endDate\` (by default today) must have at most ${limits.analyticsDays} days.`;
    throw invalidField('startDate', 'too_big', message);
  }
  return starts.map((start) => ({ from: start, to: lastOfDay(zone, start) }));
}

/**
 * Returns the date in a time zone: `2026-11-21`. From the year 10000 on, the date begins with a
 * sign: `+010000-01-01`.
 */
function dateAt(zone: string, instant: Date): string {
  const { year, month, day } = wallTimeAt(zone, instant);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.toISOString().split('T', 1)[0] ?? '';
}

const dayKinds = ['sent', 'opened', 'clicked', 'bounced', 'delivered'] as const;

export const getTimeseries = endpoint({
  id: 'getEmailTimeseries',
  method: 'GET',
  path: '/analytics/timeseries',
  summary: 'Count the outcomes of emails by day',
  description:
    'One item for each day, the oldest first, also for days without mail; by default the last 30 ' +
    'days, at most 90. A date-time means its whole day. Each outcome counts on the day on which it ' +
    'happened, so an open may be on a later day than its email. STATS_TOO_HEAVY: counting took longer ' +
    `than ${limits.statsTimeMs / 1000} seconds; ask for fewer days.`,
  access: 'secret',
  query: DayQuery,
  response: z.array(
    z.object({
      date: z.string().meta({ format: 'date' }),
      emails: z.int(),
      opens: z.int(),
      clicks: z.int(),
      bounces: z.int(),
      delivered: z.int(),
    }),
  ),
  example: {
    response: [{ date: '2026-11-21', emails: 4, opens: 2, clicks: 1, bounces: 1, delivered: 3 }],
  },
  problems: ['STATS_TOO_HEAVY'],
  async checkBeside({ query }) {
    daysIn(query);
  },
  async handle({ db, caller, query }) {
    const days = daysIn(query);
    const counts = await countKinds(db, caller.projectId, dayKinds, days);
    return counts.map((count, index) => ({
      date: dateAt(query.timeZone, days[index]!.from),
      emails: count.sent,
      opens: count.opened,
      clicks: count.clicked,
      bounces: count.bounced,
      delivered: count.delivered,
    }));
  },
});

export const getTopCampaigns = endpoint({
  id: 'listTopCampaigns',
  method: 'GET',
  path: '/analytics/top-campaigns',
  summary: 'List the best sent campaigns',
  description:
    'At most 50, by default 10, the best by `metric` first. The range is of whole UTC days, ' +
    'by default the last 30. Rates are percentages of `sentCount`.',
  access: 'secret',
  query: rangeQuery({
    limit: queryInt(1, limits.topCampaigns, limits.topCampaignsDefault),
    metric: z.enum(campaignMetrics).default('openedCount'),
  }),
  response: z.array(
    z.object({
      id: z.uuid(),
      name: z.string(),
      subject: z.string(),
      sentCount: z.int(),
      openedCount: z.int(),
      clickedCount: z.int(),
      openRate: Rate,
      clickRate: Rate,
    }),
  ),
  example: {
    response: [
      {
        id: '7a9e4c1d-5b0e-4c51-8a27-2f6e1b3c4d05',
        name: 'Spring sale',
        subject: 'Hello {{name ?? you}}',
        sentCount: 125,
        openedCount: 50,
        clickedCount: 10,
        openRate: 40,
        clickRate: 8,
      },
    ],
  },
  async handle({ db, caller, query }) {
    const range = daysOf(query, new Date());
    return listTopCampaigns(db, caller.projectId, { ...query, ...range });
  },
});

export const getCampaignOverview = endpoint({
  id: 'getCampaignOverview',
  method: 'GET',
  path: '/analytics/campaign-stats',
  summary: 'Get a summary of the created campaigns',
  description:
    'The range is of whole UTC days, by default the last 30. Rates are percentages of mails ' +
    'sent.',
  access: 'secret',
  query: rangeQuery({}),
  response: z.object({
    total: z.int(),
    active: z.int().describe('SCHEDULED, SENDING or PAUSED'),
    completed: z.int(),
    averageOpenRate: Rate,
    averageClickRate: Rate,
  }),
  example: {
    response: { total: 3, active: 1, completed: 2, averageOpenRate: 41.7, averageClickRate: 8.3 },
  },
  async handle({ db, caller, query }) {
    return findCampaignStats(db, caller.projectId, daysOf(query, new Date()));
  },
});

export const getTopEvents = endpoint({
  id: 'listTopEvents',
  method: 'GET',
  path: '/analytics/top-events',
  summary: 'List the most frequent events, each with its trend',
  description:
    'At most 20, by default 5. The range is of whole UTC days, by default the last 30. ' +
    '`trend` is in percent.',
  access: 'secret',
  query: rangeQuery({ limit: queryInt(1, limits.topEvents, limits.topEventsDefault) }),
  response: z.array(
    z.object({
      name: z.string(),
      count: z.int(),
      trend: z.int().describe('Change in percent compared with as many days before; 100 when new'),
    }),
  ),
  example: { response: [{ name: 'order_placed', count: 4, trend: 100 }] },
  async handle({ db, caller, query }) {
    const range = daysOf(query, new Date());
    const rows = await listTopEvents(db, caller.projectId, { ...range, limit: query.limit });
    return rows.map(({ name, count, before }) => ({ name, count, trend: trendOf(count, before) }));
  },
});

export const analyticsEndpoints = [
  getTimeseries,
  getTopCampaigns,
  getCampaignOverview,
  getTopEvents,
  getSeries,
];

function trendOf(count: number, before: number): number {
  return before === 0 ? 100 : Math.round(((count - before) / before) * 100);
}
