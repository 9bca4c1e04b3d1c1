import { z } from 'zod';
import { type Comparison, evaluateStepCondition, operandOf } from '../../filter/step.ts';
import { ownKeys, selection } from '../../filter/selection.ts';
import { whenRight } from '../../errors.ts';
import { limits } from '../../limits.ts';
import {
  BranchNames,
  checkBranchIds,
  checkComparison,
  checkField,
  conditionRoots,
  OfField,
  ofField,
  OfOperator,
  operandRoots,
} from './schemas.ts';
import { type Branch, plainBranch, type StepModule } from './step.ts';

const BinaryCondition = selection({
  mode: z.literal('binary').optional(),
  ...OfField,
}).superRefine(
  (config, context) => {
    const place = checkField(context, ['field'], config.field, conditionRoots);
    checkComparison(context, [], place, config, operandRoots);
  },
  whenRight(...ofField),
);

const MultiCondition = selection({
  mode: z.literal('multi'),
  field: z.string(),
  branches: z
    .array(
      ownKeys(
        selection({
          ...BranchNames,
          ...OfOperator,
        }),
      ),
    )
    .min(1)
    .max(limits.conditionBranches),
}).superRefine(({ field, branches }, context) => {
  const place = checkField(context, ['field'], field, conditionRoots);
  branches.forEach((branch, index) => {
    checkComparison(context, ['branches', index], place, branch, operandRoots);
  });
  checkBranchIds(context, 'branches', branches);
});

const ConditionConfig = ownKeys(z.discriminatedUnion('mode', [BinaryCondition, MultiCondition]));

/** Takes a branch that depends on a field of the contact or the context. */
export const condition: StepModule<z.output<typeof ConditionConfig>> = {
  config: ConditionConfig,
  ways: 'branches',
  branches: branchesOf,
  async play({ config }, effects) {
    const decision = evaluateStepCondition(config, await effects.readScope());
    return { kind: 'branch', branch: decision.branch, output: { ...decision } };
  },
  fieldsRead: (config) => [
    { at: 'field', name: config.field },
    ...comparisonsIn(config).flatMap(({ at, comparison }) => {
      const name = operandOf(comparison);
      return name === null ? [] : [{ at: `${at}valueOf`, name }];
    }),
  ],
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

/** Its comparisons, each with the prefix of their places in the config. */
function comparisonsIn(
  config: z.output<typeof ConditionConfig>,
): { at: string; comparison: Comparison }[] {
  if (config.mode !== 'multi') return [{ at: '', comparison: config }];
  return config.branches.map((comparison, index) => ({ at: `branches.${index}.`, comparison }));
}

/** Yes and no, or its own branches and `default`. */
function branchesOf(config: z.output<typeof ConditionConfig>): Branch[] {
  if (config.mode !== 'multi') return ['yes', 'no'].map(plainBranch);
  return [...config.branches.map(({ id, name }) => ({ id, name })), plainBranch('default')];
}
