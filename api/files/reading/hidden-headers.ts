import { headerInFile, type HiddenValues } from '../../../domain/files/values.ts';
import type { FieldProblem } from '../../../domain/errors.ts';
import { hidden } from '../../../domain/secrets/in-templates.ts';

/** Headers in files. A file shows `•••` in place of a value that is kept. */

/** The value in place of a header that the file changes. The real value is shown nowhere. */
const changed = `${hidden} (changed)`;

type Headers = Readonly<Record<string, unknown>>;

/** Returns the stored value that a place hides. The names of headers have no case. */
export function hiddenAt(values: HiddenValues | undefined, place: string): string | undefined {
  for (const [at, value] of values ?? []) {
    if (at.toLowerCase() === place.toLowerCase()) return value;
  }
  return undefined;
}

/**
 * Returns headers as files show them.
 * @param place the place of the headers
 */
export function shownHeaders(
  headers: Headers,
  place: string,
  stored: HiddenValues | undefined,
): Record<string, unknown> {
  const shown = Object.entries(headers).map(([name, value]) => {
    if (typeof value !== 'string' || headerInFile(value) === value) return [name, value];
    return [name, hiddenAt(stored, `${place}.${name}`) === value ? hidden : changed];
  });
  return Object.fromEntries(shown) as Record<string, unknown>;
}

/** Returns the problems of headers whose value is to be kept, although none is stored. */
export function unkeptHeaders(
  headers: Headers,
  place: string,
  stored: HiddenValues | undefined,
): FieldProblem[] {
  const message =
    'Is a masked value, but no value is stored for this header. Write the real value.';
  return Object.entries(headers)
    .filter(
      ([name, value]) => value === hidden && hiddenAt(stored, `${place}.${name}`) === undefined,
    )
    .map(([name]) => ({ field: `${place}.${name}`, code: 'not_allowed', message }));
}
