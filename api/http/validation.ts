import type { z } from 'zod';
import '../../domain/schema-texts.ts';
import { cutField, type CutField, placeAsSent } from './cut-field.ts';
import { type FieldCode, type FieldProblem, Problem, together } from '../../domain/errors.ts';
import { findForbiddenText, unknownKeyText } from '../../domain/text-rules.ts';
import type { AnyEndpoint } from './endpoint.ts';

type Issue = z.core.$ZodIssue;

export interface RequestParts {
  params: unknown;
  query: unknown;
  body: unknown;
}

export interface ReadRequest {
  /**
   * If `params` or `query` is invalid, it is undefined. An invalid `body` has only its valid
   * fields. The `body` is undefined if it is no object, or has characters that cannot be stored.
   */
  parts: RequestParts;
  errors: FieldProblem[];
  wrong: ReadonlySet<keyof RequestParts>;
  /** Fields of the body that are in `parts` without their invalid parts. */
  cut: readonly CutField[];
}

/**
 * Validates path, query and body together, and returns all issues.
 * @param unknown keys to refuse, found by `unknownKeys`.
 */
export function readRequest(
  schemas: { params?: z.ZodType; query?: z.ZodType; body?: z.ZodType },
  given: RequestParts,
  unknown: readonly UnknownKey[] = [],
): ReadRequest {
  const errors: FieldProblem[] = unknown.map(unknownField);
  const parts: RequestParts = { params: undefined, query: undefined, body: undefined };
  const wrong = new Set<keyof RequestParts>();
  const cut: CutField[] = [];
  for (const part of ['params', 'query', 'body'] as const) {
    const path = findForbiddenText(given[part]);
    if (path) {
      wrong.add(part);
      errors.push({
        field: path.join('.'),
        code: 'invalid_string',
        message: 'Must not contain NUL or an unpaired surrogate (U+D800 to U+DFFF).',
      });
      continue;
    }
    const schema = schemas[part];
    if (!schema) continue;
    const parsed = schema.safeParse(given[part], { reportInput: true });
    if (parsed.success) {
      parts[part] = parsed.data;
      continue;
    }
    wrong.add(part);
    errors.push(...parsed.error.issues.flatMap(fieldProblems));
    if (part === 'body') parts.body = rightFields(schema, given.body, parsed.error.issues, cut);
  }
  return { parts, errors, wrong, cut };
}

/**
 * Like `readRequest`, but throws if there are issues.
 * @throws Problem VALIDATION_ERROR with every issue
 */
export function checkRequest(...request: Parameters<typeof readRequest>): RequestParts {
  const { parts, errors } = readRequest(...request);
  refuse(errors);
  return parts;
}

/**
 * Throws if there are errors.
 * @throws Problem VALIDATION_ERROR with these errors
 */
export function refuse(errors: readonly FieldProblem[]): void {
  if (errors.length > 0) throw new Problem('VALIDATION_ERROR', { errors });
}

/**
 * Refuses a request with the errors of its schemas, and the errors of checks of its valid parts.
 * @param read the result of `readRequest`
 * @param checks.check always runs
 * @param checks.beside runs only if the request is refused anyway; gets the names of the invalid
 * fields
 * @throws Problem VALIDATION_ERROR with all errors; otherwise the error of a check
 */
export async function refuseAll(
  { errors, cut }: Pick<ReadRequest, 'errors' | 'cut'>,
  checks: {
    check: () => Promise<void> | undefined;
    beside: (wrong: ReadonlySet<string>) => Promise<void> | undefined;
  },
): Promise<void> {
  const isHidden = hiddenBy(errors, cut);
  const right = (check: () => Promise<void> | undefined) => checkRight(cut, isHidden, check);
  try {
    await together(
      () => refuse(errors),
      () => right(checks.check),
    );
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'VALIDATION_ERROR') throw error;
    const all = namesOf(error.errors ?? []);
    await together(
      () => refuse(error.errors ?? []),
      () => right(() => checks.beside(all)),
    );
  }
}

const nameOf = ({ field }: FieldProblem) => field.split('.')[0] ?? '';
const namesOf = (errors: readonly FieldProblem[]) => new Set(errors.map(nameOf));

/**
 * Returns a function that is true for errors of a check that only follow from an error of the
 * schema. The check reports such errors because it sees a refused field as missing.
 */
function hiddenBy(errors: readonly FieldProblem[], cut: readonly CutField[]) {
  const cutNames = new Set(cut.map(({ name }) => name));
  const names = namesOf(errors.filter((error) => !cutNames.has(nameOf(error))));
  const places = new Set(errors.map(({ field }) => field));
  const isWithin = (keys: readonly string[]) =>
    keys.some((_, index) => places.has(keys.slice(0, index + 1).join('.')));
  return (error: FieldProblem) => names.has(nameOf(error)) || isWithin(error.field.split('.'));
}

/** Runs a check, and throws its errors that are not hidden. */
async function checkRight(
  cut: readonly CutField[],
  isHidden: (error: FieldProblem) => boolean,
  check: () => Promise<void> | undefined,
): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'VALIDATION_ERROR') throw error;
    const placed = (error.errors ?? []).map((one) => ({
      ...one,
      field: placeAsSent(one.field, cut),
    }));
    refuse(placed.filter((one) => !isHidden(one)));
  }
}

/**
 * Returns the valid fields of a body. A field with an issue has only its valid parts, and is added
 * to `cut`; a field without valid parts is left out. Returns undefined if the body is no object.
 */
function rightFields(
  schema: z.core.$ZodType,
  body: unknown,
  issues: readonly Issue[],
  cut: CutField[],
): Record<string, unknown> | undefined {
  const shape = shapeOf(schema, body);
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  if (!shape || !isObject) return undefined;
  const wrong = new Set(issues.map(({ path }) => path[0]));
  const fields = Object.entries(shape).flatMap(([key, field]) => {
    if (wrong.has(key)) {
      const found = cutField(field as z.ZodType, key, body, issues);
      if (!found) return [];
      cut.push(found);
      return [[key, found.value] as const];
    }
    const given = Object.hasOwn(body, key) ? (body as Record<string, unknown>)[key] : undefined;
    const parsed = (field as z.ZodType).safeParse(given);
    return parsed.success && parsed.data !== undefined ? [[key, parsed.data] as const] : [];
  });
  return Object.fromEntries(fields);
}

/**
 * Returns the fields of the object schema that applies to a value; null: no object schema applies.
 */
function shapeOf(
  schema: z.core.$ZodType,
  value: unknown,
): Readonly<Record<string, z.core.$ZodType>> | null {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'object') return def.shape;
  if (def.type !== 'pipe') return null;
  const chosen = behindPipe(def, value);
  return chosen && shapeOf(chosen, value);
}

/** Returns the input schema of a transformation; null: the transformation accepts any value. */
function behindPipe(def: z.core.$ZodPipeDef, value: unknown): z.core.$ZodType | null {
  const [first, last] = [def.in, def.out].map((part) => (part as z.core.$ZodTypes)._zod.def);
  if (first?.type === 'transform') return def.out;
  const choose = last?.type === 'transform' ? choices.get(last.transform) : undefined;
  return choose ? choose(value) : def.in;
}

/** Returns the problems of an issue, one for each unknown key. */
export function fieldProblems(issue: Issue): FieldProblem[] {
  const field = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    const messages = issue.message.split('\n');
    return issue.keys.slice(0, unknownMax).map((key, index) => ({
      field: field === '' ? key : `${field}.${key}`,
      code: 'unknown_field',
      message: messages[index] ?? issue.message,
    }));
  }
  if (issue.input === undefined && issue.code !== 'custom') {
    return [{ field, message: 'Is required.', code: 'invalid_type', received: 'undefined' }];
  }
  const received = receivedOf(issue);
  return [
    {
      field,
      message: issue.message,
      code: fieldCode(issue),
      ...(received === undefined ? {} : { received }),
    },
  ];
}

/**
 * Returns the type of the received value, or the text that a custom issue provides. The received
 * value is left out, because it may be secret.
 */
function receivedOf(issue: Issue): string | undefined {
  if (issue.code === 'custom') return issue.params?.['received'] as string | undefined;
  return issue.code === 'invalid_type' ? kindOf(issue.input) : undefined;
}

function fieldCode(issue: Issue): FieldCode {
  switch (issue.code) {
    case 'invalid_type':
    case 'too_small':
    case 'too_big':
    case 'invalid_union':
      return issue.code;
    case 'invalid_format':
      return 'invalid_string';
    case 'invalid_value':
      return 'invalid_enum_value';
    case 'custom':
      return (issue.params?.['code'] as FieldCode | undefined) ?? 'custom';
    default:
      return 'custom';
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** A key in a request that the endpoint does not know. */
export interface UnknownKey {
  /** Path in the body, with dots, or the name of a parameter. */
  field: string;
  /** The keys that are valid at this position. */
  known: readonly string[];
}

/** Fields of Everpost, with the names that other mail services use for them. */
const namesElsewhere: Record<string, readonly string[]> = {
  body: ['html', 'htmlBody', 'text', 'content'],
  template: ['templateId', 'template_id'],
  data: ['properties', 'variables', 'attributes', 'metadata'],
  reply: ['replyTo', 'reply_to'],
  event: ['eventName', 'event_name', 'name'],
};

export function unknownField({ field, known }: UnknownKey): FieldProblem {
  const name = field.slice(field.lastIndexOf('.') + 1);
  const ours = known.find((candidate) => namesElsewhere[candidate]?.includes(name));
  // For a name of another mail service, the field of Everpost is suggested, even if another field
  // has a more similar name.
  const message = unknownKeyText(ours ?? name, ours === undefined ? known : [ours]);
  return { field, code: 'unknown_field', message };
}

/**
 * Transformations that parse a value with one of several schemas, each with a function that returns
 * the schema for a value.
 */
const choices = new WeakMap<object, (value: unknown) => z.ZodType | null>();

/**
 * Registers the schema that a transformation applies to a value, so that `unknownKeys` can check
 * the keys. If `choose` returns null, all keys are known.
 */
export function choosing<F extends object>(
  transformation: F,
  choose: (value: unknown) => z.ZodType | null,
): F {
  choices.set(transformation, choose);
  return transformation;
}

/** Maximum number of reported unknown keys, because a body may have a hundred thousand. */
const unknownMax = 100;

/**
 * Returns the keys of a query and a JSON body that the endpoint does not know. The read-only fields
 * of a record count as known, because clients may send back a record that they have read.
 */
export function unknownKeys(
  { query, body, response, asSent, upload }: AnyEndpoint,
  given: Pick<RequestParts, 'query' | 'body'>,
): UnknownKey[] {
  const found: UnknownKey[] = [];
  if (asSent) return found;
  collect(query ?? null, given.query, { path: '', alsoKnown: [], found });
  if (!upload)
    collect(body ?? null, given.body, { path: '', alsoKnown: recordKeys(response), found });
  return found;
}

/** Returns the keys of a value that its schema does not know. */
export function unknownIn(schema: z.ZodType, value: unknown): UnknownKey[] {
  const found: UnknownKey[] = [];
  collect(schema, value, { path: '', alsoKnown: [], found });
  return found;
}

interface Search {
  path: string;
  /** Keys that count as known in the outermost object, although its schema does not have them. */
  alsoKnown: readonly string[];
  found: UnknownKey[];
}

/** Returns the keys of the record that is the response, or its `data`. */
function recordKeys(response: z.ZodType): readonly string[] {
  const { shape } = response as Partial<z.ZodObject>;
  if (!shape) return [];
  if ('id' in shape) return Object.keys(shape);
  return 'data' in shape ? recordKeys(shape['data'] as z.ZodType) : [];
}

/**
 * Adds the keys of a value that its schema does not know to `search.found`.
 * @param schema null: no key is known.
 */
function collect(schema: z.core.$ZodType | null, value: unknown, search: Search): void {
  if (typeof value !== 'object' || value === null || search.found.length >= unknownMax) return;
  if (schema === null) return collectKeys({}, value, search);
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
    case 'catch':
      return collect(def.innerType, value, search);
    case 'object':
      return collectKeys(def.shape, value, search, def.catchall !== undefined);
    case 'array':
      if (!Array.isArray(value)) return;
      return value.forEach((item, index) =>
        collect(def.element, item, {
          ...search,
          path: inside(search, String(index)),
          alsoKnown: [],
        }),
      );
    case 'lazy':
      return collect(def.getter(), value, search);
    case 'union':
      return collectFewest(def.options, value, search);
    case 'pipe': {
      const chosen = behindPipe(def, value);
      if (chosen) collect(chosen, value, search);
      return;
    }
    default:
      // The schema allows any keys, or describes no object.
      return;
  }
}

function collectKeys(
  shape: Readonly<Record<string, z.core.$ZodType>>,
  value: object,
  search: Search,
  isOpen = false,
): void {
  if (Array.isArray(value)) return;
  const { found, alsoKnown } = search;
  for (const [key, item] of Object.entries(value)) {
    if (found.length >= unknownMax) return;
    const path = inside(search, key);
    if (Object.hasOwn(shape, key)) {
      collect(shape[key] ?? null, item, { path, alsoKnown: [], found });
    } else if (!isOpen && !alsoKnown.includes(key)) {
      found.push({ field: path, known: Object.keys(shape) });
    }
  }
}

/**
 * Compares an object with all options of a union, and adds the unknown keys for the option with the
 * fewest unknown keys.
 */
function collectFewest(options: readonly z.core.$ZodType[], value: object, search: Search): void {
  let fewest: UnknownKey[] | undefined;
  for (const option of options) {
    if (!isOfKind(option, value)) continue;
    const found: UnknownKey[] = [];
    collect(option, value, { ...search, found });
    if (!fewest || found.length < fewest.length) fewest = found;
  }
  search.found.push(...(fewest ?? []).slice(0, unknownMax - search.found.length));
}

/** Returns true if a schema describes objects, for an object, or lists, for a list. */
function isOfKind(schema: z.core.$ZodType, value: object): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'object') return !Array.isArray(value);
  if (def.type === 'array') return Array.isArray(value);
  return !['string', 'number', 'boolean', 'null', 'literal', 'enum'].includes(def.type);
}

function inside({ path }: Search, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

/** Maximum number of names in the header `Everpost-Ignored`. */
const ignoredMax = 10;
/** Visible ASCII except the comma, which separates names. */
const headerText = /^[!-+\--~]{1,100}$/;

/**
 * Returns the header with the names of ignored keys, added to the names in `before`; '' if no name
 * can be written in a header.
 */
export function ignoredHeader(before: string, unknown: readonly UnknownKey[]): string {
  const names = unknown.map(({ field }) => field).filter((field) => headerText.test(field));
  const all = new Set([...before.split(', '), ...names].filter((name) => name !== ''));
  return [...all].slice(0, ignoredMax).join(', ');
}

/** Returns true if a request has `Prefer: handling=strict` (RFC 7240). */
export function isStrict(prefer: string): boolean {
  for (const preference of prefer.split(',')) {
    const [, wanted] = /^\s*handling\s*=\s*"?([a-z]+)"?\s*(?:;|$)/i.exec(preference) ?? [];
    // If the header contains `handling` more than once, the first one applies.
    if (wanted !== undefined) return wanted.toLowerCase() === 'strict';
  }
  return false;
}
