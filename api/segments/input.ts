import { z } from 'zod';
import { whenRight } from '../../domain/errors.ts';
import { Description, Name } from '../http/schemas.ts';
import {
  ConditionInput,
  type GivenCondition,
  placedCondition,
  type PlacedCondition,
  refuseTwoMeanings,
} from './condition-input.ts';

/** Segments in requests. */

export const SegmentType = z.enum(['DYNAMIC', 'STATIC']);

export const conditionInputs = {
  condition: ConditionInput.nullish(),
  filters: ConditionInput.nullish().describe('Instead of condition'),
};

export const NewSegment = z
  .object({
    name: Name,
    description: Description.optional(),
    type: SegmentType.default('DYNAMIC'),
    ...conditionInputs,
    trackMembership: z.boolean().default(false),
  })
  .superRefine(...refuseTwoMeanings('condition', 'filters'))
  .superRefine(
    (body, context) => {
      const wrong = conditionFault(body.type, body, { isRequired: true });
      if (wrong) context.addIssue({ code: 'custom', path: [wrong.field], ...wrong });
    },
    whenRight('type', 'condition', 'filters'),
  );

export const SegmentChange = z
  .object({
    name: Name.optional(),
    description: Description.optional(),
    type: SegmentType.optional().describe('Cannot be changed'),
    ...conditionInputs,
    trackMembership: z
      .boolean()
      .optional()
      .describe('When it is switched off, stored members are removed without events'),
  })
  .superRefine(...refuseTwoMeanings('condition', 'filters'));

export interface GivenConditions {
  condition?: GivenCondition | null | undefined;
  filters?: GivenCondition | null | undefined;
}

/**
 * Returns the condition in a request. null counts as absent, so that a response can be sent back.
 */
export function givenCondition(body: GivenConditions): PlacedCondition | null {
  return placedCondition(body, 'condition', 'filters');
}

/**
 * Returns the error of a DYNAMIC segment without a condition, or of a STATIC segment with a
 * condition; null: the segment is valid.
 * @param options.isRequired false: the segment exists, and keeps its condition if the request has
 * no condition
 */
export function conditionFault(
  type: z.output<typeof SegmentType>,
  body: GivenConditions,
  { isRequired }: { isRequired: boolean },
) {
  const given = givenCondition(body);
  if (given && type === 'STATIC') {
    const message =
      'A STATIC segment has no condition. Add its members with POST /segments/{id}/members.';
    return { field: given.field, message, params: { code: 'not_allowed' as const } };
  }
  if (given || type === 'STATIC' || (!isRequired && body.condition !== null)) return null;
  const params = { code: 'invalid_type' as const, received: 'undefined' };
  return { field: 'condition', message: 'Is required for a DYNAMIC segment.', params };
}
