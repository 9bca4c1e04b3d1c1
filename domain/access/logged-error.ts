import type { FieldProblem } from '../errors.ts';
import { isUuid } from '../ids.ts';

/**
 * Selects the parts of an error that the request log keeps: field names, ids, codes and numbers,
 * but no value that the client has sent.
 */

export interface LoggedError {
  field: string;
  code: string;
}

/** Maximum number of errors that the log keeps for one request. */
const errorsMax = 50;
/** Maximum number of characters of a field name in the log. */
const fieldChars = 100;

/** Returns the fields of invalid requests with their codes; null: there are none. */
export function loggedErrors(errors: readonly FieldProblem[] | undefined): LoggedError[] | null {
  if (!errors || errors.length === 0) return null;
  return errors.slice(0, errorsMax).map(({ field, code }) => ({ field: plainField(field), code }));
}

/**
 * Cuts a field path at the first key that is not a plain name, and ends the path with `*`. Clients
 * choose the keys of some objects, so such a key may be personal data.
 */
function plainField(field: string): string {
  const names = field.split('.');
  const end = names.findIndex((name) => !/^[\w-]*$/.test(name));
  const plain = end < 0 ? field : [...names.slice(0, end), '*'].join('.');
  return plain.length <= fieldChars ? plain : '*';
}

/** Keys of error details whose values are codes of the server, not input of the client. */
const codeKeys: ReadonlySet<string> = new Set([
  'granted',
  'needed',
  'reason',
  'resource',
  'restriction',
  'status',
]);
/** Maximum number of characters of the details, as JSON. */
const detailsChars = 2_000;

/** Returns the details of an error if they hold only ids, codes and numbers; otherwise null. */
export function loggedDetails(
  details: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> | null {
  if (!details || !Object.entries(details).every(([key, value]) => isHarmless(key, value))) {
    return null;
  }
  return JSON.stringify(details).length <= detailsChars ? details : null;
}

function isHarmless(key: string, value: unknown): boolean {
  switch (typeof value) {
    case 'number':
    case 'boolean':
      return true;
    case 'string':
      return isUuid(value) || (codeKeys.has(key) && /^[\w:*-]+$/.test(value));
    case 'object':
      if (value === null) return true;
      if (Array.isArray(value)) return value.every((item) => isHarmless(key, item));
      return Object.entries(value).every(([name, item]) => isHarmless(name, item));
    default:
      return value === undefined;
  }
}
