import { z } from 'zod';
import { stepFieldOf } from '../../filter/filter.ts';
import { evaluateStepCondition } from '../../filter/step.ts';
import { selection } from '../../filter/selection.ts';
import { whenRight } from '../../errors.ts';
import { limits } from '../../limits.ts';
import {
  addFault,
  checkComparison,
  checkOfField,
  Comparison,
  ofField,
  OfField,
  unsupportedField,
} from './schemas.ts';
import type { StepModule } from './step.ts';

const BinaryCondition = selection({
  mode: z.literal('binary').optional(),
  ...OfField,
}).superRefine(checkOfField, whenRight(...ofField));

const MultiCondition = selection({
  mode: z.literal('multi'),
  field: z.string(),
  branches: z
    .array(
      selection({
        id: z.string().min(1).max(limits.nameChars),
        name: z.string().trim().min(1).max(limits.nameChars),
        ...Comparison,
      }),
    )
    .min(1)
    .max(limits.conditionBranches),
}).superRefine(({ field, branches }, context) => {
  const place = stepFieldOf(field);
  if (!place) addFault(context, ['field'], 'unsupported_field', unsupportedField);
  const seen = new Set(['default']);
  branches.forEach((branch, index) => {
    if (place) checkComparison(context, ['branches', index], place.field, branch);
    if (seen.has(branch.id)) {
      const message = branch.id === 'default' ? 'Is a reserved id.' : 'Must be unique.';
      addFault(context, ['branches', index, 'id'], 'custom', message);
    }
    seen.add(branch.id);
  });
});

const ConditionConfig = z.discriminatedUnion('mode', [BinaryCondition, MultiCondition]);

/** Takes a branch that depends on a field of the contact or the context. */
export const condition: StepModule<z.output<typeof ConditionConfig>> = {
  config: ConditionConfig,
  ways: 'branches',
  branches: branchesOf,
  async play({ config }, effects) {
    const decision = evaluateStepCondition(config, await effects.readScope());
    return { kind: 'branch', branch: decision.branch, output: { ...decision } };
  },
  fieldsRead: ({ field }) => (typeof field === 'string' ? [{ at: 'field', name: field }] : []),
  problems({ name, config }, { taken }) {
    const named = taken.flatMap((branch) => branch ?? []);
    if (named.length === 0) return [`"${name}" leads nowhere.`];
    const known = branchesOf(config);
    return named
      .filter((branch) => !known.includes(branch))
      .map((branch) => `"${name}" has a way for the branch "${branch}" it no longer has.`);
  },
  label: 'CONDITION',
  examples: [
    {
      name: 'On which plan?',
      config: {
        mode: 'multi',
        field: 'plan',
        branches: [{ id: 'pro', name: 'Pro', operator: 'equals', value: 'pro' }],
      },
    },
  ],
};

/** Yes and no, or the ids of its branches and `default`. */
function branchesOf(config: z.output<typeof ConditionConfig>): string[] {
  if (config.mode !== 'multi') return ['yes', 'no'];
  return [...config.branches.map(({ id }) => id), 'default'];
}
