import { wrongCall } from '../frame/failure.ts';

/**
 * Reads words such as `total=42` as data. A number, `true`, `false`, `null` and JSON are read as
 * such, anything else as a text. A number that would lose digits is also a text.
 * @throws Failure if a word has no name, or JSON has a number that would lose digits
 */
export function dataOf(words: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=');
      if (at < 1) throw wrongCall(`"${word}" must be a name and a value, such as plan=pro.`);
      const [name, text] = [word.slice(0, at), word.slice(at + 1)];
      return [name, valueOf(name, text)];
    }),
  );
}

function valueOf(name: string, text: string): unknown {
  if (!/^\s*(?:[-\d[{"]|true\s*$|false\s*$|null\s*$)/.test(text)) return text;
  let value: unknown;
  let isInexact = false;
  try {
    value = JSON.parse(text, (_key, part: unknown) => {
      isInexact ||= typeof part === 'number' && !isExact(part);
      return part;
    });
  } catch {
    // For example a date or a phone number.
    return text;
  }
  if (!isInexact) return value;
  if (typeof value === 'number') return text;
  throw wrongCall(`"${name}" has a number with too many digits. Write it in quotes, as a text.`);
}

/** False for a number such as a long order number, which JSON.parse changes. */
function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
