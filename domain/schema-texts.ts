import { z } from 'zod';
import { oneOf, withGiven } from './text-rules.ts';

/**
 * Messages of schema issues, in place of the library's. A message has the required form of a value,
 * and the given value. A given text may be a secret, so only its length is shown, unless only a few
 * words are allowed.
 */

type Issue = z.core.$ZodRawIssue;

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
  nan: 'a number',
  date: 'a date',
};

const formats: Readonly<Record<string, string>> = {
  email: 'an email address',
  url: 'a URL, such as https://shop.example/',
  uuid: 'a uuid',
  guid: 'a uuid',
  datetime: 'a date-time, such as 2026-01-31T09:00:00Z',
  date: 'a date, such as 2026-01-31',
  time: 'a time of day, such as 09:00',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  base64: 'base64',
};

z.config({ customError: schemaText });

/** Returns the message of an issue whose schema defines none. */
export function schemaText(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return wrongKind(issue);
    case 'invalid_value':
      return withGiven(`Must be ${oneOf(issue.values.map(String))}.`, issue.input);
    case 'too_small':
      return tooSmall(issue);
    case 'too_big':
      return tooBig(issue);
    case 'invalid_format':
      return wrongFormat(issue);
    case 'not_multiple_of':
      return withGiven(`Must be a multiple of ${issue.divisor}.`, issue.input);
    case 'unrecognized_keys':
      return `Remove unknown fields: ${issue.keys.join(', ')}.`;
    case 'invalid_union':
      return issue.discriminator === undefined || !issue.options
        ? ['Has none of the allowed forms.', ...reasonsIn(issue.errors)].join(' ')
        : `Must be an object whose "${issue.discriminator}" is ${oneOf((issue.options as readonly unknown[]).map(String))}.`;
    case 'invalid_key':
      return [
        'The name of this field is not allowed.',
        ...issue.issues.map(({ message }) => message),
      ].join(' ');
    default:
      return 'Is not valid.';
  }
}

/**
 * Returns why each form of a union was refused: the first problem of each form, with its place
 * inside the value.
 */
function reasonsIn(forms: readonly (readonly z.core.$ZodIssue[])[]): string[] {
  const reasons = forms.flatMap(([first]) => {
    if (!first) return [];
    return first.path.length === 0 ? first.message : `${first.path.join('.')}: ${first.message}`;
  });
  return [...new Set(reasons)].map((reason, index) => (index === 0 ? reason : `Or: ${reason}`));
}

function wrongKind({ expected, input }: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidType>): string {
  const wanted = kinds[expected] ?? `of the type ${expected}`;
  if (input === undefined) return 'Is required.';
  if (expected === 'int' && typeof input === 'number') return `Must be ${wanted}, not ${input}.`;
  const given = input === null ? 'null' : Array.isArray(input) ? 'array' : typeof input;
  return `Must be ${wanted}, not ${typeof input === 'boolean' ? input : (kinds[given] ?? given)}.`;
}

function tooSmall({
  origin,
  minimum,
  inclusive,
  exact,
  input,
}: z.core.$ZodRawIssue<z.core.$ZodIssueTooSmall>): string {
  const unit = unitOf(origin, minimum);
  if (unit === null) {
    return `Must be ${inclusive === false ? 'more than' : 'at least'} ${minimum}${insteadOf(input)}.`;
  }
  if (minimum === 1 && sizeOf(input) === 0) return 'Must not be empty.';
  return `Must have ${exact ? 'exactly' : 'at least'} ${minimum} ${unit}${insteadOf(input)}.`;
}

function tooBig({
  origin,
  maximum,
  inclusive,
  exact,
  input,
}: z.core.$ZodRawIssue<z.core.$ZodIssueTooBig>): string {
  const unit = unitOf(origin, maximum);
  if (unit === null) {
    return `Must be ${inclusive === false ? 'less than' : 'at most'} ${maximum}${insteadOf(input)}.`;
  }
  return `Must have ${exact ? 'exactly' : 'at most'} ${maximum} ${unit}${insteadOf(input)}.`;
}

function wrongFormat(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidStringFormat>): string {
  switch (issue.format) {
    case 'regex':
      return `Must match the pattern ${issue.pattern}.`;
    case 'starts_with':
      return `Must begin with "${String(issue['prefix'])}".`;
    case 'ends_with':
      return `Must end with "${String(issue['suffix'])}".`;
    case 'includes':
      return `Must contain "${String(issue['includes'])}".`;
    default:
      return `Must be ${formats[issue.format] ?? `of the format ${issue.format}`}.`;
  }
}

/** Returns the unit of a size; null: the size is the value itself. */
function unitOf(origin: string, size: number | bigint): string | null {
  const unit = { string: 'character', array: 'entry', set: 'entry', map: 'entry' }[origin];
  if (unit === undefined) return null;
  if (Number(size) === 1) return unit;
  return unit === 'entry' ? 'entries' : `${unit}s`;
}

function sizeOf(input: unknown): number | null {
  return typeof input === 'string' || Array.isArray(input) ? input.length : null;
}

function insteadOf(input: unknown): string {
  const given = typeof input === 'number' ? input : sizeOf(input);
  return given === null ? '' : `, not ${given}`;
}
