import type { Database } from '../../db/database.ts';
import { listKnownSources } from '../../db/reads/uses/mail-sources.ts';
import { listSegmentReferences } from '../../db/segments/segments.ts';
import { Problem, together } from '../../domain/errors.ts';
import {
  type MailMention,
  mailProblems,
  type SegmentMention,
  segmentProblems,
} from '../../domain/filter/references.ts';
import { refuseUnknownFields } from '../contacts/known-fields.ts';
import type { PlacedCondition } from './condition-input.ts';

/** Checks the references of conditions. */

/**
 * Refuses a condition with unknown campaigns or templates, with unknown, circular or too many
 * segments, or with names without a prefix that no contact has.
 * @param selfId the segment that has the condition; undefined: the segment is new, or the condition
 * belongs to no segment.
 * @throws Problem VALIDATION_ERROR
 */
export async function refuseBadReferences(
  db: Database,
  projectId: string,
  given: PlacedCondition | null,
  selfId?: string,
): Promise<void> {
  if (!given) return;
  const inside = <T extends { field: string }>(one: T): T => ({
    ...one,
    field: `${given.field}.${one.field}`,
  });
  await together(
    () => refuseUnknownFields(db, projectId, given.bareNames.map(inside)),
    () => refuseBadSegments(db, projectId, given.mentions.map(inside), selfId),
    () => refuseUnknownMail(db, projectId, given.mailMentions.map(inside)),
  );
}

async function refuseUnknownMail(
  db: Database,
  projectId: string,
  mentions: readonly MailMention[],
): Promise<void> {
  const errors = mailProblems(mentions, await listKnownSources(db, projectId, mentions));
  if (errors.length > 0) throw new Problem('VALIDATION_ERROR', { errors });
}

async function refuseBadSegments(
  db: Database,
  projectId: string,
  mentions: readonly SegmentMention[],
  selfId: string | undefined,
): Promise<void> {
  if (mentions.length === 0) return;
  const ids = mentions.map(({ segmentId }) => segmentId);
  const segments = await listSegmentReferences(db, projectId, ids);
  const errors = segmentProblems(mentions, segments, selfId);
  if (errors.length > 0) throw new Problem('VALIDATION_ERROR', { errors });
}
