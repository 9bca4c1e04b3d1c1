import type { z } from 'zod';
import { columnsFrom } from '../../db/columns.ts';
import type { Database } from '../../db/database.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { listSegmentUsers } from '../../db/reads/uses/conditions.ts';
import { insertSegmentRemoval } from '../../db/removals/removals.ts';
import {
  deleteSegment,
  insertSegment,
  lockSegment,
  lockSegmentReferences,
  type SegmentRow,
  updateSegment,
} from '../../db/segments/segments.ts';
import { found, Problem } from '../../domain/errors.ts';
import { listed } from '../http/uses.ts';
import { refuseBadReferences } from './conditions.ts';
import { givenCondition, type NewSegment, type SegmentChange } from './input.ts';

/** Changes of segments, in the transaction of the caller. */

/**
 * Creates a segment.
 * @param own.id its id, by default a new one
 * @throws Problem VALIDATION_ERROR
 */
export async function storeNewSegment(
  tx: Database,
  projectId: string,
  body: z.output<typeof NewSegment>,
  own: { id?: string; member_count?: number } = {},
): Promise<SegmentRow> {
  const given = givenCondition(body);
  await holdProject(tx, projectId);
  await lockSegmentReferences(tx, projectId);
  await refuseBadReferences(tx, projectId, given);
  return insertSegment(tx, {
    project_id: projectId,
    ...valuesOf(body),
    condition: given && given.condition,
    ...own,
  });
}

/**
 * Changes a segment that the caller has locked for editing, after `refuseBadReferences`. Fields that
 * are left out keep their value.
 * @param memberCount the members by a new condition; null: the count stays
 */
export async function storeSegment(
  tx: Database,
  locked: SegmentRow,
  body: z.output<typeof SegmentChange>,
  memberCount: number | null,
): Promise<SegmentRow> {
  const given = givenCondition(body);
  const isTracked = body.trackMembership ?? locked.track_membership;
  if (locked.type === 'DYNAMIC' && locked.track_membership && !isTracked) {
    await insertSegmentRemoval(tx, locked);
  }
  return updateSegment(tx, locked.id, {
    ...valuesOf(body),
    track_membership: isTracked,
    ...(given ? { condition: given.condition } : {}),
    ...(memberCount === null ? {} : { member_count: memberCount }),
  });
}

/** Returns the columns for a request's fields, except the condition. */
function valuesOf<T extends { condition?: unknown; filters?: unknown }>(body: T) {
  const { condition: _, filters: _f, ...fields } = body;
  return columnsFrom(fields);
}

/**
 * Deletes an unused segment.
 * @throws Problem SEGMENT_NOT_FOUND, SEGMENT_IN_USE
 */
export async function deleteUnusedSegment(
  tx: Database,
  projectId: string,
  id: string,
): Promise<void> {
  await lockSegmentReferences(tx, projectId);
  found('SEGMENT', id, await lockSegment(tx, projectId, id, { for: 'delete' }));
  const users = await listSegmentUsers(tx, projectId, id);
  if (Object.values(users).flat().length > 0) {
    throw new Problem('SEGMENT_IN_USE', { details: listed({ ...users }) });
  }
  await deleteSegment(tx, id);
}
