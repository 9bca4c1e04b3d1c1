import { wrongCall } from '../frame/failure.ts';

/**
 * Reads words such as `total=42` as data. A number, `true`, `false`, `null` and JSON are read as
 * such, anything else as a text.
 * @throws Failure if a word has no name
 */
export function dataOf(words: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=');
      if (at < 1) throw wrongCall(`"${word}" must be a name and a value, such as plan=pro.`);
      return [word.slice(0, at), valueOf(word.slice(at + 1))];
    }),
  );
}

function valueOf(text: string): unknown {
  if (!/^\s*(?:[-\d[{"]|true\s*$|false\s*$|null\s*$)/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // For example a date or a phone number.
    return text;
  }
}
