import { operandFieldOf } from './filter.ts';
import { expectedValue, type FieldComparison, type FieldScope, isMet, operandOf } from './step.ts';
import { instantOf } from './value.ts';
import { limits } from '../limits.ts';

/** The conditions of triggers and waits on the events that they expect. */

/** All must hold. */
export type Where = readonly FieldComparison[];

export function meetsTrigger(where: Where, scope: Omit<FieldScope, 'context'>): boolean {
  return where.every((item) => isMet(item, { ...scope, context: null }));
}

/**
 * Returns the conditions of a wait that begins now. If `valueOf` names a field of the contact or the
 * context, the current value of the field replaces it. If the field has no value, or one that is too
 * long, `valueOf` stays, and the condition is never met (`meetsWait`).
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

/** True when an event meets the conditions of a wait, as they were resolved when the wait began. */
export function meetsWait(resolved: Where, scope: FieldScope): boolean {
  return resolved.every((item) => {
    const operand = operandOf(item);
    return (operand === null || isOfEvent(operand)) && isMet(item, scope);
  });
}

/**
 * Returns values that the data of an event must have, by key, to meet the conditions; null: there are
 * none. With these values, SQL finds the few waits for one order among a thousand, before the whole
 * conditions are evaluated. Dates are left out, because they also equal other texts. Keys with dots
 * are left out, because they may also be paths.
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
 * The conditions of a wait for its record: if the field in `valueOf` had no value, or one that was too
 * long, `value` is null.
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
