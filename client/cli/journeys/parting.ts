import { isJsonEqual } from '../../../domain/filter/value.ts';

/** Says where two values part. */

const shownChars = 200;

/** Number of characters from which the place of a difference helps. */
const placedChars = 30;

/** Returns a value as a short text: texts in quotes, all else as JSON. */
export function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > shownChars ? `${text.slice(0, shownChars)}…` : text;
}

/** Returns a failure: what was expected, what came, and where they part. */
export function failure(
  what: string,
  { expected, actual, part }: { expected: string; actual: string; part?: string | null },
): string {
  const lines = [
    `${what}${part ? `: ${part}` : ''}`,
    `expected: ${expected}`,
    `actual:   ${actual}`,
  ];
  return lines.join('\n  ');
}

/** Compares two values; null: they are equal. */
export function differing(what: string, expected: unknown, actual: unknown): string | null {
  if (isJsonEqual(expected, actual)) return null;
  const isText = typeof expected === 'string' && typeof actual === 'string';
  const isLong = isText && Math.max(expected.length, actual.length) > placedChars;
  const part = isLong ? textParting(expected, actual) : null;
  return failure(what, { expected: shown(expected), actual: shown(actual), part });
}

/** Says where two texts part, by their first different line or character. */
export function textParting(expected: string, actual: string): string | null {
  const [one, other] = [expected.split('\n'), actual.split('\n')];
  const line = one.findIndex((text, index) => text !== other[index]);
  const at = line < 0 ? one.length : line;
  const [before = '', after = ''] = [one[at], other[at]];
  let column = 0;
  while (column < before.length && before[column] === after[column]) column += 1;
  const place = one.length + other.length > 2 ? `line ${at + 1}, character` : 'character';
  return `they part at ${place} ${column + 1}`;
}
