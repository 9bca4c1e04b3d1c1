import { type RawBuilder, sql } from 'kysely';
import { withinConditionTime } from '../bounded.ts';
import type { Database } from '../database.ts';
import { countRows } from '../expressions.ts';
import { type SegmentRow, listConditionsFor, updateMemberCount } from './segments.ts';
import { conditionSql } from '../sql/filter.ts';
import type { Condition } from '../../domain/filter/filter.ts';

/** Returns SQL that is true if a row of `contact` meets a condition of the project. */
export async function membershipSql(
  db: Database,
  projectId: string,
  condition: Condition,
  now: Date,
): Promise<RawBuilder<boolean>> {
  const segments = await listConditionsFor(db, projectId, condition);
  return conditionSql(condition, { now, segments, projectId });
}

/**
 * Counts the contacts that meet a condition at the time `now`.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export async function countMatches(
  db: Database,
  projectId: string,
  condition: Condition,
  now: Date,
): Promise<number> {
  return withinConditionTime(db, async (tx) => {
    const holds = await membershipSql(tx, projectId, condition, now);
    return countRows(tx.selectFrom('contact').where('project_id', '=', projectId).where(holds));
  });
}

/**
 * Counts the current members of a segment, and stores the count.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export async function refreshSegment(
  db: Database,
  segment: SegmentRow,
  now: Date,
): Promise<number> {
  if (segment.type === 'STATIC') return recordStoredCount(db, segment.id);
  const total = await countMatches(db, segment.project_id, segment.condition, now);
  await updateMemberCount(db, segment.id, total);
  return total;
}

/**
 * Counts the stored members of a segment, and stores the count. Returns the count; 0 also if the
 * segment is deleted.
 */
export async function recordStoredCount(db: Database, segmentId: string): Promise<number> {
  const row = await db
    .updateTable('segment')
    .set({
      member_count: sql<number>`(select count(*)::int from segment_member
        where segment_member.segment_id = segment.id)`,
      computed_at: sql<Date>`now()`,
    })
    .where('id', '=', segmentId)
    .returning('member_count')
    .executeTakeFirst();
  return row?.member_count ?? 0;
}
