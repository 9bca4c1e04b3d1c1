import type { Database } from '../../db/database.ts';
import { computeSegment } from '../../db/transactions/events/compute-segment.ts';
import { refreshSegment } from '../../db/segments/members.ts';
import { claimDueSegment, type SegmentRow, updateSegmentDue } from '../../db/segments/segments.ts';

/** Minutes between two counts or computations of a segment. */
const everyMinutes = 5;
/**
 * Milliseconds after which a call ends, so that the sweep's other tasks need not wait longer. The
 * next sweep continues.
 */
const budgetMs = 20_000;

/**
 * Updates overdue segments. For a tracked segment, computes the members and records events; for any
 * other, counts the members. A segment that cannot be evaluated does not stop the others.
 * @throws the first error of a segment, after all due segments were tried or the time was over
 */
export async function recomputeSegments(db: Database): Promise<void> {
  const end = Date.now() + budgetMs;
  const isOver = () => Date.now() > end;
  const failures: unknown[] = [];
  while (!isOver()) {
    const segment = await claimDueSegment(db, everyMinutes);
    if (!segment) break;
    await recompute(db, segment, isOver).catch((error) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

async function recompute(db: Database, segment: SegmentRow, isOver: () => boolean): Promise<void> {
  const now = new Date();
  if (segment.type === 'STATIC' || !segment.track_membership) {
    await refreshSegment(db, segment, now);
    return;
  }
  const computed = await computeSegment(db, segment, { now, isOver });
  if (computed?.isComplete === false) await updateSegmentDue(db, segment.id, everyMinutes);
}
