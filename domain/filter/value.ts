import { type Filter, type Unit, unitMs } from './filter.ts';

/**
 * Evaluates filters on single values. `db/sql/filter.ts` and its SQL functions must give the same
 * results.
 */

const dateText =
  /^(?!0000)(\d{4}-\d{2}-\d{2})(?:T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d+))?)?(?:(Z)|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?)?$/;

/** Matches the start of a date-time in the basic form of ISO 8601, which has no `-` and no `:`. */
const basicForm = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})?(?=[.,Z+-]|$)/;

/** Converts a date-time from the basic to the extended form. Any other text stays as it is. */
function extendedForm(text: string): string {
  return text.replace(
    basicForm,
    (_, year: string, month: string, day: string, hour: string, minute: string, second?: string) =>
      `${year}-${month}-${day}T${hour}:${minute}${second === undefined ? '' : `:${second}`}`,
  );
}

/** The earliest instant that a date text can have. */
export const firstInstant = Date.parse('0001-01-01T00:00:00.000Z');
const lastInstant = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Returns the instant of a date text in milliseconds since 1970; null for any other text. A date
 * text is
 * - a date, `2026-11-20`: midnight UTC;
 * - an ISO 8601 date-time, `2026-11-20T23:30:00.5+01:00`. Seconds may be left out, a comma may
 *   replace the point, and the offset may be `+0100` or `+01`; without an offset it is UTC;
 * - a date-time in the basic form, `20261120T233000Z`. Eight digits alone are a number, not a date.
 *
 * The day must exist, and the instant must be in the years 1 to 9999. Digits after the milliseconds
 * are cut.
 */
export function instantOfText(text: string): number | null {
  const match = dateText.exec(extendedForm(text));
  if (!match) return null;
  const [, day = '', hours = 0, minutes = 0, seconds = 0, fraction = '', , sign, ...offset] = match;
  const midnight = Date.parse(`${day}T00:00:00.000Z`);
  // JavaScript engines either refuse the 30th of February or read it as the 2nd of March.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) return null;
  const [offsetHours = 0, offsetMinutes = 0] = offset;
  const ahead = Number(`${sign ?? '+'}1`) * (Number(offsetHours) * 60 + Number(offsetMinutes));
  const instant =
    midnight +
    (Number(hours) * 60 + Number(minutes) - ahead) * unitMs.minutes +
    Number(seconds) * 1000 +
    Number(fraction.padEnd(3, '0').slice(0, 3));
  return instant >= firstInstant && instant <= lastInstant ? instant : null;
}

/** Returns true for a date, or a date-time with an offset: the valid times in a request. */
export function isTimeInput(text: string): boolean {
  const at = text.indexOf('T');
  return instantOfText(text) !== null && (at < 0 || /[Z+-]/.test(text.slice(at)));
}

/**
 * Returns the instant of a Date or of a date text, in milliseconds since 1970; null for any other
 * value.
 */
export function instantOf(value: unknown): number | null {
  if (value instanceof Date) return value.getTime();
  return typeof value === 'string' ? instantOfText(value) : null;
}

/** Returns the first instant of the UTC day that contains an instant. */
export function startOfDay(instant: number): number {
  return Math.floor(instant / unitMs.days) * unitMs.days;
}

const plainDecimal = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/;

/**
 * Maximum number of digits that a double keeps. With more digits, the exact arithmetic of SQL could
 * give another result.
 */
const decimalDigitsMax = 15;

/**
 * Returns a number, or a text in plain decimal notation, as a number for comparisons; null for any
 * other value.
 */
export function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || !plainDecimal.test(value)) return null;
  return value.replaceAll(/[-.]/g, '').length <= decimalDigitsMax ? Number(value) : null;
}

/** Compares two texts by Unicode code points: negative, zero or positive. */
export function compareCodePoints(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index++) {
    if (one[index] !== other[index]) return one.codePointAt(index)! - other.codePointAt(index)!;
  }
  return one.length - other.length;
}

/** Returns true when two JSON values are equal; the order of keys does not matter. */
export function isJsonEqual(one: unknown, other: unknown): boolean {
  // A loop instead of recursion: stored data may be nested more deeply than the call stack allows.
  const pairs: [unknown, unknown][] = [[one, other]];
  for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
    const [a, b] = pair;
    if (a === b) continue;
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
    if (Array.isArray(a) !== Array.isArray(b)) return false;
    const keys = Object.keys(a);
    if (keys.length !== Object.keys(b).length) return false;
    for (const key of keys) {
      if (!Object.hasOwn(b, key)) return false;
      pairs.push([(a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]]);
    }
  }
  return true;
}

/**
 * Returns the path under which a value is found. A key that contains dots has precedence:
 * `address.city` is the key `address.city` if it exists, otherwise `city` in `address`.
 */
export function ownPath(root: unknown, path: readonly string[]): readonly string[] {
  const name = path.join('.');
  return isObject(root) && path.length > 1 && Object.hasOwn(root, name) ? [name] : path;
}

/** Returns the value at a path, or undefined. Paths lead through objects only, not into lists. */
export function readPath(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const key of ownPath(root, path)) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the instant that lies `value` units before `now`, in milliseconds since 1970. The instant
 * may be earlier than any valid date. It is rounded up to whole milliseconds, the precision of all
 * compared times.
 */
export function cutOff({ value, unit }: Pick<Filter, 'value' | 'unit'>, now: Date): number {
  return Math.ceil(now.getTime() - (value as number) * unitMs[unit as Unit]);
}
