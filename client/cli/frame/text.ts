/**
 * Text for people. Strings are shown with their control characters escaped, so that no answer of a
 * server can move the cursor or change colours; only a styled part adds codes.
 */
export type Text = string | Styled | readonly Text[];

interface Styled {
  style: Style;
  text: Text;
}

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

type Style = keyof typeof codes;

export const bold = (text: Text): Text => ({ style: 'bold', text });
export const dim = (text: Text): Text => ({ style: 'dim', text });
export const cyan = (text: Text): Text => ({ style: 'cyan', text });
export const yellow = (text: Text): Text => ({ style: 'yellow', text });
export const red = (text: Text): Text => ({ style: 'red', text });
export const green = (text: Text): Text => ({ style: 'green', text });

/** Control characters but tab and line feed, and characters that reorder text. */
const unsafe = /(?![\t\n])[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Replaces control characters by their escapes, such as `\x1b`. */
export function escapeControls(text: string): string {
  return text.replaceAll(unsafe, (character) => {
    const code = character.codePointAt(0)!.toString(16);
    return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u${code.padStart(4, '0')}`;
  });
}

/** Returns JSON in which no control character is left unescaped. */
export function jsonText(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replaceAll(unsafe, (character) => {
    return `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`;
  });
}

/** Returns what to write to a stream, with the codes of the colours if it shows them. */
export function render(text: Text, hasColours: boolean): string {
  if (typeof text === 'string') return escapeControls(text);
  if (isList(text)) return text.map((part) => render(part, hasColours)).join('');
  const inner = render(text.text, hasColours);
  return hasColours ? `\u001b[${codes[text.style]}m${inner}\u001b[0m` : inner;
}

function isList(text: Text): text is readonly Text[] {
  return Array.isArray(text);
}

/** Returns rows as lines whose columns begin one below the other. */
export function columns(rows: readonly (readonly string[])[], indent = ''): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  return rows.map(
    (row) =>
      indent +
      row
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
  );
}
