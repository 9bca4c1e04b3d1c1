import { z } from 'zod';
import { type CampaignRow, findCampaign } from '../../db/campaigns/campaigns.ts';
import type { Database } from '../../db/database.ts';
import { readSendPolicy } from '../../db/projects/send-policy.ts';
import {
  countSeries,
  findLastMoment,
  type MailOwner,
  type SeriesPart,
} from '../../db/reads/analytics/series.ts';
import { findTemplate } from '../../db/templates/templates.ts';
import { hasHadStep, listStepIds } from '../../db/workflows/graphs.ts';
import { findWorkflow } from '../../db/workflows/workflows.ts';
import { fault, found, invalidField, whenRight } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { Zone } from '../../domain/time/schemas.ts';
import { type Interval, intervals, startsWithin } from '../../domain/time/zones.ts';
import { endpoint } from '../http/endpoint.ts';
import { Time, time, Uuid } from '../http/schemas.ts';
import { startOfLastDays, zonedBounds, zonedRangeQuery } from './zoned-range.ts';

/** Counts sends, opens and other moments of mail, by time. */

const owners = ['campaignId', 'workflowId', 'templateId'] as const;

const Query = zonedRangeQuery({
  interval: z.enum(intervals).default('day').describe('Length of the time that each point counts'),
  timeZone: Zone.optional().describe('Default: the zone of the send policy'),
  campaignId: Uuid.optional().describe('Only the mail of this campaign'),
  workflowId: Uuid.optional().describe('Only the mail of this workflow'),
  stepId: Uuid.optional().describe('A step of any version of the workflow'),
  templateId: Uuid.optional().describe('Only mail made from this template'),
})
  .superRefine(
    (query, context) => {
      const [first, ...more] = owners.filter((name) => query[name] !== undefined);
      for (const name of more) {
        const message = `Cannot be combined with \`${first}\`. Send only one of them.`;
        context.addIssue({ code: 'custom', path: [name], ...fault('not_allowed', message) });
      }
    },
    whenRight(...owners),
  )
  .refine(({ stepId, workflowId }) => stepId === undefined || workflowId !== undefined, {
    path: ['workflowId'],
    ...fault('required', 'Is required when `stepId` is sent.'),
    ...whenRight('workflowId', 'stepId'),
  });

const counted = z.int();

const Point = z.object({
  at: Time.describe('Start of the day, hour or minute'),
  sent: counted,
  delivered: counted.describe('Reported as delivered'),
  opens: counted,
  clicks: counted,
  humanOpens: counted.describe('Opened by a person, as far as it is known now'),
  humanClicks: counted.describe('Clicked by a person, as far as it is known now'),
  bounces: counted,
  complaints: counted,
  unsubscribes: counted,
  conversions: counted.describe('Events that are the goal of the mail, at their time'),
  value: z.number().describe('Their value, rounded to six decimals'),
});

export const getSeries = endpoint({
  id: 'getEmailSeries',
  method: 'GET',
  path: '/analytics/series',
  summary: 'Count what happened to mail by day, hour or minute',
  description:
    'Counts the stored mail of the project, or of one campaign, workflow, step or template. ' +
    'Each mail counts once for each kind, when it happened first; so the points of all time add ' +
    'up to the statistics of the same mail. `startDate` and `endDate` are included: a date means ' +
    'the whole day in `timeZone`, a date-time means itself. The default is the last 30 days; of a ' +
    'campaign, from its start to its last event. Points without events are included. ' +
    `\`interval\` is refused with \`too_big\` if there would be more than ${limits.seriesPoints} points. ` +
    'CAMPAIGN_NOT_FOUND, WORKFLOW_NOT_FOUND, STEP_NOT_FOUND, TEMPLATE_NOT_FOUND: the project has ' +
    `none with this id. STATS_TOO_HEAVY: counting took longer than ${limits.statsTimeMs / 1000} ` +
    'seconds; ask for a shorter period.',
  access: 'secret',
  query: Query,
  response: z.object({
    interval: z.enum(intervals),
    timeZone: z.string(),
    points: z.array(Point).describe('Oldest first'),
  }),
  problems: [
    'CAMPAIGN_NOT_FOUND',
    'WORKFLOW_NOT_FOUND',
    'STEP_NOT_FOUND',
    'TEMPLATE_NOT_FOUND',
    'STATS_TOO_HEAVY',
  ],
  example: {
    response: {
      interval: 'day',
      timeZone: 'Europe/Kyiv',
      points: [
        {
          at: '2026-11-20T22:00:00.000Z',
          sent: 125,
          delivered: 120,
          opens: 50,
          clicks: 10,
          humanOpens: 31,
          humanClicks: 7,
          bounces: 5,
          complaints: 0,
          unsubscribes: 1,
          conversions: 3,
          value: 37.5,
        },
      ],
    },
  },
  async handle({ db, caller: { projectId }, query }) {
    const scope = await findScope(db, projectId, query);
    const { interval, timeZone: zone = (await readSendPolicy(db, projectId)).timeZone } = query;
    const period = await periodOf(db, scope, zonedBounds(query, zone), zone);
    const starts = period ? startsOf(period, { zone, interval }) : [];
    const counts = await countSeries(db, scope, period ? partsOf(period, starts) : []);
    const points = counts.map((count, index) => ({
      at: time(starts[index]!),
      sent: count.sent,
      delivered: count.delivered,
      opens: count.opened,
      clicks: count.clicked,
      humanOpens: count.humanOpened,
      humanClicks: count.humanClicked,
      bounces: count.bounced,
      complaints: count.complained,
      unsubscribes: count.unsubscribed,
      conversions: count.conversions,
      value: count.value,
    }));
    return { interval, timeZone: zone, points };
  },
});

interface Scope {
  projectId: string;
  /** null: all mail of the project. */
  owner: MailOwner | null;
  /** null: the series is not for one campaign. */
  campaign: Pick<CampaignRow, 'frozen_at'> | null;
}

/**
 * Finds the mail of a series.
 * @throws Problem CAMPAIGN_NOT_FOUND, WORKFLOW_NOT_FOUND, STEP_NOT_FOUND, TEMPLATE_NOT_FOUND
 */
async function findScope(
  db: Database,
  projectId: string,
  { campaignId, workflowId, stepId, templateId }: z.output<typeof Query>,
): Promise<Scope> {
  const scope = { projectId, owner: null, campaign: null };
  if (campaignId !== undefined) {
    const campaign = found('CAMPAIGN', campaignId, await findCampaign(db, projectId, campaignId));
    return { ...scope, owner: { column: 'campaign_id', ids: [campaignId] }, campaign };
  }
  if (templateId !== undefined) {
    found('TEMPLATE', templateId, await findTemplate(db, projectId, templateId));
    return { ...scope, owner: { column: 'template_id', ids: [templateId] } };
  }
  if (workflowId === undefined) return scope;
  found('WORKFLOW', workflowId, await findWorkflow(db, projectId, workflowId));
  if (stepId !== undefined) {
    found('STEP', stepId, (await hasHadStep(db, workflowId, stepId)) || undefined);
  }
  const ids = stepId === undefined ? await listStepIds(db, workflowId) : [stepId];
  return { ...scope, owner: { column: 'workflow_step_id', ids } };
}

type Period = SeriesPart;

/** Returns the period of a series, with defaults for missing bounds; null: the period is empty. */
async function periodOf(
  db: Database,
  { projectId, owner, campaign }: Scope,
  given: ReturnType<typeof zonedBounds>,
  zone: string,
): Promise<Period | null> {
  let { from, to } = given;
  if (owner && campaign) {
    from ??= campaign.frozen_at ?? undefined;
    to ??= (await findLastMoment(db, { projectId, owner })) ?? undefined;
  } else {
    to ??= new Date();
    from ??= startOfLastDays(zone, to);
  }
  return from && to && from <= to ? { from, to } : null;
}

function startsOf(period: Period, unit: { zone: string; interval: Interval }): Date[] {
  const starts = startsWithin(unit, period, limits.seriesPoints);
  if (starts) return starts;
  const message =
    `The series would have more than ${limits.seriesPoints} points, one for each ${unit.interval}. ` +
    'Choose a longer interval or a shorter period.';
  throw invalidField('interval', 'too_big', message);
}

/** Returns the parts of a period that the points count. */
function partsOf({ from, to }: Period, starts: readonly Date[]): SeriesPart[] {
  return starts.map((start, index) => {
    const next = starts[index + 1];
    return { from: start < from ? from : start, to: next ? new Date(next.getTime() - 1) : to };
  });
}
