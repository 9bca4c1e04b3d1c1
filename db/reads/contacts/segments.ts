import { sql } from 'kysely';
import { withinConditionTime } from '../../bounded.ts';
import type { Database } from '../../database.ts';
import { listSegmentsFrom, type SegmentRow } from '../../segments/segments.ts';
import { conditionSql } from '../../sql/filter.ts';

export interface SegmentOfContact {
  id: string;
  name: string;
  type: SegmentRow['type'];
}

/** Number of segments whose conditions one statement evaluates. */
const evaluatedAtOnce = 50;

/**
 * Lists the segments of a contact at the time `now`, by name. For segments with a condition, the
 * condition is evaluated.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export async function listSegmentsOf(
  db: Database,
  { id, project_id: projectId }: { id: string; project_id: string },
  now: Date,
): Promise<SegmentOfContact[]> {
  return withinConditionTime(db, async (tx) => {
    const { rows } = await sql<SegmentOfContact & { isMember: boolean }>`
      select id, name, type, type = 'STATIC' and exists (select from segment_member member
          where member.segment_id = segment.id and member.contact_id = ${id}) as "isMember"
        from segment where project_id = ${projectId} order by name, id`.execute(tx);
    const dynamic = rows.filter(({ type }) => type !== 'STATIC').map((segment) => segment.id);
    const segments = await listSegmentsFrom(tx, projectId, dynamic);
    const isIn = new Set(rows.filter(({ isMember }) => isMember).map((segment) => segment.id));
    for (let at = 0; at < dynamic.length; at += evaluatedAtOnce) {
      const some = dynamic.slice(at, at + evaluatedAtOnce);
      const holds = some.map((segmentId) => {
        const condition = segments.get(segmentId);
        return condition ? conditionSql(condition, { now, segments, projectId }) : sql`false`;
      });
      const answers = await sql<{ holds: boolean[] }>`
        select array[${sql.join(holds)}] as holds from contact
          where id = ${id} and project_id = ${projectId}`.execute(tx);
      for (const [index, holdsNow] of (answers.rows[0]?.holds ?? []).entries()) {
        if (holdsNow) isIn.add(some[index]!);
      }
    }
    return rows
      .filter((segment) => isIn.has(segment.id))
      .map(({ id: segmentId, name, type }) => ({ id: segmentId, name, type }));
  });
}
