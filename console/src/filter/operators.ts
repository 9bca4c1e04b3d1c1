import type { Filter } from './tree.ts';

export type Operator = Filter['operator'];

/** The kind of a field decides which operators there are. */
export type FieldKind = 'email' | 'subscribed' | 'time' | 'data' | 'activity' | 'segment';

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

const operators: Record<FieldKind, readonly Operator[]> = {
  email: [...equality, ...containing],
  subscribed: equality,
  time: [...equality, ...order, ...age],
  data: [...equality, ...containing, ...order, ...age, 'exists', 'notExists'],
  activity: happened,
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

export function kindOfField(field: string): FieldKind {
  if (field === 'email' || field === 'subscribed') return field;
  if (field === 'createdAt' || field === 'updatedAt') return 'time';
  if (field.startsWith('segment.')) return 'segment';
  if (/^(event|email|campaign|template)\./.test(field)) return 'activity';
  return 'data';
}

export const operatorsOf = (field: string): readonly Operator[] => operators[kindOfField(field)];

/** An operator in words, which depend on the kind of values that it compares. */
export const wordOf = (operator: Operator, isTime: boolean): string =>
  (isTime && timeWords[operator]) || words[operator];

const windows: readonly Operator[] = [
  ...age,
  'triggeredWithin',
  'triggeredOlderThan',
  'notTriggeredWithin',
];

/** Returns true if the value is a length of time with a unit. */
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

/** Returns true if nothing is left to be filled in. */
export function isComplete({ field, operator, value, unit }: Filter): boolean {
  if (field === '' || field.endsWith('.')) return false;
  if (!hasValue(operator)) return true;
  if (hasUnit(operator)) return typeof value === 'number' && unit !== undefined;
  return value !== undefined;
}

/** Returns the line after its field was chosen: an operator and a value stay if they still fit. */
export function withField(filter: Filter, field: string): Filter {
  const allowed = operatorsOf(field);
  const isSameKind = kindOfField(filter.field) === kindOfField(field);
  const operator = allowed.includes(filter.operator) ? filter.operator : allowed[0]!;
  const { value, unit } = filter;
  if (hasUnit(operator) && unit) return { field, operator, value, unit };
  if (kindOfField(field) === 'subscribed') return { field, operator, value: true };
  return { field, operator, ...(isSameKind && filter.field === field ? { value } : {}) };
}

/** Returns the line after its operator was chosen. */
export function withOperator(
  { field, operator: before, value, unit }: Filter,
  operator: Operator,
): Filter {
  if (!hasValue(operator)) return { field, operator };
  if (hasUnit(operator)) {
    return { field, operator, value: hasUnit(before) ? value : 7, unit: unit ?? 'days' };
  }
  const isKept = value !== undefined && !hasUnit(before);
  return { field, operator, ...(isKept && { value }) };
}
