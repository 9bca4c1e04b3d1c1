import { z } from 'zod';
import { stepFieldOf } from '../../filter/filter.ts';
import { evaluateStepCondition } from '../../filter/step.ts';
import { selection } from '../../filter/selection.ts';
import { whenRight } from '../../errors.ts';
import { limits } from '../../limits.ts';
import {
  addFault,
  BranchNames,
  checkBranchIds,
  checkComparison,
  checkOfField,
  Comparison,
  ofField,
  OfField,
  unsupportedField,
} from './schemas.ts';
import { type Branch, plainBranch, type StepModule } from './step.ts';

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
        ...BranchNames,
        ...Comparison,
      }),
    )
    .min(1)
    .max(limits.conditionBranches),
}).superRefine(({ field, branches }, context) => {
  const place = stepFieldOf(field);
  if (!place) addFault(context, ['field'], 'unsupported_field', unsupportedField);
  if (place) {
    branches.forEach((branch, index) => {
      checkComparison(context, ['branches', index], place.field, branch);
    });
  }
  checkBranchIds(context, 'branches', branches);
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

/** Yes and no, or its own branches and `default`. */
function branchesOf(config: z.output<typeof ConditionConfig>): Branch[] {
  if (config.mode !== 'multi') return ['yes', 'no'].map(plainBranch);
  return [...config.branches.map(({ id, name }) => ({ id, name })), plainBranch('default')];
}
