/**
 * Converts config values to typed text and back. A typed `5` or `true` is a number or a boolean. In
 * quotation marks, it is a text.
 */

const isPlain = (value: unknown): boolean =>
  typeof value === 'number' || typeof value === 'boolean';

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * Returns the config value for a typed text.
 * @param isText true: the value is known to be a text, even if it looks like a number or a boolean
 */
export function valueOfText(text: string, isText = false): unknown {
  if (isText) return text;
  const value = parsed(text);
  if (isPlain(value) || (typeof value === 'object' && value !== null)) return value;
  const isQuoted = typeof value === 'string' && parsed(value) !== undefined;
  return isQuoted ? value : text;
}

export function textOfValue(value: unknown, isText = false): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') return JSON.stringify(value);
  return isText || valueOfText(value) === value ? value : JSON.stringify(value);
}
