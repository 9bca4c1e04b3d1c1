import { z } from 'zod';
import { faultWithGiven } from '../../errors.ts';
import type { ContactValues } from '../../filter/evaluate.ts';
import { stepFieldOf, type Unit, unitMs } from '../../filter/filter.ts';
import { asJson, readField } from '../../filter/step.ts';
import { instantOf } from '../../filter/value.ts';
import { limits } from '../../limits.ts';
import { Days, WallTimeText } from '../../time/schemas.ts';
import {
  contactZone,
  isZone,
  nextInstant,
  parseWallTime,
  type Weekday,
  weekdays,
  type ZonePolicy,
} from '../../time/zones.ts';
import type { FixedDelay } from './effects.ts';
import { addFault } from './schemas.ts';
import type { StepModule } from './step.ts';

/**
 * The config of a delay: a fixed length, until a time of day, or until a date in the contact or
 * context.
 */
export type DelayConfig =
  | { amount: number; unit: Unit }
  | { until: { time: string; days?: Weekday[] | undefined; timeZone?: string | undefined } }
  | {
      untilField: string;
      offset?: { amount: number; unit: Unit } | undefined;
      ifPast?: 'continue' | 'exit' | undefined;
    };

export const DelayUnit = z.enum(Object.keys(unitMs) as Unit[]);

/** The next moment at which the clock shows this time, on one of these days. */
export const UntilTime = z.object({
  time: WallTimeText,
  /** Absent: every day. */
  days: Days.optional(),
  /** Absent: the time zone of the contact. */
  timeZone: z
    .string()
    .refine(
      (text) => text === 'contact' || isZone(text),
      faultWithGiven('invalid_string', 'Must be "contact" or the name of a time zone.'),
    )
    .optional(),
});

const OffsetAmount = z.int();

/** The keys that each form of a delay may have, by the key that the form must have. */
const delayForms = {
  amount: ['amount', 'unit'],
  until: ['until'],
  untilField: ['untilField', 'offset', 'ifPast'],
} as const;
const keysOf = (form: keyof typeof delayForms): readonly string[] => delayForms[form];

const DelaySettings = z
  .object({
    amount: z.int().min(1).optional(),
    unit: DelayUnit.optional(),
    until: UntilTime.optional(),
    untilField: z.string().max(limits.filterFieldChars).optional(),
    /** Duration added to the date; negative: before the date. */
    offset: z.object({ amount: OffsetAmount, unit: DelayUnit }).optional(),
    /** Effect of a date that is past or missing. Absent: the execution continues. */
    ifPast: z.enum(['continue', 'exit']).optional(),
  })
  .superRefine((config, context) => {
    const forms = Object.keys(delayForms) as (keyof typeof delayForms)[];
    const form = forms.find((key) => config[key] !== undefined) ?? 'amount';
    for (const key of Object.keys(config) as (keyof typeof config)[]) {
      if (config[key] === undefined || keysOf(form).includes(key)) continue;
      const owner = forms.find((other) => keysOf(other).includes(key));
      const message =
        owner === key
          ? `Send either \`${key}\` or \`${form}\`, not both.`
          : `Can only be sent together with \`${owner}\`.`;
      addFault(context, [key], 'not_allowed', message);
    }
    const { amount, unit, untilField, offset } = config;
    if (form === 'amount') checkLength(context, { amount, unit });
    if (untilField !== undefined) checkDateField(context, untilField);
    const days = offset ? Math.abs(offset.amount * unitMs[offset.unit]) / unitMs.days : 0;
    if (offset && days > offsetDaysMax) {
      const [code, word] =
        offset.amount > 0 ? (['too_big', 'after'] as const) : (['too_small', 'before'] as const);
      addFault(
        context,
        ['offset', 'amount'],
        code,
        `Must be at most ${offsetDaysMax} days ${word} the date, not ${days}.`,
      );
    }
  })
  .transform((config) => config as DelayConfig);

/** Maximum number of days between the date and the end of the delay, in either direction. */
const offsetDaysMax = 3650;

function checkLength(
  context: z.core.$RefinementCtx,
  { amount, unit }: { amount: number | undefined; unit: Unit | undefined },
): void {
  for (const [key, value] of Object.entries({ amount, unit })) {
    if (value !== undefined) continue;
    context.addIssue({ code: 'invalid_type', expected: 'unknown', input: undefined, path: [key] });
  }
  if (amount !== undefined && unit !== undefined) refuseLong(context, ['amount'], amount, unit);
}

export function refuseLong(
  context: z.core.$RefinementCtx,
  path: string[],
  amount: number,
  unit: Unit,
): void {
  if (amount * unitMs[unit] <= limits.delayDaysMax * unitMs.days) return;
  const message = `Must be at most ${limits.delayDaysMax} days, not ${amount} ${unit}.`;
  addFault(context, path, 'too_big', message);
}

function checkDateField(context: z.core.$RefinementCtx, untilField: string): void {
  const kind = stepFieldOf(untilField)?.field.kind;
  if (kind === 'data' || kind === 'time') return;
  const message =
    'Must be a field with a date, such as contact.data.birthday, or a field that begins with ' +
    '`event.`, `context.` or `workflow.`.';
  addFault(context, ['untilField'], 'unsupported_field', message);
}

export const delay: StepModule<DelayConfig> = {
  config: DelaySettings,
  ways: 'one',
  rests: 'delay',
  fixedRest: fixedDelay,
  async play({ config }, effects) {
    const fixed = fixedDelay(config);
    if (fixed) return { kind: 'rest', end: fixed };
    const { beganAt } = effects;
    const scope = { ...(await effects.readScope()), zones: await effects.readZones() };
    const end = delayEnd(config, { ...scope, beganAt, now: beganAt });
    if (end.kind === 'rest') return { kind: 'rest', end };
    const { exitReason: reason, output } = end;
    return reason === null ? { kind: 'done', output } : { kind: 'exit', reason, output };
  },
  fieldsRead: (config) =>
    'untilField' in config && typeof config.untilField === 'string'
      ? [{ at: 'untilField', name: config.untilField }]
      : [],
  label: 'DELAY',
  examples: [
    { name: 'Two days', config: { amount: 2, unit: 'days' } },
    {
      form: 'until a time of day',
      name: 'Next working morning',
      config: { until: { time: '09:00', days: ['mon', 'tue', 'wed', 'thu', 'fri'] } },
    },
    {
      form: 'until a date',
      name: 'Three days before the trial ends',
      config: {
        untilField: 'contact.data.trialEndsAt',
        offset: { amount: -3, unit: 'days' },
        ifPast: 'exit',
      },
    },
  ],
};

/** The values that determine the end of a delay, besides its config. */
export interface DelayScope {
  /** When the step began. */
  beganAt: Date;
  /**
   * The time with which a date in the contact or context is compared: a date up to this time is
   * past.
   */
  now: Date;
  contact: ContactValues;
  context: Record<string, unknown> | null;
  zones: ZonePolicy;
}

/** The end of a delay, with the output of its step. */
export type DelayEnd =
  | { kind: 'rest'; until: Date; output: Record<string, unknown> }
  /**
   * The date is past or missing, so the step does not wait. `exitReason` null: the execution
   * continues.
   */
  | {
      kind: 'past';
      exitReason: 'date_past' | 'date_missing' | null;
      output: Record<string, unknown>;
    };

/** Maximum number of days until a date. A later date is treated as missing. */
const daysAheadMax = 3650;

/** Returns the delay if its config alone determines its length, otherwise null. */
export function fixedDelay(config: DelayConfig): FixedDelay | null {
  if (!('amount' in config)) return null;
  const { amount, unit } = config;
  return { ms: amount * unitMs[unit], output: { delayAmount: amount, delayUnit: unit } };
}

/** Returns when a delay that began at `scope.beganAt` ends. */
export function delayEnd(config: DelayConfig, scope: DelayScope): DelayEnd {
  if ('until' in config) return untilTime(config.until, scope);
  if ('untilField' in config) return untilDate(config, scope);
  const { ms, output } = fixedDelay(config)!;
  return resting(new Date(scope.beganAt.getTime() + ms), output);
}

type Form<K extends string> = Extract<DelayConfig, Record<K, unknown>>;

function untilTime(
  { time, days = [...weekdays], timeZone = 'contact' }: Form<'until'>['until'],
  { beganAt, contact, zones }: DelayScope,
): DelayEnd {
  const zone = timeZone === 'contact' ? contactZone(contact.data, zones) : timeZone;
  const wallTime = parseWallTime(time);
  if (!wallTime) throw new Error(`"${time}" is not a time of day.`);
  const until = nextInstant(zone, { time: wallTime, days }, beganAt);
  return resting(until, { untilTime: time, untilDays: days, timeZone: zone });
}

function untilDate(
  { untilField, offset, ifPast = 'continue' }: Form<'untilField'>,
  { now, contact, context }: DelayScope,
): DelayEnd {
  const value = readField(stepFieldOf(untilField), { contact, context, event: context });
  const date = instantOf(value);
  const fieldValue = asJson(value);
  const target = date === null ? null : date + (offset ? offset.amount * unitMs[offset.unit] : 0);
  const isPast = target !== null && target <= now.getTime();
  const isTooFar = target !== null && target > now.getTime() + daysAheadMax * unitMs.days;
  if (target !== null && !isPast && !isTooFar) {
    return resting(new Date(target), { untilField, fieldValue, past: false });
  }
  const exitReason = ifPast === 'continue' ? null : isPast ? 'date_past' : 'date_missing';
  const output = { untilField, fieldValue, resumeAt: null, past: true };
  return { kind: 'past', exitReason, output };
}

function resting(until: Date, output: Record<string, unknown>): DelayEnd {
  return { kind: 'rest', until, output: { ...output, resumeAt: until.toISOString() } };
}
