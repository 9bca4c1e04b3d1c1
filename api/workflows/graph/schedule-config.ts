import { z } from 'zod';
import type { Database } from '../../../db/database.ts';
import type { TriggerSchedule } from '../../../db/schedules/schedules.ts';
import { findSegment, lockSegmentReferences } from '../../../db/segments/segments.ts';
import { found, invalidField, Refusals } from '../../../domain/errors.ts';
import { refuseBadReferences } from '../../segments/conditions.ts';
import { scheduleFields } from './trigger-input.ts';

const ScheduleConfig = z.object(scheduleFields);

type GivenSchedule = z.output<typeof ScheduleConfig>;

/**
 * Refuses settings of a schedule in another trigger.
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
 * Refuses a filter with unknown segments or fields.
 * @throws Problem VALIDATION_ERROR
 */
export async function refuseScheduleFilter(
  db: Database,
  projectId: string,
  { filter }: GivenSchedule,
): Promise<void> {
  const placed = filter ? { ...filter, field: 'triggerConfig.filter' } : null;
  await refuseBadReferences(db, projectId, placed);
}

/**
 * Returns the config in its stored form.
 * @throws Problem SEGMENT_NOT_FOUND, VALIDATION_ERROR for a filter with unknown segments or fields
 */
export async function settledSchedule(
  tx: Database,
  projectId: string,
  { cron, timeZone, segmentId, filter }: GivenSchedule,
): Promise<TriggerSchedule> {
  if (segmentId || filter?.mentions.length) await lockSegmentReferences(tx, projectId);
  if (segmentId) found('SEGMENT', segmentId, await findSegment(tx, projectId, segmentId));
  await refuseScheduleFilter(tx, projectId, { filter });
  return {
    ...(cron && { cron }),
    ...(timeZone && { timeZone }),
    ...(segmentId && { segmentId }),
    ...(filter && { filter: filter.condition }),
  };
}
