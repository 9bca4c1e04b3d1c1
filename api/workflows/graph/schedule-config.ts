import type { Database } from '../../../db/database.ts';
import type { TriggerSchedule } from '../../../db/schedules/schedules.ts';
import { findSegment, lockSegmentReferences } from '../../../db/segments/segments.ts';
import { found } from '../../../domain/errors.ts';
import { refuseBadReferences } from '../../segments/conditions.ts';
import { type GivenSchedule, storedSchedule } from './trigger-input.ts';

/** Checks the references of schedules in requests. */

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
 * Returns the config of a schedule in its stored form.
 * @throws Problem SEGMENT_NOT_FOUND, VALIDATION_ERROR for a filter with unknown segments or fields
 */
export async function settledSchedule(
  tx: Database,
  projectId: string,
  given: GivenSchedule,
): Promise<TriggerSchedule> {
  const { segmentId, filter } = given;
  if (segmentId || filter?.mentions.length) await lockSegmentReferences(tx, projectId);
  if (segmentId) found('SEGMENT', segmentId, await findSegment(tx, projectId, segmentId));
  await refuseScheduleFilter(tx, projectId, { filter });
  return storedSchedule(given);
}
