import { z } from 'zod';
import type { TriggerSchedule } from '../../../db/schedules/schedules.ts';
import { invalidField, Refusals } from '../../../domain/errors.ts';
import { fullStepName } from '../../../domain/filter/filter.ts';
import type { FieldComparison } from '../../../domain/filter/step.ts';
import { selection } from '../../../domain/filter/selection.ts';
import { CronText, Zone } from '../../../domain/time/schemas.ts';
import {
  type ExitRules,
  ExpectedEvent,
  TriggerWhere,
} from '../../../domain/workflow/steps/schemas.ts';
import { Uuid } from '../../http/schemas.ts';
import { ConditionInput } from '../../segments/condition-input.ts';

/** Triggers in requests. */

/** The config of the trigger SCHEDULE in requests. null means the same as an absent field. */
export const scheduleFields = {
  cron: CronText.nullish(),
  timeZone: Zone.nullish(),
  segmentId: Uuid.nullish(),
  filter: ConditionInput.nullish(),
};

const ScheduleConfig = z.object(scheduleFields);

export type GivenSchedule = z.output<typeof ScheduleConfig>;

/** Returns a schedule in its stored form. */
export function storedSchedule({
  cron,
  timeZone,
  segmentId,
  filter,
}: GivenSchedule): TriggerSchedule {
  return {
    ...(cron && { cron }),
    ...(timeZone && { timeZone }),
    ...(segmentId && { segmentId }),
    ...(filter && { filter: filter.condition }),
  };
}

export const TriggerConfig = selection({
  eventName: ExpectedEvent.nullish(),
  where: TriggerWhere.optional(),
  ...scheduleFields,
});

export const TriggerType = z.enum(['EVENT', 'MANUAL', 'SCHEDULE']);
export type TriggerType = z.output<typeof TriggerType>;

/**
 * Refuses settings of a schedule for a trigger of another type.
 * @throws Problem VALIDATION_ERROR `not_allowed`
 */
export function refuseSchedule(type: string, given: GivenSchedule): void {
  const refusals = new Refusals();
  for (const key of Object.keys(scheduleFields) as (keyof GivenSchedule)[]) {
    if (given[key] === undefined || given[key] === null) continue;
    const message = `A trigger of type ${type} takes no \`${key}\`. Leave it out.`;
    refusals.add(invalidField(`triggerConfig.${key}`, 'not_allowed', message));
  }
  refusals.throw();
}

/**
 * Refuses settings of an event for a trigger of another type.
 * @throws Problem VALIDATION_ERROR `not_allowed`
 */
export function refuseEvent(
  type: TriggerType,
  { eventName, where }: z.output<typeof TriggerConfig>,
): void {
  const refusals = new Refusals();
  for (const [key, given] of Object.entries({ eventName, where })) {
    if (!given) continue;
    const message = `A trigger of type ${type} takes no \`${key}\`. Leave it out.`;
    refusals.add(invalidField(`triggerConfig.${key}`, 'not_allowed', message));
  }
  refusals.throw();
}

/**
 * Returns the conditions of a trigger in their stored form; null: the trigger has no conditions.
 */
export function settledWhere(
  where: z.output<typeof TriggerWhere> | undefined,
): FieldComparison[] | null {
  return where && where.length > 0 ? withFullNames(where) : null;
}

/** Returns exit rules in their stored form. */
export function settledExitRules(rules: z.output<typeof ExitRules>): z.output<typeof ExitRules> {
  return rules.map(({ where, ...rule }) => ({
    ...rule,
    ...(where && { where: withFullNames(where) }),
  }));
}

function withFullNames<Item extends FieldComparison>(where: readonly Item[]): Item[] {
  return where.map((item) => ({ ...item, field: fullStepName(item.field) }));
}
