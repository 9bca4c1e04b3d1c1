import { z } from 'zod';
import { selection } from '../../../domain/filter/selection.ts';
import { CronText, Zone } from '../../../domain/time/schemas.ts';
import { ExpectedEvent, TriggerWhere } from '../../../domain/workflow/steps/schemas.ts';
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

export const TriggerConfig = selection({
  eventName: ExpectedEvent.nullish(),
  where: TriggerWhere.optional(),
  ...scheduleFields,
});

export const TriggerType = z.enum(['EVENT', 'MANUAL', 'SCHEDULE']);
export type TriggerType = z.output<typeof TriggerType>;
