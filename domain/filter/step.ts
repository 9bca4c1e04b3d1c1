import {
  needsOf,
  operandFieldOf,
  type StepField,
  stepFieldOf,
  type ValueOperator,
} from './filter.ts';
import { compare, comparedValue, type ContactValues, valueOf } from './evaluate.ts';

/** The filter language as steps, triggers and exit rules use it. */

type Json = Record<string, unknown>;

/** The values that the fields of a comparison are read from. */
export interface FieldScope {
  contact: ContactValues;
  /** The data of the event that is checked; in a step, the context. */
  event: Json | null;
  /** The context of the execution; null for a trigger, which has no execution yet. */
  context: Json | null;
}

/**
 * An operator with its operand: a `value`, or the name of a field in `valueOf`. Read `valueOf` only
 * with `operandOf`, because all objects inherit a method of that name.
 */
export interface Comparison {
  operator: ValueOperator;
  value?: unknown;
}

export interface FieldComparison extends Comparison {
  field: string;
}

/**
 * The config of a CONDITION step in the modes without filters: one comparison, or several branches
 * that are tried in order.
 */
export type StepCondition =
  | ({ mode?: 'binary' | undefined } & FieldComparison)
  | { mode: 'multi'; field: string; branches: ({ id: string } & Comparison)[] };

/**
 * The output of a CONDITION without filters. With several branches, the operator and the values are
 * those of the matching branch.
 */
export interface StepDecision {
  field: string;
  /** null: no branch matched. */
  operator: ValueOperator | null;
  expectedValue: unknown;
  /** The compared value as JSON; null: the field has no value. */
  actualValue: unknown;
  result: boolean;
  /** `yes` or `no`; for several branches the id of the first matching one, or `default`. */
  branch: string;
}

/** Decides which branch an execution takes. */
export function evaluateStepCondition(
  config: StepCondition,
  scope: Pick<FieldScope, 'contact' | 'context'>,
): StepDecision {
  const { field } = config;
  // `event.` reads the context, because the context has the data of all events so far.
  const fields = { ...scope, event: scope.context };
  const actualValue = asJson(readField(stepFieldOf(field), fields));
  const decision = (by: Comparison | null, result: boolean, branch: string): StepDecision => ({
    field,
    operator: by?.operator ?? null,
    expectedValue: by && asJson(expectedValue(by, fields)),
    actualValue,
    result,
    branch,
  });
  if (config.mode === 'multi') {
    const match = config.branches.find((branch) => isMet({ ...branch, field }, fields)) ?? null;
    return decision(match, match !== null, match?.id ?? 'default');
  }
  const result = isMet(config, fields);
  return decision(config, result, result ? 'yes' : 'no');
}

/**
 * Returns true when a comparison holds. A comparison with `valueOf` never holds while the field in
 * `valueOf` is missing or null.
 */
export function isMet(comparison: FieldComparison, scope: FieldScope): boolean {
  const place = stepFieldOf(comparison.field);
  if (!place) return false;
  const expected = expectedValue(comparison, scope);
  if (operandOf(comparison) !== null && expected === null) return false;
  const value = readField(place, scope);
  return compare(comparison.operator, value, comparedValue(place.field, expected));
}

/**
 * Returns the field name in `valueOf`; null: the comparison has a value, or its operator needs none
 * (`exists`).
 */
export function operandOf(comparison: Comparison): string | null {
  const { valueOf } = comparison as { valueOf?: unknown };
  return typeof valueOf === 'string' && needsOf(comparison.operator) === 'value' ? valueOf : null;
}

/** Returns the field names in comparisons, each with its place: `0.field`, `0.valueOf`. */
export function fieldsOf(items: readonly FieldComparison[]): { at: string; name: string }[] {
  return items.flatMap((item, index) => {
    const operand = operandOf(item);
    const operands = operand === null ? [] : [{ at: `${index}.valueOf`, name: operand }];
    return [{ at: `${index}.field`, name: item.field }, ...operands];
  });
}

/**
 * Returns the value on the right side of a comparison; null: the field in `valueOf` has no value.
 */
export function expectedValue(comparison: Comparison, scope: FieldScope): unknown {
  const operand = operandOf(comparison);
  return operand === null ? comparison.value : asJson(readField(operandFieldOf(operand), scope));
}

/** Returns the value of a field: a time as Date, or JSON; undefined when there is none. */
export function readField(
  place: StepField | null,
  { contact, event, context }: FieldScope,
): unknown {
  if (!place) return undefined;
  if (place.root === 'contact') return valueOf(place.field, contact);
  // Fields of the event and the context are looked up in the same way as contact data.
  return valueOf(place.field, { ...contact, data: place.root === 'event' ? event : context });
}

/** Returns a value as JSON: a time becomes text, a missing value null. */
export function asJson(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : (value ?? null);
}
