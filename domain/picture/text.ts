/**
 * Estimates widths of texts before they are drawn. Fonts differ, so the estimate assumes a rather
 * wide sans-serif font.
 */

export interface Font {
  /** Font size in pixels. */
  size: number;
  bold?: boolean;
}

const narrow = /[ilIjtfr.,:;'|!()[\]/\\ ]/;
const wide = /[mwMW@%&—…]/;
const capital = /[A-Z0-9ÄÖÜ_<>=+~#$?-]/;

/** Returns the width of a text, in pixels. */
export function textWidth(text: string, { size, bold = false }: Font): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width * size * (bold ? 1.12 : 1);
}

function characterWidth(character: string): number {
  if (narrow.test(character)) return 0.36;
  if (wide.test(character)) return 0.98;
  // Chinese, Japanese, Korean, symbols and emoji are as wide as they are high.
  if ((character.codePointAt(0) ?? 0) >= 0x1100) return 1.1;
  return capital.test(character) ? 0.7 : 0.6;
}

/**
 * Returns the text on one line of at most this width, in pixels. If it is too long, it is cut and
 * ends with an ellipsis.
 */
export function cut(text: string, width: number, font: Font): string {
  const line = oneLine(text);
  if (textWidth(line, font) <= width) return line;
  return `${beginning(line, width - textWidth('…', font), font).trimEnd()}…`;
}

/**
 * Breaks the text into lines of at most this width, in pixels. If the last line is too long, it is
 * cut.
 */
export function wrapped(text: string, width: number, font: Font, linesMax: number): string[] {
  const lines: string[] = [];
  let rest = oneLine(text);
  while (rest !== '' && lines.length < linesMax - 1 && textWidth(rest, font) > width) {
    const fitting = beginning(rest, width, font);
    const space = rest[fitting.length] === ' ' ? fitting.length : fitting.lastIndexOf(' ');
    // A word that does not fit in a line is broken.
    const line = space > 0 ? fitting.slice(0, space) : fitting;
    if (line === '') break;
    lines.push(line);
    rest = rest.slice(line.length).trimStart();
  }
  return rest === '' ? lines : [...lines, cut(rest, width, font)];
}

function beginning(text: string, width: number, font: Font): string {
  let end = 0;
  let used = 0;
  for (const { index, segment } of graphemes.segment(text)) {
    used += textWidth(segment, font);
    if (used > width) break;
    end = index + segment.length;
  }
  return text.slice(0, end);
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** Maximum number of characters that are measured. A longer text never fits in a box. */
const measuredMax = 2_000;

function oneLine(text: string): string {
  return text.slice(0, measuredMax).replaceAll(/\s+/g, ' ').trim();
}
