import { z } from 'zod';
import {
  type Comparison,
  evaluateStepCondition,
  operandOf,
  type StepDecision,
} from '../../filter/step.ts';
import { conditionJsonSchemas, stepFilterProperties } from '../../filter/json-schemas.ts';
import { type BranchDecision, decideBranch } from '../../filter/branches.ts';
import type { Condition, FlatCondition } from '../../filter/filter.ts';
import { asCondition } from '../../filter/forms.ts';
import { type ContactHistory, historyNames, noHistory } from '../../filter/history.ts';
import { type ParsedStepFilter, parseStepFilter } from '../../filter/parse.ts';
import { ownKeys, selection } from '../../filter/selection.ts';
import { comparisonText, filterTexts, valueText } from '../../filter/words.ts';
import { whenRight } from '../../errors.ts';
import { limits } from '../../limits.ts';
import {
  addFault,
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
import type { StepEffects } from './effects.ts';
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

/** Maximum number of filters in all branches of a step. */
const stepFiltersMax = 200;

const jsonSchemas = conditionJsonSchemas(stepFilterProperties);

const documented = (id: string, schema: object) =>
  z.toJSONSchema(z.custom().meta({ id, ...schema }), { io: 'input', unrepresentable: 'any' });

/**
 * A filter, as a condition with groups or in its flat form. The path of an issue refers to the form
 * that was sent.
 */
const BranchFilter = z
  .custom<Condition | FlatCondition>()
  .superRefine((filter, context) => {
    for (const { field, code, message, received } of parseStepFilter(filter, '').problems) {
      const path = field === '' ? [] : field.split('.');
      context.addIssue({ code: 'custom', path, message, params: { code, received } });
    }
  })
  .meta({
    id: 'BranchFilter',
    anyOf: [
      documented('BranchCondition', jsonSchemas.condition),
      documented('FlatBranchCondition', jsonSchemas.flat),
    ],
  });

const FilterCondition = selection({
  mode: z.literal('filter'),
  branches: z
    .array(selection({ ...BranchNames, filter: BranchFilter }))
    .min(1)
    .max(limits.conditionBranches),
}).superRefine((config, context) => {
  checkBranchIds(context, 'branches', config.branches);
  const filters = parsedFilters(config).reduce((sum, parsed) => sum + parsed.filters, 0);
  if (filters <= stepFiltersMax) return;
  const message = `The branches must have at most ${stepFiltersMax} filters together, not ${filters}.`;
  addFault(context, ['branches'], 'too_big', message);
});

const ConditionConfig = ownKeys(
  z.discriminatedUnion('mode', [BinaryCondition, MultiCondition, FilterCondition]),
);
type ConditionConfig = z.output<typeof ConditionConfig>;
type FilterConfig = z.output<typeof FilterCondition>;

/** Chooses a branch by the contact, its history and the context. */
export const condition: StepModule<ConditionConfig> = {
  config: ConditionConfig,
  ways: 'branches',
  branches: branchesOf,
  settled: (config) =>
    config.mode === 'filter' ? { ...config, branches: config.branches.map(settledBranch) } : config,
  async play({ config }, effects) {
    const scope = await effects.readScope();
    if (config.mode !== 'filter') {
      const decision = evaluateStepCondition(config, scope);
      return { kind: 'branch', branch: decision.branch, output: { ...decision } };
    }
    const history = await readHistory(config, effects);
    const decision = decideBranch(config.branches, scope, history, effects.now());
    return { kind: 'branch', branch: decision.branch, output: { ...decision } };
  },
  explain(config, output) {
    // The output may come from the config of another version.
    if (output['mode'] === 'filter') {
      const branches = config.mode === 'filter' ? config.branches : [];
      return checkedText(branches, output as unknown as BranchDecision);
    }
    if (output['field'] === undefined) return null;
    const decision = output as unknown as StepDecision;
    const { field, operator, expectedValue: value, actualValue, result } = decision;
    const actual = valueText(actualValue);
    if (!operator) return `no branch holds: ${field} is ${actual}`;
    const comparison = comparisonText({ field, operator, value });
    return `${comparison} ${result ? 'holds' : 'does not hold'}: it is ${actual}`;
  },
  fieldsRead(config) {
    if (config.mode === 'filter') {
      return parsedFilters(config).flatMap(({ names }) =>
        names.map(({ field: at, name }) => ({ at, name })),
      );
    }
    const operands = comparisonsIn(config).flatMap(({ at, comparison }) => {
      const name = operandOf(comparison);
      return name === null ? [] : [{ at: `${at}valueOf`, name }];
    });
    return [{ at: 'field', name: config.field }, ...operands];
  },
  segmentsRead: (config) => parsedFilters(config).flatMap(({ mentions }) => mentions),
  mailRead: (config) => parsedFilters(config).flatMap(({ mailMentions }) => mailMentions),
  eventsRead(config) {
    return config.mode === 'filter' ? historyNames(conditionsOf(config)).events : [];
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
    {
      form: 'by filters',
      name: 'Who is it?',
      config: {
        mode: 'filter',
        branches: [
          {
            id: 'buyer',
            name: 'Bought this month',
            filter: {
              operator: 'AND',
              conditions: [
                { field: 'event.bought', operator: 'triggeredWithin', value: 30, unit: 'days' },
                { field: 'data.country', operator: 'equals', valueOf: 'context.country' },
              ],
            },
          },
        ],
      },
    },
  ],
};

const conditionsOf = ({ branches }: FilterConfig) =>
  branches.map(({ filter }) => asCondition(filter));

/** Returns the evaluated branches in words, each with its filters. */
function checkedText(branches: FilterConfig['branches'], { checked }: BranchDecision): string {
  const texts = checked.map(({ id, result }) => {
    const branch = branches.find((one) => one.id === id);
    const filters = branch ? ` (${filterTexts(asCondition(branch.filter)).join('; ')})` : '';
    return `"${branch?.name ?? id}"${filters} ${result ? 'holds' : 'does not hold'}`;
  });
  return texts.join(', ');
}

async function readHistory(config: FilterConfig, effects: StepEffects): Promise<ContactHistory> {
  const conditions = conditionsOf(config);
  const isNamed = Object.values(historyNames(conditions)).some((names) => names.length > 0);
  return isNamed ? effects.readHistory(conditions) : noHistory;
}

/**
 * Returns the parsed filter of each branch. Each name and each problem has its place in the config.
 */
function parsedFilters(config: ConditionConfig): ParsedStepFilter[] {
  if (config.mode !== 'filter') return [];
  return config.branches.map(({ filter }, index) =>
    parseStepFilter(filter, `branches.${index}.filter`),
  );
}

/** Returns a branch with its filter in the stored form: a condition with full field names. */
function settledBranch(branch: FilterConfig['branches'][number]) {
  const { condition: filter } = parseStepFilter(branch.filter, '');
  return { ...branch, filter: filter ?? branch.filter };
}

/** Returns the comparisons of a CONDITION, each with the prefix of its place in the config. */
function comparisonsIn(
  config: Exclude<ConditionConfig, FilterConfig>,
): { at: string; comparison: Comparison }[] {
  if (config.mode !== 'multi') return [{ at: '', comparison: config }];
  return config.branches.map((comparison, index) => ({ at: `branches.${index}.`, comparison }));
}

function branchesOf(config: ConditionConfig): Branch[] {
  if (config.mode !== 'multi' && config.mode !== 'filter') return ['yes', 'no'].map(plainBranch);
  return [...config.branches.map(({ id, name }) => ({ id, name })), plainBranch('default')];
}
