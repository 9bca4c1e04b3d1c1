import { z } from 'zod';
import { fault } from '../../domain/errors.ts';
import { type Goal as StoredGoal, type GoalSums, touches } from '../../domain/goals/goal.ts';
import { limits } from '../../domain/limits.ts';
import { EventName, refuseUnmadeEvent } from '../../domain/workflow/steps/schemas.ts';
import { percentOf } from '../emails/outcomes.ts';
import { named } from '../http/schemas.ts';

/** Goals of campaigns and workflows. */

/** Path to a number in the data of an event. */
export const ValueField = z
  .string()
  .min(1)
  .max(limits.valueFieldChars)
  .refine(
    (path) => path.split('.').every((key) => key !== ''),
    fault(
      'invalid_string',
      'Must be a field in the data of the event, such as total or order.total.',
    ),
  );

/** A goal in a request. */
export const GoalInput = z
  .object({
    eventName: EventName.superRefine(refuseUnmadeEvent).describe(
      'The event that the mail should lead to, such as a purchase',
    ),
    valueField: ValueField.optional().describe(
      "A number in the event's data, such as order.total, which is summed up",
    ),
    windowDays: z
      .int()
      .min(1)
      .max(limits.goalWindowDays)
      .describe('How long after the touch the event counts, in days of 24 hours'),
    touch: z
      .enum(touches)
      .default('click')
      .describe(
        'The recipient must have opened or clicked the mail before; `sent`: it was only sent',
      ),
  })
  .meta({ id: 'GoalInput' });

export const Goal = named('Goal', {
  eventName: z.string(),
  valueField: z.string().optional(),
  windowDays: z.int(),
  touch: z.enum(touches),
});

export const GoalStats = named('GoalStats', {
  eventName: z.string(),
  converted: z.int().describe('Mails that led to at least one event'),
  conversions: z.int().describe('Events'),
  conversionRate: z.number().describe('Percent of the sent mails that are `converted`'),
  value: z.number().describe('Sum of `valueField` of the events; others than numbers count as 0'),
});

/** Returns the counts of a goal for statistics; an empty object without a goal. */
export function goalStats(
  goal: StoredGoal | null,
  { converted, conversions, value }: GoalSums,
  sentCount: number,
): { goal?: z.input<typeof GoalStats> } {
  if (!goal) return {};
  // Conversions are still counted when mail is deleted, so there may be more conversions than
  // messages.
  const conversionRate = percentOf(converted, Math.max(converted, sentCount));
  return {
    goal: { eventName: goal.eventName, converted, conversions, conversionRate, value },
  };
}
