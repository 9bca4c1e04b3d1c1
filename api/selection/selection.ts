import { z } from 'zod';
import type { ContactSelection } from '../../db/reads/contacts/matching.ts';
import { selection } from '../../domain/filter/selection.ts';
import { limits } from '../../domain/limits.ts';
import { ConditionInput, placedCondition, refuseTwoMeanings } from '../segments/condition-input.ts';

/** Selects contacts by a condition, a part of the address, or the subscription. */

export const SelectionFields = selection({
  condition: ConditionInput.nullish().describe('As in segments'),
  filters: ConditionInput.nullish().describe('Instead of condition'),
  search: z
    .string()
    .max(limits.searchChars)
    .optional()
    .describe('Part of the address, in any case; % and _ are plain characters'),
  subscribed: z.boolean().optional(),
});

type Selection = z.output<typeof SelectionFields>;

/** Arguments of `superRefine` that refuse two different conditions. */
export const oneCondition = refuseTwoMeanings('condition', 'filters');

/** Returns the condition of a selection, with the field that contains it. */
export function givenCondition(body: Pick<Partial<Selection>, 'condition' | 'filters'>) {
  return placedCondition<'condition' | 'filters'>(body, 'condition', 'filters');
}

export function selectionOf({ search, subscribed, ...body }: Selection): ContactSelection {
  return { search, subscribed, condition: givenCondition(body)?.condition ?? null };
}

/** Example of a selection, for the documentation. */
export const selectionExample = {
  condition: {
    logic: 'AND',
    groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }],
  },
  subscribed: true,
};
