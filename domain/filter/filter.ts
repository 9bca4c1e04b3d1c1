/**
 * The filter language of segments, campaign audiences and CONDITION steps: its types, its fields
 * and the operators of each field. `evaluate.ts` evaluates it in memory; `db/sql/filter.ts` does
 * the same in SQL.
 */
export interface Condition {
  logic: 'AND' | 'OR';
  groups: FilterGroup[];
}

/**
 * Filters and a nested condition, all joined by AND. A group has filters, a nested condition, or
 * both.
 */
export interface FilterGroup {
  filters: Filter[];
  conditions?: Condition;
}

export interface Filter {
  field: string;
  operator: Operator;
  /** Any JSON; absent for operators without a value. */
  value?: unknown;
  /** The unit of a `value` that is a duration. */
  unit?: Unit;
}

/** A condition without nesting, as a list. */
export interface FlatCondition {
  operator: 'AND' | 'OR';
  conditions: Filter[];
}

const equality = ['equals', 'notEquals'] as const;
const containment = ['contains', 'notContains'] as const;
const order = ['greaterThan', 'lessThan', 'greaterThanOrEqual', 'lessThanOrEqual'] as const;
const presence = ['exists', 'notExists'] as const;
const window = ['within', 'olderThan'] as const;
const occurrence = ['triggered', 'notTriggered'] as const;
const occurrenceWindow = ['triggeredWithin', 'triggeredOlderThan', 'notTriggeredWithin'] as const;
const membership = ['memberOfSegment', 'notMemberOfSegment'] as const;

/**
 * Operators that do not depend on the current time. Comparisons in steps, triggers and exit rules
 * allow only these; filters of segments and of a CONDITION allow all operators.
 */
export const valueOperators = [...equality, ...containment, ...order, ...presence] as const;

export const operators = [
  ...valueOperators,
  ...window,
  ...occurrence,
  ...occurrenceWindow,
  ...membership,
] as const;

export type ValueOperator = (typeof valueOperators)[number];
export type OrderOperator = (typeof order)[number];
export type WindowOperator = (typeof window)[number];
export type OccurrenceOperator = (typeof occurrence)[number] | (typeof occurrenceWindow)[number];
export type Operator = (typeof operators)[number];

const withoutValue: readonly Operator[] = [...presence, ...occurrence, ...membership];
const withUnit: readonly Operator[] = [...window, ...occurrenceWindow];

/** Returns the kind of operand that an operator needs: none, a value, or a duration. */
export function needsOf(operator: Operator): 'nothing' | 'value' | 'duration' {
  if (withoutValue.includes(operator)) return 'nothing';
  return withUnit.includes(operator) ? 'duration' : 'value';
}

/**
 * Returns true for operators that compare with any JSON value, not only with text, numbers and
 * booleans.
 */
export function isEquality(operator: Operator): boolean {
  return (equality as readonly Operator[]).includes(operator);
}

/** Returns true for operators about past events or mail. */
export function isOccurrence(operator: Operator): operator is OccurrenceOperator {
  return ([...occurrence, ...occurrenceWindow] as readonly Operator[]).includes(operator);
}

export function isValueOperator(operator: Operator): operator is ValueOperator {
  return (valueOperators as readonly Operator[]).includes(operator);
}

export const unitMs = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 } as const;

export type Unit = keyof typeof unitMs;

/** Activities of an email. Each has a time of its own. */
export const emailActivities = [
  'opened',
  'clicked',
  'bounced',
  'complained',
  'sent',
  'delivered',
  'humanOpened',
  'humanClicked',
] as const;

export type EmailActivity = (typeof emailActivities)[number];

/** Sources of mail in field names such as `campaign.<id>.opened`. */
export const mailSources = ['campaign', 'template'] as const;

export type MailSource = (typeof mailSources)[number];

/** Events of the mail of one campaign or template. Clicks on a single link are not listed here. */
export const mailEvents = [
  ...emailActivities,
  'unsubscribed',
  'failed',
  'withheld',
  'converted',
] as const;

/** `link.<linkId>`: a click on the link with this id. */
export type MailEvent = (typeof mailEvents)[number] | `link.${string}`;

/** Returns the id of the link in an event `link.<linkId>`; null for all other events. */
export function linkOfEvent(event: string): string | null {
  return /^link\.([0-9a-f]{16})$/.exec(event)?.[1] ?? null;
}

function isMailEvent(text: string): text is MailEvent {
  return (mailEvents as readonly string[]).includes(text) || linkOfEvent(text) !== null;
}

export interface MailField {
  kind: 'mail';
  source: MailSource;
  id: string;
  event: MailEvent;
}

/** A field of the contact or, in a step, of a JSON document such as the context. */
export type ValueField =
  | { kind: 'email' | 'subscribed' }
  | { kind: 'time'; name: 'createdAt' | 'updatedAt' }
  /** Keys from the outermost to the innermost object. */
  | { kind: 'data'; path: string[] };

export type Field =
  | ValueField
  | { kind: 'event'; name: string }
  | { kind: 'activity'; name: EmailActivity }
  | MailField
  | { kind: 'segment'; id: string };

export const operatorsOf: Readonly<Record<Field['kind'], readonly Operator[]>> = {
  email: [...equality, ...containment],
  subscribed: equality,
  time: [...equality, ...order, ...window],
  data: [...valueOperators, ...window],
  event: [...occurrence, ...occurrenceWindow],
  activity: [...occurrence, ...occurrenceWindow],
  mail: [...occurrence, ...occurrenceWindow],
  segment: membership,
};

/** The valid prefixes: the part of a name before its first dot. */
const prefixes = ['data', 'event', 'email', 'segment', 'contact', 'workflow'];

function isMailSource(text: string): text is MailSource {
  return (mailSources as readonly string[]).includes(text);
}

/** Parses `<id>.<event>`, which follows `campaign.` or `template.` in a field name. */
function mailFieldOf(source: MailSource, rest: string): MailField | null {
  const dot = rest.indexOf('.');
  const event = rest.slice(dot + 1);
  return dot > 0 && isMailEvent(event)
    ? { kind: 'mail', source, id: rest.slice(0, dot).toLowerCase(), event }
    : null;
}

export function mailFieldName({ source, id, event }: MailField): string {
  return `${source}.${id}.${event}`;
}

/**
 * Parses the name of a field; null for an unknown name. `plan` and `contact.data.plan` are
 * `data.plan`.
 */
export function fieldOf(text: string): Field | null {
  if (text === 'email' || text === 'subscribed') return { kind: text };
  if (text === 'createdAt' || text === 'updatedAt') return { kind: 'time', name: text };
  const dot = text.indexOf('.');
  const rest = text.slice(dot + 1);
  if (bareKeyOf(text) !== null) return { kind: 'data', path: text.split('.') };
  if (dot < 0 || rest === '') return null;
  const prefix = text.slice(0, dot);
  if (isMailSource(prefix)) return mailFieldOf(prefix, rest);
  switch (prefix) {
    case 'contact': {
      const field = bareKeyOf(rest) === null ? fieldOf(rest) : null;
      return field && isValueField(field) && !rest.startsWith('contact.') ? field : null;
    }
    case 'data':
      return { kind: 'data', path: rest.split('.') };
    case 'event':
      return { kind: 'event', name: rest.trim() };
    case 'segment':
      return { kind: 'segment', id: rest.toLowerCase() };
    case 'email': {
      const name = emailActivities.find((activity) => activity === rest);
      return name ? { kind: 'activity', name } : null;
    }
    default:
      return null;
  }
}

/** A name without a prefix. Only the database can tell whether any contact has this field. */
export interface BareName {
  /** The position of the name in the request. */
  field: string;
  /** The name up to its first dot: the key of contact data, unless a contact has the key `name`. */
  key: string;
  /** The name as written: either a key with dots, or a path. */
  name: string;
}

/**
 * Returns the key of contact data that a name without a prefix means; null for any other name, such
 * as `email` or `data.plan`.
 */
export function bareKeyOf(text: string): string | null {
  const [root = ''] = text.split('.', 1);
  const isStandard = ['email', 'subscribed', 'createdAt', 'updatedAt'].includes(text);
  const isPrefix = prefixes.includes(root) || (isMailSource(root) && root !== text);
  return root === '' || isStandard || isPrefix ? null : root;
}

/**
 * Returns the stored name of a field: `plan` becomes `data.plan`, and `contact.email` becomes
 * `email`.
 */
export function fullNameOf(text: string): string {
  if (bareKeyOf(text) !== null) return `data.${text}`;
  return text.startsWith('contact.') ? text.slice('contact.'.length) : text;
}

/** Like `bareKeyOf`, but for a name in a step, where `context` is also a prefix. */
export function bareStepKeyOf(text: string): string | null {
  const key = bareKeyOf(text);
  return key === 'context' ? null : key;
}

/** Returns the name of a field of a step with its prefix, as stored: `plan` is `data.plan`. */
export function fullStepName(text: string): string {
  if (bareStepKeyOf(text) !== null) return `data.${text}`;
  // A name without a dot, such as `email`, becomes `contact.email`.
  return text.includes('.') ? text : `contact.${text}`;
}

/** The source of a field that a step, a trigger or an exit rule names. */
export type FieldRoot = 'contact' | 'event' | 'context' | 'workflow';

export interface StepField {
  root: FieldRoot;
  field: ValueField;
}

/**
 * Parses the field of a step, a trigger or an exit rule: a field of the contact, with or without
 * `contact.`, or a path behind `event.`, `context.` or `workflow.`.
 */
export function stepFieldOf(text: string): StepField | null {
  const [, root, path] = /^(event|context|workflow)\.(.+)$/s.exec(text) ?? [];
  if (root !== undefined && path !== undefined) {
    return { root: root as FieldRoot, field: { kind: 'data', path: path.split('.') } };
  }
  const field = text === 'context' ? null : fieldOf(text);
  return field && isValueField(field) ? { root: 'contact', field } : null;
}

/**
 * Parses a field name in `valueOf`, which must begin with `event.`, `context.` or `contact.`; null:
 * any other text.
 */
export function operandFieldOf(text: string): StepField | null {
  return /^(?:event|context|contact)\./.test(text) ? stepFieldOf(text) : null;
}

/**
 * Parses the field of a filter in a CONDITION: a field as in a segment, or one that `stepFieldOf`
 * accepts. With an operator such as `triggered`, `event.` names an event; with other operators, a
 * part of the context.
 */
export function filterFieldOf(
  text: string,
  operator: Operator,
): { root: FieldRoot; field: Field } | null {
  const place = stepFieldOf(text);
  const isHistory = place?.root === 'event' && isOccurrence(operator);
  if (place && !isHistory) return place;
  const field = text === 'context' ? null : fieldOf(text);
  return field && { root: 'contact', field };
}

function isValueField(field: Field): field is ValueField {
  return !['event', 'activity', 'mail', 'segment'].includes(field.kind);
}

/** Returns all filters of a condition, in reading order. */
export function filtersOf(condition: Condition): Filter[] {
  return condition.groups.flatMap(({ filters, conditions }) => [
    ...filters,
    ...(conditions ? filtersOf(conditions) : []),
  ]);
}

/** Returns the ids of the segments that a condition names directly, each once. */
export function segmentIdsOf(condition: Condition): string[] {
  return segmentIdsIn(filtersOf(condition).map(({ field }) => field));
}

/** Returns the ids of the segments in field names, each once. */
export function segmentIdsIn(texts: readonly string[]): string[] {
  const fields = texts.map(fieldOf);
  return [...new Set(fields.flatMap((field) => (field?.kind === 'segment' ? [field.id] : [])))];
}
