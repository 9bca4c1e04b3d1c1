import { z } from 'zod';
import { whenRight } from '../../domain/errors.ts';
import type { BareName, Condition, Filter } from '../../domain/filter/filter.ts';
import { meansTheSame } from '../../domain/filter/forms.ts';
import { conditionJsonSchemas } from '../../domain/filter/json-schemas.ts';
import { parseCondition } from '../../domain/filter/parse.ts';
import type { MailMention, SegmentMention } from '../../domain/filter/references.ts';
import { addFault, inputSchema } from '../http/schemas.ts';

/** Conditions in requests and responses. */

/** A parsed condition of a request, with its references to segments. */
export interface GivenCondition {
  condition: Condition;
  /** References to segments. The `field` of each is a path inside the condition. */
  mentions: SegmentMention[];
  /** References to campaigns and templates, also with a path inside the condition. */
  mailMentions: MailMention[];
  /**
   * Contact fields without a prefix, such as `plan` for `data.plan`. The `field` of each bare name
   * is a path inside the condition, too.
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
 * A condition in the nested or the flat form. The position of an issue refers to the form that the
 * request used.
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
