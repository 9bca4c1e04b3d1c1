import { z } from 'zod';
import { fault } from '../../errors.ts';
import { stepFieldOf, type Unit, unitMs } from '../../filter/filter.ts';
import { limits } from '../../limits.ts';
import type { DelayConfig } from '../delay.ts';
import { Days, WallTimeText } from '../../time/schemas.ts';
import { isZone } from '../../time/zones.ts';
import { addFault } from '../schemas.ts';
import type { StepModule } from './step.ts';

const DelayUnit = z.enum(Object.keys(unitMs) as Unit[]);

const OffsetAmount = z.int();

/** The forms of a delay by the key that each needs, and all the keys it knows. */
const delayForms = {
  amount: ['amount', 'unit'],
  until: ['until'],
  untilField: ['untilField', 'offset', 'ifPast'],
} as const;

const DelaySettings = z
  .object({
    amount: z.int().min(1).optional(),
    unit: DelayUnit.optional(),
    /** The next time that a clock shows this. */
    until: z
      .object({
        time: WallTimeText,
        /** Absent: all. */
        days: Days.optional(),
        /** Absent: the contact's. */
        timeZone: z
          .string()
          .refine(
            (text) => text === 'contact' || isZone(text),
            fault('invalid_string', 'Must be "contact" or the name of a time zone.'),
          )
          .optional(),
      })
      .optional(),
    untilField: z.string().max(limits.filterFieldChars).optional(),
    /** Is added to the date; negative: before it. */
    offset: z.object({ amount: OffsetAmount, unit: DelayUnit }).optional(),
    /** What happens when the date is past, or there is none. Absent: the execution goes on. */
    ifPast: z.enum(['continue', 'exit']).optional(),
  })
  .superRefine((config, context) => {
    const forms = Object.keys(delayForms) as (keyof typeof delayForms)[];
    const form = forms.find((key) => config[key] !== undefined) ?? 'amount';
    for (const key of Object.keys(config) as (keyof typeof config)[]) {
      const isOther = !(delayForms[form] as readonly string[]).includes(key);
      if (isOther && config[key] !== undefined) {
        addFault(context, [key], 'not_allowed', `Does not go together with ${form}.`);
      }
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
        `At most ${offsetDaysMax} days ${word} the date.`,
      );
    }
  })
  .transform((config) => config as DelayConfig);

/** How far from its date a delay may end. */
const offsetDaysMax = 3650;

function checkLength(
  context: z.core.$RefinementCtx,
  { amount, unit }: { amount: number | undefined; unit: Unit | undefined },
): void {
  for (const [key, value] of Object.entries({ amount, unit })) {
    if (value !== undefined) continue;
    context.addIssue({ code: 'invalid_type', expected: 'unknown', input: undefined, path: [key] });
  }
  if (amount === undefined || unit === undefined) return;
  if (amount * unitMs[unit] <= limits.delayDaysMax * unitMs.days) return;
  addFault(context, ['amount'], 'too_big', `A delay is at most ${limits.delayDaysMax} days.`);
}

function checkDateField(context: z.core.$RefinementCtx, untilField: string): void {
  const kind = stepFieldOf(untilField)?.field.kind;
  if (kind === 'data' || kind === 'time') return;
  const message =
    'Must be a date of the contact, such as contact.data.birthday, or begin with event. or workflow.';
  addFault(context, ['untilField'], 'unsupported_field', message);
}

/** Rests for a time. */
export const delay: StepModule<DelayConfig> = {
  config: DelaySettings,
  ways: 'one',
  isPerformed: true,
  rests: 'delay',
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
