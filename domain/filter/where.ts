import { operandFieldOf } from './filter.ts';
import { expectedValue, type FieldComparison, type FieldScope, isMet, operandOf } from './step.ts';
import { instantOf } from './value.ts';
import { limits } from '../limits.ts';

/** Conditions of triggers and waits on the events that they expect. */

/** Conditions that must all hold. */
export type Where = readonly FieldComparison[];

export function meetsTrigger(where: Where, scope: Omit<FieldScope, 'context'>): boolean {
  return where.every((item) => isMet(item, { ...scope, context: null }));
}

/**
 * Returns the conditions of a wait that begins now. The current value replaces each `valueOf` that
 * names a field of the contact or the context. If there is no value, or a value that is too long,
 * `valueOf` stays, and the condition never holds (`meetsWait`).
 */
export function resolvedWhere(
  where: Where,
  scope: Pick<FieldScope, 'contact' | 'context'>,
): FieldComparison[] {
  return where.map((item) => {
    const operand = operandOf(item);
    if (operand === null || isOfEvent(operand)) return item;
    const value = expectedValue(item, { ...scope, event: null });
    const isComparable = value !== null && JSON.stringify(value).length <= limits.whereValueChars;
    return isComparable ? { field: item.field, operator: item.operator, value } : item;
  });
}

/**
 * Returns true when an event meets the conditions of a wait, as `resolvedWhere` returned them when
 * the wait began.
 */
export function meetsWait(resolved: Where, scope: FieldScope): boolean {
  return resolved.every((item) => {
    const operand = operandOf(item);
    return (operand === null || isOfEvent(operand)) && isMet(item, scope);
  });
}

/**
 * Returns the values, by key, that the data of an event must have to meet the conditions; null: the
 * conditions require no fixed value. With these values, SQL selects a few of a thousand waits
 * before all conditions are evaluated. Dates are left out because different texts can be the same
 * date. Keys with dots are left out because they may also be paths.
 */
export function requiredData(resolved: Where): Record<string, unknown> | null {
  const required = resolved.flatMap(({ field, operator, value }) => {
    const key = /^event\.([^.]+)$/s.exec(field)?.[1];
    const isExact = operator === 'equals' && value != null && instantOf(value) === null;
    return key !== undefined && isExact ? [[key, value] as const] : [];
  });
  return required.length === 0 ? null : Object.fromEntries(required);
}

/**
 * Returns the conditions of a wait as its record shows them. `value` is null if the field in
 * `valueOf` had no value, or a value that was too long.
 */
export function shownWhere(resolved: Where): object[] {
  return resolved.map((item) => {
    const operand = operandOf(item);
    if (operand === null || isOfEvent(operand)) return item;
    return { field: item.field, operator: item.operator, value: null };
  });
}

function isOfEvent(operand: string): boolean {
  return operandFieldOf(operand)?.root === 'event';
}
