import { type Filter, operandOf } from './tree.ts';

export type Operator = Filter['operator'];

/** Fields that begin with `event.` in the filters of a workflow. */
export interface JourneyFields {
  /** Data fields of the event that starts the workflow: `event.total`. */
  eventData: ReadonlySet<string>;
  /** Fields that stand for all past events of a name: `event.bought`. */
  eventNames: ReadonlySet<string>;
}

/** The kind of a field, which decides its operators. */
export type FieldKind =
  | 'email'
  | 'subscribed'
  | 'time'
  | 'data'
  | 'activity'
  | 'segment'
  /**
   * Data of the starting event, or all past events of a name. The operator decides between the two.
   */
  | 'dataOrActivity';

const equality = ['equals', 'notEquals'] as const;
const containing = ['contains', 'notContains'] as const;
const order = ['greaterThan', 'lessThan', 'greaterThanOrEqual', 'lessThanOrEqual'] as const;
const age = ['within', 'olderThan'] as const;
const happened = [
  'triggered',
  'notTriggered',
  'triggeredWithin',
  'triggeredOlderThan',
  'notTriggeredWithin',
] as const;

const comparisons = [...equality, ...containing, ...order, ...age, 'exists', 'notExists'] as const;

const operators: Record<FieldKind, readonly Operator[]> = {
  email: [...equality, ...containing],
  subscribed: equality,
  time: [...equality, ...order, ...age],
  data: comparisons,
  activity: happened,
  dataOrActivity: [...comparisons, ...happened],
  segment: ['memberOfSegment', 'notMemberOfSegment'],
};

const words: Record<Operator, string> = {
  equals: 'equals',
  notEquals: 'does not equal',
  contains: 'contains',
  notContains: 'does not contain',
  greaterThan: 'is greater than',
  lessThan: 'is less than',
  greaterThanOrEqual: 'is at least',
  lessThanOrEqual: 'is at most',
  within: 'is in the last',
  olderThan: 'is older than',
  exists: 'exists',
  notExists: 'does not exist',
  triggered: 'has happened',
  notTriggered: 'has never happened',
  triggeredWithin: 'has happened in the last',
  triggeredOlderThan: 'last happened longer ago than',
  notTriggeredWithin: 'has not happened in the last',
  memberOfSegment: 'is a member',
  notMemberOfSegment: 'is not a member',
};

const timeWords: Partial<Record<Operator, string>> = {
  equals: 'is on',
  notEquals: 'is not on',
  greaterThan: 'is after',
  lessThan: 'is before',
  greaterThanOrEqual: 'is at or after',
  lessThanOrEqual: 'is at or before',
};

export function kindOfField(field: string, journey?: JourneyFields): FieldKind {
  if (field === 'email' || field === 'subscribed') return field;
  if (field === 'createdAt' || field === 'updatedAt') return 'time';
  if (field.startsWith('segment.')) return 'segment';
  if (journey && field.startsWith('event.')) {
    const isData = journey.eventData.has(field);
    if (isData !== journey.eventNames.has(field)) return isData ? 'data' : 'activity';
    return 'dataOrActivity';
  }
  if (/^(event|email|campaign|template)\./.test(field)) return 'activity';
  return 'data';
}

export const operatorsOf = (field: string, journey?: JourneyFields): readonly Operator[] =>
  operators[kindOfField(field, journey)];

/** Returns an operator in words. For times, some operators have other words. */
export const wordOf = (operator: Operator, isTime: boolean): string =>
  (isTime && timeWords[operator]) || words[operator];

const windows: readonly Operator[] = [
  ...age,
  'triggeredWithin',
  'triggeredOlderThan',
  'notTriggeredWithin',
];

/** Returns true if the operator's value is a length of time with a unit. */
export const hasUnit = (operator: Operator): boolean => windows.includes(operator);

const withoutValue: readonly Operator[] = [
  'exists',
  'notExists',
  'triggered',
  'notTriggered',
  'memberOfSegment',
  'notMemberOfSegment',
];

export const hasValue = (operator: Operator): boolean => !withoutValue.includes(operator);

/** Returns true if the operator can compare with another field instead of a value. */
export const takesOperand = (operator: Operator): boolean =>
  hasValue(operator) && !hasUnit(operator);

/** Returns the filter with another field in place of its value. */
export const withOperand = ({ field, operator }: Filter, operand: string): Filter =>
  ({ field, operator, valueOf: operand }) as Filter;

/** Returns true if no part of the filter is left to be filled in. */
export function isComplete(filter: Filter): boolean {
  const { field, operator, value, unit } = filter;
  if (field === '' || field.endsWith('.')) return false;
  if (!hasValue(operator)) return true;
  if (operandOf(filter) !== undefined) return operandOf(filter) !== '';
  if (hasUnit(operator)) return typeof value === 'number' && unit !== undefined;
  return value !== undefined;
}

/** Returns the filter with another field. The operator and the value stay if they fit the field. */
export function withField(filter: Filter, field: string, journey?: JourneyFields): Filter {
  const allowed = operatorsOf(field, journey);
  const operator = allowed.includes(filter.operator) ? filter.operator : allowed[0]!;
  const { value, unit } = filter;
  if (hasUnit(operator) && unit) return { field, operator, value, unit };
  const operand = operandOf(filter);
  if (operand !== undefined && takesOperand(operator)) {
    return withOperand({ field, operator }, operand);
  }
  if (kindOfField(field, journey) === 'subscribed') return { field, operator, value: true };
  return { field, operator, ...(filter.field === field ? { value } : {}) };
}

/** Returns the filter with another operator. The value stays if it fits the operator. */
export function withOperator(filter: Filter, operator: Operator): Filter {
  const { field, operator: before, value, unit } = filter;
  if (!hasValue(operator)) return { field, operator };
  if (hasUnit(operator)) {
    return { field, operator, value: hasUnit(before) ? value : 7, unit: unit ?? 'days' };
  }
  const operand = operandOf(filter);
  if (operand !== undefined) return withOperand({ field, operator }, operand);
  const isKept = value !== undefined && !hasUnit(before);
  return { field, operator, ...(isKept && { value }) };
}
