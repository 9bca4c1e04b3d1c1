import { z } from 'zod';
import { jsonBytes } from '../../contact/data.ts';
import { whenRight } from '../../errors.ts';
import { unitMs } from '../../filter/filter.ts';
import { selection } from '../../filter/selection.ts';
import { fieldsOf } from '../../filter/step.ts';
import { limits } from '../../limits.ts';
import { delayEnd, type DelayScope, DelayUnit, refuseLong, UntilTime } from './delay.ts';
import { addFault, ExpectedEvent, Where } from './schemas.ts';
import type { DigestSettings, Expectation } from './effects.ts';
import type { StepModule } from './step.ts';
import { eventText, expectationOf, expectSame, waitingFor } from './wait-for-event.ts';

const DigestConfig = selection({
  eventName: ExpectedEvent,
  where: Where.optional(),
  for: z
    .object({ amount: z.int().min(1), unit: DelayUnit })
    .optional()
    .describe('It closes this long after the step began'),
  until: UntilTime.optional().describe('It closes at this time of day. Send either this or `for`'),
  max: z
    .int()
    .min(1)
    .max(limits.digestEventsMax)
    .optional()
    .describe('It closes before its end, as soon as it has this number of events'),
  since: z
    .enum(['execution', 'step'])
    .optional()
    .describe(
      'From when events count: from the beginning of the execution (default) or of the step',
    ),
  immediateFirst: z
    .boolean()
    .optional()
    .describe(
      'If no digest of this step has closed for the contact and key within the time of `for`, it ' +
        'closes at once, with the first event',
    ),
}).superRefine(
  ({ for: length, until, immediateFirst }, context) => {
    if (length) refuseLong(context, ['for', 'amount'], length.amount, length.unit);
    if (length && until) {
      const message = 'Send either `for` or `until`, not both.';
      addFault(context, ['until'], 'not_allowed', message);
    } else if (!length && !until) {
      addFault(context, ['for'], 'required', 'Is required, unless `until` is sent.');
    } else if (!length && immediateFirst) {
      addFault(context, ['immediateFirst'], 'not_allowed', 'Can only be sent together with `for`.');
    }
  },
  whenRight('for', 'until', 'immediateFirst'),
);

type DigestConfig = z.output<typeof DigestConfig>;

/** Collects the contact's events of one name, then continues once with all of them. */
export const digest: StepModule<DigestConfig> = {
  config: DigestConfig,
  ways: 'one',
  rests: 'digest',
  async play({ id, config }, effects) {
    const { until, where, max = null, immediateFirst = false } = config;
    const { beganAt } = effects;
    const lastClosedAt = immediateFirst ? await effects.findLastClosing(id) : null;
    const scope = until || where?.length ? await effects.readScope() : null;
    const zones = until ? await effects.readZones() : null;
    const endFrom = (from: Date) => digestEnd(config, from, scope && zones && { ...scope, zones });
    const isFirst = immediateFirst && !(lastClosedAt && beganAt <= endFrom(lastClosedAt));
    const countsFrom = isFirst || !lastClosedAt ? beganAt : lastClosedAt;
    return {
      kind: 'digest',
      until: isFirst ? beganAt : endFrom(countsFrom),
      settings: { max, isFirst, countsFrom: countsFrom.toISOString() },
      ...digestExpectation(config, scope),
    };
  },
  fieldsRead: ({ where = [] }) =>
    fieldsOf(where).map(({ at, name }) => ({ at: `where.${at}`, name })),
  explain({ eventName, where = [] }, output) {
    const taken = `${String(output['count'])} × ${eventText(eventName, where)}`;
    const closedBy = output['closedBy'] as DigestEnd | undefined;
    return closedBy ? `took ${taken}, and ${closingTexts[closedBy]}` : `takes ${taken} so far`;
  },
  label: 'DIGEST',
  note: ({ for: length, until }) => (length ? lengthText(length) : `until ${until?.time}`),
  examples: [
    {
      name: 'Comments of an hour',
      config: { eventName: 'commented', for: { amount: 1, unit: 'hours' } },
    },
    {
      form: 'until a time of day',
      name: 'Comments of the day',
      config: { eventName: 'commented', until: { time: '18:00' }, max: 20 },
    },
  ],
};

/**
 * Returns when a DIGEST closes if its length counts from `from`.
 * @param scope null: the DIGEST does not end at a time of day
 */
export function digestEnd(
  { for: length, until }: DigestConfig,
  from: Date,
  scope: Pick<DelayScope, 'contact' | 'zones'> | null,
): Date {
  if (length) return new Date(from.getTime() + length.amount * unitMs[length.unit]);
  if (!until || !scope)
    throw new Error('Unexpected settings: the DIGEST has neither `for` nor `until`.');
  const end = delayEnd({ until }, { ...scope, context: null, beganAt: from, now: from });
  if (end.kind !== 'rest') throw new Error('Unexpected time: the next time of day is in the past.');
  return end.until;
}

/** Returns which events a DIGEST takes if it begins now. */
export function digestExpectation(
  config: DigestConfig,
  scope: Parameters<typeof expectationOf>[1],
): Expectation {
  return expectationOf(withSince(config), scope);
}

/** Returns true when two digests take the same events. Their ends do not matter. */
export function digestSame(one: DigestConfig, other: DigestConfig): boolean {
  return expectSame(withSince(one), withSince(other));
}

function withSince({ eventName, where, since = 'execution' }: DigestConfig) {
  return { eventName, where, since };
}

/** Returns the output of an open DIGEST, without `count` and `closesAt`. */
export function openOutput({ eventName, where }: Pick<Expectation, 'eventName' | 'where'>) {
  return { eventName, ...waitingFor(eventName, where && where.items) };
}

export type DigestEnd = 'time' | 'max' | 'first' | 'skip';

const closingTexts: Readonly<Record<DigestEnd, string>> = {
  time: 'closed at its end',
  max: 'closed because it had `max` events',
  first: 'closed at once, because no other digest closed within the time of `for`',
  skip: 'was skipped',
};

/** Returns why a DIGEST closes now; null: it stays open. */
export function closingReason(
  { max, isFirst }: Pick<DigestSettings, 'max' | 'isFirst'>,
  { count, isOver }: { count: number; isOver: boolean },
): DigestEnd | null {
  if (isFirst) return 'first';
  if (max !== null && count >= max) return 'max';
  return isOver ? 'time' : null;
}

export interface DigestedEvent {
  id: string;
  name: string;
  at: Date;
  data: Record<string, unknown> | null;
}

export interface ClosedDigest {
  eventName: string;
  count: number;
  closedBy: DigestEnd;
  closedAt: Date;
  firstAt: Date | null;
  lastAt: Date | null;
  /** The first events, oldest first. */
  events: readonly DigestedEvent[];
}

/** Returns the results of a closed DIGEST: the output of its step, and its part of the context. */
export function digestResult({ events, closedAt, firstAt, lastAt, ...closed }: ClosedDigest) {
  const { count } = closed;
  const shown = shortened(
    events.map(({ id, name, at, data }) => ({ id, name, at: at.toISOString(), data })),
  );
  return {
    output: {
      ...closed,
      closedAt: closedAt.toISOString(),
      firstAt: firstAt && firstAt.toISOString(),
      lastAt: lastAt && lastAt.toISOString(),
    },
    context: { digest: { count, events: shown, truncated: shown.length < count } },
  };
}

/** Returns as many of the first events as the context may contain. */
function shortened<T>(events: readonly T[]): T[] {
  let bytes = 0;
  const end = events.slice(0, limits.digestEvents).findIndex((event) => {
    bytes += jsonBytes(event) + 1;
    return bytes >= limits.digestBytes;
  });
  return events.slice(0, end === -1 ? limits.digestEvents : end);
}

function lengthText({ amount, unit }: NonNullable<DigestConfig['for']>): string {
  return `${amount} ${amount === 1 ? unit.slice(0, -1) : unit}`;
}
