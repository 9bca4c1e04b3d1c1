import {
  type Condition,
  type EmailActivity,
  type Field,
  fieldOf,
  type Filter,
  isValueOperator,
  type MailField,
  type OccurrenceOperator,
  type ValueField,
  type ValueOperator,
  type WindowOperator,
} from './filter.ts';
import {
  compareCodePoints,
  cutOff,
  instantOf,
  isJsonEqual,
  numberOf,
  readPath,
  startOfDay,
} from './value.ts';
import { lowerAscii } from '../email-address.ts';

/**
 * Evaluates filters. Equality does not convert types: `"5"` is not 5. Comparisons of order, such as
 * `greaterThan`, also read numbers and dates in texts. A missing value equals only null.
 */

export interface ContactValues {
  email: string;
  subscribed: boolean;
  createdAt: Date;
  updatedAt: Date;
  data: Record<string, unknown> | null;
}

/** A contact, with the facts that conditions ask for. */
export interface Subject extends ContactValues {
  /** Returns the time of the contact's last event of this name; null: never. */
  lastEvent(name: string): Date | null;
  /**
   * Returns when an activity last happened to any of the contact's emails; null: never. For each
   * email, only the first time counts.
   */
  lastActivity(activity: EmailActivity): Date | null;
  /** Like `lastActivity`, but only for the contact's emails of one campaign or template. */
  lastMail(field: MailField): Date | null;
  /** Returns true if the contact is in the segment; false if the segment was deleted. */
  isMember(segmentId: string): boolean;
}

/**
 * Returns true when the contact meets the condition.
 * @param condition as `parseCondition` returns it
 */
export function evaluateCondition(condition: Condition, subject: Subject, now: Date): boolean {
  return holds(condition, (filter) => isFilterMet(filter, subject, now));
}

/** Returns true when the condition holds. `isMet` decides whether a single filter holds. */
export function holds(condition: Condition, isMet: (filter: Filter) => boolean): boolean {
  const isGroupMet = ({ filters, conditions }: Condition['groups'][number]) =>
    filters.every(isMet) && (!conditions || holds(conditions, isMet));
  const { logic, groups } = condition;
  return logic === 'AND' ? groups.every(isGroupMet) : groups.some(isGroupMet);
}

export function isFilterMet(filter: Filter, subject: Subject, now: Date): boolean {
  const field = fieldOf(filter.field);
  if (!field) return false;
  switch (field.kind) {
    case 'event':
      return hasOccurred(filter, subject.lastEvent(field.name), now);
    case 'activity':
      return hasOccurred(filter, subject.lastActivity(field.name), now);
    case 'mail':
      return hasOccurred(filter, subject.lastMail(field), now);
    case 'segment':
      return subject.isMember(field.id) === (filter.operator === 'memberOfSegment');
    default: {
      const value = comparedValue(field, filter.value);
      return evaluateFilter({ ...filter, value }, valueOf(field, subject), now);
    }
  }
}

/** Returns the value of a field; undefined when there is none. */
export function valueOf(field: ValueField, contact: ContactValues): unknown {
  switch (field.kind) {
    case 'email':
    case 'subscribed':
      return contact[field.kind];
    case 'time':
      return contact[field.name];
    case 'data':
      return readPath(contact.data, field.path);
  }
}

/**
 * Returns a value in the form that filters compare: an address in lower case, and `subscribed` as a
 * boolean, also when it is given as text.
 */
export function comparedValue({ kind }: Field, value: unknown): unknown {
  if (kind === 'email' && typeof value === 'string') return lowerAscii(value);
  if (kind === 'subscribed' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}

/**
 * Returns true when the value meets a filter on a value.
 * @param value a time as Date, or JSON; undefined and null: missing
 */
export function evaluateFilter(
  filter: Pick<Filter, 'operator' | 'value' | 'unit'>,
  value: unknown,
  now: Date,
): boolean {
  if (isValueOperator(filter.operator)) return compare(filter.operator, value, filter.value);
  const instant = instantOf(value);
  if (instant === null) return false;
  const isYoung = instant >= cutOff(filter, now);
  return (filter.operator as WindowOperator) === 'within' ? isYoung : !isYoung;
}

/**
 * Returns true when `operator` holds between `value` and `given`.
 * @param value as for `evaluateFilter`
 */
export function compare(operator: ValueOperator, value: unknown, given: unknown): boolean {
  const isPresent = value !== undefined && value !== null;
  switch (operator) {
    case 'exists':
      return isPresent;
    case 'notExists':
      return !isPresent;
    case 'equals':
      return isPresent ? isEqual(value, given) : given === null;
    case 'notEquals':
      return isPresent && !isEqual(value, given);
    case 'contains':
      return isPresent && isIn(value, given);
    case 'notContains':
      return isPresent && !isIn(value, given);
  }
  const difference = isPresent ? orderOf(value, given) : null;
  if (difference === null) return false;
  switch (operator) {
    case 'greaterThan':
      return difference > 0;
    case 'lessThan':
      return difference < 0;
    case 'greaterThanOrEqual':
      return difference >= 0;
    case 'lessThanOrEqual':
      return difference <= 0;
  }
}

/** A date or date-time equals each date and date-time of the same day in UTC. */
function isEqual(value: unknown, given: unknown): boolean {
  const day = instantOf(given);
  if (day === null) return isJsonEqual(value, given);
  const instant = instantOf(value);
  return instant !== null && startOfDay(instant) === startOfDay(day);
}

function isIn(value: unknown, given: unknown): boolean {
  if (Array.isArray(value)) return value.some((item) => isEqual(item, given));
  return typeof value === 'string' && typeof given === 'string' && value.includes(given);
}

/**
 * Compares two values as numbers, otherwise as dates, otherwise as texts; null: the values have no
 * order.
 */
function orderOf(value: unknown, given: unknown): number | null {
  for (const read of [numberOf, instantOf]) {
    const [one, other] = [read(value), read(given)];
    if (one !== null && other !== null) return one - other;
  }
  if (typeof value !== 'string' || typeof given !== 'string') return null;
  return compareCodePoints(value, given);
}

function hasOccurred(filter: Filter, last: Date | null, now: Date): boolean {
  const operator = filter.operator as OccurrenceOperator;
  if (operator === 'triggered' || operator === 'notTriggered') {
    return (last !== null) === (operator === 'triggered');
  }
  const isRecent = last !== null && last.getTime() >= cutOff(filter, now);
  switch (operator) {
    case 'triggeredWithin':
      return isRecent;
    case 'triggeredOlderThan':
      return last !== null && !isRecent;
    case 'notTriggeredWithin':
      return !isRecent;
  }
}
