import { z } from 'zod';
import { readHoldout } from '../../db/projects/holdout.ts';
import { compareGroups, type GroupCounts } from '../../db/reads/holdout-report.ts';
import { liftOf } from '../../domain/holdout/holdout.ts';
import { limits } from '../../domain/limits.ts';
import { EventName } from '../../domain/workflow/steps/schemas.ts';
import { periodOf, rangeQuery } from '../activity/date-range.ts';
import { percentOf } from '../emails/outcomes.ts';
import { ValueField } from '../goals/goal.ts';
import { endpoint } from '../http/endpoint.ts';
import { named, Time, time } from '../http/schemas.ts';

/** Compares the contacts that were held out with all others. */

const Group = named('HoldoutGroup', {
  contacts: z.int(),
  converted: z.int().describe('Contacts with at least one event'),
  rate: z.number().describe('Percent of the contacts that converted; 0 without contacts'),
  events: z.int(),
  value: z.number().describe('Sum of `valueField` of the events; others than numbers count as 0'),
});

const withRate = ({ contacts, converted, events, value }: GroupCounts) => ({
  contacts,
  converted,
  rate: percentOf(converted, contacts),
  events,
  value,
});

export const getHoldoutReport = endpoint({
  id: 'getHoldoutReport',
  method: 'GET',
  path: '/holdout/report',
  summary: 'Compare contacts that were held out with those that got marketing mail',
  description:
    '`heldOut` are contacts with mail that was withheld by the hold-out, `reached` those that got ' +
    'mail of its scope, and had none withheld by it. The period is by default the ' +
    'last 30 days, both ends included; mail counts if it was queued in it, and events count ' +
    'after the first such mail of their contact. `liftPercent` is null if no contact that was held out ' +
    `converted. STATS_TOO_HEAVY: counting took longer than ${limits.statsTimeMs / 1000} seconds; ` +
    'ask for a shorter period.',
  access: 'secret',
  query: rangeQuery({
    event: EventName.describe('The event that is counted as a conversion'),
    valueField: ValueField.optional().describe("A number in the event's data, such as order.total"),
  }),
  response: z.object({
    event: z.string(),
    startDate: Time,
    endDate: Time,
    percent: z.number().describe('The share that is held out now'),
    heldOut: Group,
    reached: Group,
    liftPercent: z.number().nullable().describe('Percent by which the rate of `reached` is higher'),
  }),
  problems: ['STATS_TOO_HEAVY'],
  example: {
    response: {
      event: 'order_placed',
      startDate: '2026-10-22T08:30:00.000Z',
      endDate: '2026-11-21T08:30:00.000Z',
      percent: 10,
      heldOut: { contacts: 1_000, converted: 40, rate: 4, events: 44, value: 1_980.5 },
      reached: { contacts: 9_000, converted: 450, rate: 5, events: 520, value: 24_300 },
      liftPercent: 25,
    },
  },
  async handle({ db, caller: { projectId }, query: { event, valueField, ...range } }) {
    const now = new Date();
    const { from, to: end } = periodOf(range, now);
    const to = end ?? now;
    const { percent, scope } = await readHoldout(db, projectId);
    const asked = { scope, event, valuePath: valueField?.split('.') ?? null, from, to };
    const groups = await compareGroups(db, projectId, asked);
    const [heldOut, reached] = [withRate(groups.heldOut), withRate(groups.reached)];
    const liftPercent = liftOf(heldOut.rate, reached.rate);
    const [startDate, endDate] = [time(from), time(to)];
    return { event, startDate, endDate, percent, heldOut, reached, liftPercent };
  },
});
