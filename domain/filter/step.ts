import { stepFieldOf, type ValueOperator } from './filter.ts';
import { compare, comparedValue, type ContactValues, valueOf } from './evaluate.ts';

/** The filter language as a CONDITION step uses it. */

interface Comparison {
  operator: ValueOperator;
  value?: unknown;
}

/** The config of the step: one comparison, or several branches tried in order. */
export type StepCondition =
  | ({ mode?: 'binary' | undefined; field: string } & Comparison)
  | { mode: 'multi'; field: string; branches: ({ id: string } & Comparison)[] };

/** The output of the step. For a multi condition: of the branch that matched. */
export interface StepDecision {
  field: string;
  /** Null when no branch matched. */
  operator: ValueOperator | null;
  expectedValue: unknown;
  /** As JSON; null when there is no value. */
  actualValue: unknown;
  result: boolean;
  /** `yes` or `no`; of a multi condition the id of the first branch that matched, or `default`. */
  branch: string;
}

/**
 * Decides which branch an execution takes.
 * @param scope.context the execution's context.
 */
export function evaluateStepCondition(
  config: StepCondition,
  scope: { contact: ContactValues; context: Record<string, unknown> | null },
): StepDecision {
  const { field } = config;
  const { contact, context } = scope;
  const place = stepFieldOf(field);
  // The context is read like the data of a contact.
  const source = place?.root === 'context' ? { ...contact, data: context } : contact;
  const value = place ? valueOf(place.field, source) : undefined;
  const isMet = ({ operator, value: given }: Comparison) =>
    place !== null && compare(operator, value, comparedValue(place.field, given));
  const actualValue = value instanceof Date ? value.toISOString() : (value ?? null);
  const decision = (by: Comparison | null, result: boolean, branch: string): StepDecision => ({
    field,
    operator: by?.operator ?? null,
    expectedValue: by?.value ?? null,
    actualValue,
    result,
    branch,
  });
  if (config.mode === 'multi') {
    const match = config.branches.find(isMet) ?? null;
    return decision(match, match !== null, match?.id ?? 'default');
  }
  const result = isMet(config);
  return decision(config, result, result ? 'yes' : 'no');
}
