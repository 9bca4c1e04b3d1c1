import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { listKnownSources } from '../../db/reads/uses/mail-sources.ts';
import { listSegmentReferences } from '../../db/segments/segments.ts';
import { Problem, whenRight, together } from '../../domain/errors.ts';
import type { BareName, Condition, Filter } from '../../domain/filter/filter.ts';
import { meansTheSame } from '../../domain/filter/forms.ts';
import { conditionJsonSchemas } from '../../domain/filter/json-schemas.ts';
import { parseCondition } from '../../domain/filter/parse.ts';
import {
  type MailMention,
  mailProblems,
  type SegmentMention,
  segmentProblems,
} from '../../domain/filter/references.ts';
import { refuseUnknownFields } from '../contacts/known-fields.ts';
import { inputSchema, addFault } from '../http/schemas.ts';

/** Conditions in requests and responses. */

/** A parsed condition of a request, with its references to segments. */
export interface GivenCondition {
  condition: Condition;
  /** References to segments. The `field` of each is a path inside the condition. */
  mentions: SegmentMention[];
  /** References to campaigns and templates, in the same form. */
  mailMentions: MailMention[];
  /**
   * Contact fields without a prefix, such as `plan` for `data.plan`. The `field` of each is a path
   * inside the condition, too.
   */
  bareNames: BareName[];
}

export type PlacedCondition = GivenCondition & { field: string };

const jsonSchemas = conditionJsonSchemas();

export const ConditionAnswer = z
  .custom<Condition>((value) => typeof value === 'object' && value !== null)
  .meta({ id: 'Condition', ...jsonSchemas.condition });

export const FlatAnswer = z
  .custom<{ operator: 'AND' | 'OR'; conditions: Filter[] }>(
    (value) => typeof value === 'object' && value !== null,
  )
  .meta({ id: 'FlatCondition', ...jsonSchemas.flat });

/**
 * Returns the condition of a body that may have it in two fields, with the field that contains it.
 * null counts as absent.
 * @param first the field that is used when both are set.
 */
export function placedCondition<Name extends string>(
  body: { readonly [name in Name]?: GivenCondition | null | undefined },
  first: Name,
  second: Name,
): PlacedCondition | null {
  const field = body[first] ? first : second;
  const given = body[field];
  return given ? { ...given, field } : null;
}

/**
 * A condition in the nested or the flat form. Issues have their position in the form that was sent.
 */
export const ConditionInput = z
  .unknown()
  .transform((input, context): GivenCondition => {
    const { condition, problems, ...references } = parseCondition(input, '');
    for (const { field, code, message, received } of problems) {
      context.addIssue({
        code: 'custom',
        path: field === '' ? [] : field.split('.'),
        message,
        params: { code, received },
      });
    }
    return condition ? { condition, ...references } : z.NEVER;
  })
  .meta({ id: 'ConditionInput', anyOf: [ConditionAnswer, FlatAnswer].map(inputSchema) });

/**
 * Returns the arguments of a `superRefine` that refuses two different conditions in a body with two
 * fields for its condition.
 * @param first the field that is used when both are set.
 */
export function refuseTwoMeanings<First extends string, Second extends string>(
  first: First,
  second: Second,
) {
  const rule = (
    body: { [K in First | Second]?: GivenCondition | null | undefined },
    context: z.core.$RefinementCtx,
  ): void => {
    const [one, other] = [body[first], body[second]];
    if (!one || !other || meansTheSame(one.condition, other.condition)) return;
    addFault(
      context,
      'custom',
      `Is another name of \`${first}\`, but has another value. Send only one of them.`,
      [second],
    );
  };
  return [rule, whenRight(first, second)] as const;
}

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
