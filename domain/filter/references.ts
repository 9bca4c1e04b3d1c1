import type { FieldProblem } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Condition, MailSource } from './filter.ts';

/** The segments, campaigns and templates that conditions refer to. */

export interface SegmentMention {
  field: string;
  segmentId: string;
}

export interface MailMention {
  field: string;
  source: MailSource;
  id: string;
}

/** The conditions of segments, by segment id; null for a STATIC segment. */
export type Segments = ReadonlyMap<string, Condition | null>;

/** For each segment id, the ids of the segments in its condition. */
export type SegmentReferences = ReadonlyMap<string, readonly string[]>;

/**
 * Returns the problems of the segments that a condition refers to. A segment may be unknown, refer
 * back to the segment of the condition, or reach too many segments through its references.
 * @param segments the segments in `mentions`, and all segments of the project that refer to others.
 * @param selfId the segment that is being changed; absent for a new segment and for audiences.
 */
export function segmentProblems(
  mentions: readonly SegmentMention[],
  segments: SegmentReferences,
  selfId?: string,
): FieldProblem[] {
  const [first] = mentions;
  if (!first) return [];
  const problems = mentions.flatMap(({ field, segmentId }): FieldProblem[] => {
    if (!segments.has(segmentId)) {
      return [
        {
          field,
          code: 'not_found',
          message: `There is no segment ${segmentId}. GET /segments lists the segments.`,
        },
      ];
    }
    if (selfId === undefined || !reachableSegments([segmentId], segments).has(selfId)) return [];
    const message = 'Must not refer to the segment itself, directly or through other segments.';
    return [{ field, code: 'circular_reference', message }];
  });
  if (problems.length > 0 || !reachesTooFar(mentions, segments, selfId)) return problems;
  const most = limits.segmentReach;
  const message = `Must not refer to more than ${most} segments, directly or through other segments.`;
  return [{ field: first.field, code: 'too_big', message }];
}

/**
 * Returns the problems of the campaigns and templates that a condition names.
 * @param known the ids in `mentions` that the project has
 */
export function mailProblems(
  mentions: readonly MailMention[],
  known: ReadonlySet<string>,
): FieldProblem[] {
  return mentions
    .filter(({ id }) => !known.has(id))
    .map(({ field, source, id }) => ({
      field,
      code: 'not_found',
      message: `There is no ${source} ${id}. Check the id.`,
    }));
}

/**
 * Returns true when the segment of the condition, or a segment that refers to it, would reach too
 * many segments.
 */
function reachesTooFar(
  mentions: readonly SegmentMention[],
  segments: SegmentReferences,
  selfId: string | undefined,
): boolean {
  const below = reachableSegments(
    mentions.map(({ segmentId }) => segmentId),
    segments,
  );
  if (below.size > limits.segmentReach) return true;
  if (selfId === undefined) return false;
  const namedBy = new Map<string, string[]>();
  for (const [id, names] of segments) {
    for (const name of names) namedBy.set(name, [...(namedBy.get(name) ?? []), id]);
  }
  const above = new Set([selfId]);
  // The iteration over a Set also visits items that are added during the iteration.
  for (const id of above) for (const other of namedBy.get(id) ?? []) above.add(other);
  above.delete(selfId);
  return [...above].some((id) => {
    const reached = reachableSegments([id], segments);
    reached.delete(id);
    return new Set([...reached, ...below]).size > limits.segmentReach;
  });
}

/** Returns the given segments and all segments that they refer to, directly or indirectly. */
export function reachableSegments(
  from: readonly string[],
  segments: SegmentReferences,
): Set<string> {
  const reached = new Set(from);
  // The iteration over a Set also visits items that are added during the iteration.
  for (const id of reached) {
    for (const next of segments.get(id) ?? []) reached.add(next);
  }
  return reached;
}
