import type { FieldCode, FieldProblem } from '../errors.ts';
import {
  type BareName,
  bareKeyOf,
  bareStepKeyOf,
  type Condition,
  type Field,
  fieldOf,
  type FieldRoot,
  filterFieldOf,
  fullNameOf,
  type Filter,
  type FilterGroup,
  isEquality,
  isValueOperator,
  mailFieldName,
  needsOf,
  operandFieldOf,
  type Operator,
  operators,
  operatorsOf,
  type Unit,
  unitMs,
} from './filter.ts';
import { eventNameFault } from '../event-names.ts';
import { flatToCondition } from './forms.ts';
import type { MailMention, SegmentMention } from './references.ts';
import { isTimeInput } from './value.ts';
import { limits } from '../limits.ts';
import { oneOf, unknownKeyText, withGiven } from '../text-rules.ts';

export interface ParsedCondition {
  /** null: the condition has problems. */
  condition: Condition | null;
  problems: FieldProblem[];
  /** The places where the condition names a segment. Only the database can check that it exists. */
  mentions: SegmentMention[];
  /**
   * The places where the condition names a campaign or template. Only the database can check that
   * it exists.
   */
  mailMentions: MailMention[];
  /** Names without a prefix. Only the database can resolve them. */
  bareNames: BareName[];
}

export interface ParsedStepFilter extends ParsedCondition {
  /** Number of filters in all groups together. */
  filters: number;
  /** The names of all fields that have a value, each with its place in the config. */
  names: { field: string; name: string }[];
}

/**
 * Parses a condition in either form, `{logic, groups}` or flat `{operator, conditions}`.
 * @param input any JSON
 * @param field the place of the condition in the request, a prefix of each problem's `field`
 */
export function parseCondition(input: unknown, field: string): ParsedCondition {
  return parsed(new Reader(segmentGrammar), input, field);
}

/**
 * Parses the filter of a CONDITION step. Unlike `parseCondition`, it allows the fields of steps and
 * `valueOf`.
 */
export function parseStepFilter(input: unknown, field: string): ParsedStepFilter {
  const reader = new Reader(stepGrammar);
  return { ...parsed(reader, input, field), filters: reader.filters, names: reader.names };
}

function parsed(reader: Reader, input: unknown, field: string): ParsedCondition {
  const condition = isFlat(input)
    ? reader.flat(input, field)
    : reader.condition(input, field, limits.filterDepth);
  if (reader.filters > limits.filters) {
    const message = `A condition must have at most ${limits.filters} filters, not ${reader.filters}.`;
    reader.add(field, 'too_big', message);
  }
  const { problems, mentions, mailMentions, bareNames } = reader;
  const valid = problems.length === 0 ? condition : null;
  return { condition: valid, problems, mentions, mailMentions, bareNames };
}

export interface ComparisonFault {
  at: 'operator' | 'value' | 'unit';
  code: FieldCode;
  message: string;
  received?: string;
}

/** Returns the problems of an operator and a value, for this field. */
export function comparisonFaults(
  { kind }: Field,
  { operator, value, unit }: { operator: Operator; value?: unknown; unit?: unknown },
): ComparisonFault[] {
  if (!operatorsOf[kind].includes(operator)) {
    const known = operatorsOf[kind].join(', ');
    const message = `The operator "${operator}" cannot be used with this field. Use one of ${known}.`;
    return [{ at: 'operator', code: 'unsupported_operator', message }];
  }
  const needs = needsOf(operator);
  if (needs === 'nothing') return [];
  if (needs === 'duration') return [...durationFaults(value), ...unitFaults(unit)];
  return valueFaults(kind, operator, value);
}

function durationFaults(value: unknown): ComparisonFault[] {
  if (typeof value !== 'number' || !Number.isFinite(value)) return [wrongType(value, 'a number')];
  return value < 0
    ? [{ at: 'value', code: 'too_small', message: `Must be at least 0, not ${value}.` }]
    : [];
}

function unitFaults(unit: unknown): ComparisonFault[] {
  if (unit === undefined) {
    return [{ at: 'unit', code: 'invalid_type', message: 'Is required.', received: 'undefined' }];
  }
  if (typeof unit === 'string' && Object.hasOwn(unitMs, unit)) return [];
  const message = withGiven(`Must be ${oneOf(Object.keys(unitMs))}.`, unit);
  return [{ at: 'unit', code: 'invalid_enum_value', message }];
}

function valueFaults(kind: Field['kind'], operator: Operator, value: unknown): ComparisonFault[] {
  switch (kind) {
    case 'email':
      return typeof value === 'string' ? [] : [wrongType(value, 'text')];
    case 'subscribed': {
      const isBoolean = typeof value === 'boolean' || value === 'true' || value === 'false';
      return isBoolean ? [] : [wrongType(value, 'true or false')];
    }
    case 'time': {
      if (typeof value !== 'string') return [wrongType(value, 'a date or a date with time')];
      const message = withGiven(
        'Must be a date, or a date-time with an offset, such as 2026-01-31 or 2026-01-31T09:00:00Z.',
        value,
      );
      return isTimeInput(value) ? [] : [{ at: 'value', code: 'invalid_date', message }];
    }
    default: {
      if (isEquality(operator) && typeof value === 'object') return [];
      // A number in JSON that is too large for a double is parsed as Infinity.
      const isScalar =
        typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
      return isScalar ? [] : [wrongType(value, 'text, a number, true or false')];
    }
  }
}

function wrongType(value: unknown, wanted: string): ComparisonFault {
  const message = value === undefined ? 'Is required.' : `Must be ${wanted}.`;
  return { at: 'value', code: 'invalid_type', message, received: kindOf(value) };
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/**
 * Returns `{ valueOf: operand }`. TypeScript knows `valueOf` only as the method of Object, so a
 * literal with this key would be a type error.
 */
const ofField = (operand: string): { value?: unknown } =>
  Object.fromEntries([['valueOf', operand]]);

/** Returns the name of a field as conditions store it. */
function storedNameOf({ root, field }: { root: FieldRoot; field: Field }, given: string): string {
  if (root !== 'contact') return given;
  if (field.kind === 'segment') return `segment.${field.id}`;
  if (field.kind === 'mail') return mailFieldName(field);
  return field.kind === 'event' ? `event.${field.name}` : fullNameOf(given);
}

type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isFlat(input: unknown): input is Json {
  if (!isObject(input) || 'logic' in input || 'groups' in input) return false;
  return 'operator' in input || 'conditions' in input;
}

const logics = ['AND', 'OR'] as const;

const conditionKeys = {
  flat: ['operator', 'conditions'],
  condition: ['logic', 'groups'],
  group: ['filters', 'conditions'],
} as const;

/** The fields and operands that a filter may have: one grammar for segments, one for steps. */
interface Grammar {
  filterKeys: readonly string[];
  /** Parses the name of a field of the contact or of the context; null: no such field exists. */
  fieldOf(text: string, operator: Operator): { root: FieldRoot; field: Field } | null;
  bareKeyOf(text: string): string | null;
  unknown: string;
}

const segmentGrammar: Grammar = {
  filterKeys: ['field', 'operator', 'value', 'unit'],
  fieldOf(text) {
    const field = fieldOf(text);
    return field && { root: 'contact', field };
  },
  bareKeyOf,
  unknown:
    'Must be one of these fields: email, subscribed, createdAt, updatedAt, data.<key>, segment.<id>, event.<name>, email.<activity>, campaign.<id>.<event>, template.<id>.<event>.',
};

const stepGrammar: Grammar = {
  filterKeys: [...segmentGrammar.filterKeys, 'valueOf'],
  fieldOf: filterFieldOf,
  bareKeyOf: bareStepKeyOf,
  unknown: 'Must be a field of contacts, or begin with `event.`, `context.` or `workflow.`.',
};

/** Maximum number of problems that are collected. A malicious body could cause millions. */
const problemsMax = 500;

/**
 * Parses one condition and collects its problems. The parsed condition counts only if there are no
 * problems.
 */
class Reader {
  readonly problems: FieldProblem[] = [];
  readonly mentions: SegmentMention[] = [];
  readonly mailMentions: MailMention[] = [];
  readonly bareNames: BareName[] = [];
  readonly names: { field: string; name: string }[] = [];
  filters = 0;
  readonly #grammar: Grammar;

  constructor(grammar: Grammar) {
    this.#grammar = grammar;
  }

  add(field: string, code: FieldCode, message: string, received?: string): void {
    if (this.problems.length >= problemsMax) return;
    this.problems.push({ field, message, code, ...(received === undefined ? {} : { received }) });
  }

  flat(input: Json, field: string): Condition {
    this.known(conditionKeys.flat, input, field);
    const operator = this.oneOf(logics, input['operator'], at(field, 'operator')) ?? 'AND';
    const conditions = this.list(input['conditions'], at(field, 'conditions'), 1).map(
      (filter, index) => this.filter(filter, at(field, 'conditions', index)),
    );
    return flatToCondition({ operator, conditions });
  }

  /**
   * Reads a condition.
   * @param depth how many levels of conditions are allowed, this one included
   */
  condition(input: unknown, field: string, depth: number): Condition {
    const empty: Condition = { logic: 'AND', groups: [] };
    if (depth === 0) {
      const message = `This condition is nested too deeply: at most ${limits.filterDepth} levels are allowed.`;
      this.add(field, 'too_big', message);
      return empty;
    }
    if (!isObject(input)) {
      this.wrongType(field, input, 'an object');
      return empty;
    }
    this.known(conditionKeys.condition, input, field);
    const logic = this.oneOf(logics, input['logic'], at(field, 'logic')) ?? 'AND';
    const groups = this.list(input['groups'], at(field, 'groups'), 1).map((group, index) =>
      this.group(group, at(field, 'groups', index), depth),
    );
    return { logic, groups };
  }

  private group(input: unknown, field: string, depth: number): FilterGroup {
    if (!isObject(input)) {
      this.wrongType(field, input, 'an object');
      return { filters: [] };
    }
    this.known(conditionKeys.group, input, field);
    const nested = input['conditions'] ?? null;
    const filters = this.list(input['filters'], at(field, 'filters'), nested === null ? 1 : 0).map(
      (filter, index) => this.filter(filter, at(field, 'filters', index)),
    );
    if (nested === null) return { filters };
    return { filters, conditions: this.condition(nested, at(field, 'conditions'), depth - 1) };
  }

  private filter(input: unknown, field: string): Filter {
    const none: Filter = { field: '', operator: 'exists' };
    if (++this.filters > limits.filters) return none;
    if (!isObject(input)) {
      this.wrongType(field, input, 'an object');
      return none;
    }
    this.known(this.#grammar.filterKeys, input, field);
    const place = this.field(input['field'], input['operator'], at(field, 'field'));
    const operator = this.oneOf(operators, input['operator'], at(field, 'operator'));
    if (!place || !operator) return none;
    const { value, unit } = input;
    const operand = this.operand(input, operator, at(field, 'valueOf'));
    for (const fault of comparisonFaults(place.field, { operator, value, unit })) {
      if (operand !== null && fault.at === 'value') continue;
      this.add(at(field, fault.at), fault.code, fault.message, fault.received);
    }
    const needs = needsOf(operator);
    const given: { value?: unknown } = operand === null ? { value } : ofField(operand);
    return {
      field: storedNameOf(place, input['field'] as string),
      operator,
      ...(needs === 'nothing' ? {} : given),
      ...(needs === 'duration' ? { unit: unit as Unit } : {}),
    };
  }

  private field(input: unknown, operator: unknown, field: string): ReturnType<Grammar['fieldOf']> {
    if (typeof input !== 'string') {
      this.wrongType(field, input, 'text');
      return null;
    }
    if (input.length > limits.filterFieldChars) {
      this.add(
        field,
        'too_big',
        `Must have at most ${limits.filterFieldChars} characters, not ${input.length}.`,
      );
      return null;
    }
    const place = this.#grammar.fieldOf(input, operator as Operator);
    const known = place?.field;
    if (!known) this.add(field, 'unsupported_field', withGiven(this.#grammar.unknown, input));
    const key = this.#grammar.bareKeyOf(input);
    if (key !== null) this.bareNames.push({ field, key, name: input });
    const wrong = known?.kind === 'event' ? eventNameFault(known.name) : null;
    if (wrong) this.add(field, wrong.code, wrong.message);
    if (known?.kind === 'segment') this.mentions.push({ field, segmentId: known.id });
    else if (known?.kind === 'mail') {
      this.mailMentions.push({ field, source: known.source, id: known.id });
    } else if (known && known.kind !== 'event' && known.kind !== 'activity') {
      this.names.push({ field, name: input });
    }
    return place;
  }

  /**
   * Reads `valueOf`, the field that a filter compares with instead of a value; null: the filter has
   * no valid `valueOf`.
   */
  private operand(input: Json, operator: Operator, field: string): string | null {
    const isOwn = this.#grammar.filterKeys.includes('valueOf') && Object.hasOwn(input, 'valueOf');
    const name = isOwn ? input['valueOf'] : undefined;
    if (name === undefined || operator === 'exists' || operator === 'notExists') return null;
    if (!isValueOperator(operator)) {
      const message = `The operator "${operator}" cannot be used with \`valueOf\`. Send \`value\` instead.`;
      this.add(field, 'not_allowed', message);
      return null;
    }
    if (typeof name !== 'string') {
      this.wrongType(field, name, 'text');
      return '';
    }
    if (input['value'] !== undefined) {
      this.add(field, 'not_allowed', 'Send either `value` or `valueOf`, not both.');
    }
    if (operandFieldOf(name)) this.names.push({ field, name });
    else {
      const message = 'Must be a field that begins with `event.`, `context.` or `contact.`.';
      this.add(field, 'unsupported_field', message);
    }
    return name;
  }

  /**
   * Adds a problem for each unknown key. If unknown keys were ignored, the condition might match
   * more contacts than intended.
   */
  private known(keys: readonly string[], input: Json, field: string): void {
    for (const key of Object.keys(input)) {
      if (this.problems.length >= problemsMax) return;
      if (!keys.includes(key)) this.add(at(field, key), 'unknown_field', unknownKeyText(key, keys));
    }
  }

  private oneOf<T extends string>(words: readonly T[], value: unknown, field: string): T | null {
    const word = words.find((candidate) => candidate === value);
    if (word !== undefined) return word;
    if (value === undefined) this.wrongType(field, value, 'text');
    else this.add(field, 'invalid_enum_value', withGiven(`Must be ${oneOf(words)}.`, value));
    return null;
  }

  /**
   * Returns the items of a list. A list with more than `limits.filters` items gives none, because
   * each item has at least one filter.
   */
  private list(value: unknown, field: string, min: number): unknown[] {
    if (!Array.isArray(value)) {
      this.wrongType(field, value, 'a list');
      return [];
    }
    if (value.length < min)
      this.add(field, 'too_small', `Must have at least ${min} ${min === 1 ? 'entry' : 'entries'}.`);
    if (value.length <= limits.filters) return value;
    this.add(field, 'too_big', `Must have at most ${limits.filters} entries, not ${value.length}.`);
    return [];
  }

  private wrongType(field: string, value: unknown, wanted: string): void {
    const message = value === undefined ? 'Is required.' : `Must be ${wanted}.`;
    this.add(field, 'invalid_type', message, kindOf(value));
  }
}

function at(field: string, ...more: (string | number)[]): string {
  return [...(field === '' ? [] : [field]), ...more].join('.');
}
