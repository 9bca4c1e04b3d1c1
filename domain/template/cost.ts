import type { TemplatePiece } from './source.ts';

/**
 * Decides which renderings are cheap enough for the main thread, which answers all requests. A
 * cheap template is parsed once, has no loops, and its filters take time proportional to the length
 * of a value. Anything unknown counts as costly. While a cheap template is rendered, its output is
 * limited.
 */

const cheapTags = new Set(
  `if elsif else endif unless endunless case when endcase raw endraw comment endcomment #`.split(
    ' ',
  ),
);
const cheapFilters = new Set(
  `raw default fallback escape escape_once xml_escape upcase downcase capitalize strip lstrip rstrip
   strip_newlines append prepend truncate size first last json url_encode newline_to_br
   plus minus times divided_by modulo round ceil floor abs at_least at_most date`.split(/\s+/),
);

/** Maximum number of characters of a cheap template. Parsing this many takes about 5 ms. */
export const cheapSourceChars = 200_000;
/**
 * Maximum number of characters of values in a cheap rendering. Copying or escaping this many takes
 * about 5 ms.
 */
export const cheapValueChars = 200_000;
/** Maximum weight of a cheap template (`readingWeight`). Parsing this weight takes about 10 ms. */
export const cheapWeight = 1_000;
/** Minimum number of characters of an operation in a template: a word, or a bar and a filter. */
const operationChars = 10;

/**
 * Returns the approximate number of words in braces, which determines how long parsing takes.
 * Infinity: more than `cheapWeight`, or the source is too long.
 */
export function readingWeight(source: string, read: () => readonly TemplatePiece[]): number {
  if (source.length > cheapSourceChars || countTags(source) > cheapWeight) return Infinity;
  let weight = 0;
  for (const { liquid } of read()) {
    if (/^\{[{%]/.test(liquid)) weight += Math.ceil(liquid.length / operationChars);
  }
  return weight > cheapWeight ? Infinity : weight;
}

export function isCheapToRender(pieces: readonly TemplatePiece[]): boolean {
  return pieces.every(({ liquid }) => {
    const isTag = liquid.startsWith('{%');
    if (!isTag && !liquid.startsWith('{{')) return true;
    return (!isTag || isCheapTag(liquid)) && !isCostly(liquid);
  });
}

/**
 * Counts the tags and placeholders of a template, including those that are never executed. Each
 * line of a tag `liquid` counts.
 */
export function countTags(source: string): number {
  let count = source.match(/\{[{%]/g)?.length ?? 0;
  let done = 0;
  for (const { index } of source.matchAll(/\{%-?\s*liquid\b/g)) {
    if (index < done) continue;
    const end = source.indexOf('%}', index);
    done = end === -1 ? source.length : end;
    for (let at = source.indexOf('\n', index); at !== -1 && at < done; count += 1) {
      at = source.indexOf('\n', at + 1);
    }
  }
  return count;
}

function isCheapTag(liquid: string): boolean {
  return cheapTags.has(/^\{%-?\s*(#|\w+)/.exec(liquid)?.[1] ?? '');
}

/**
 * Returns true if a tag or placeholder contains a costly filter. Quotes are not parsed, so a quoted
 * text may also count as a filter.
 */
function isCostly(liquid: string): boolean {
  // A range such as `(1..n)` may have any length.
  if (liquid.includes('..')) return true;
  const names = [...liquid.matchAll(/\|\s*([^\s:|}"']*)/g)].map(([, name = '']) => name);
  // The filter `date` can pad to any width (`%9999d`), and each name of a month (`%B`) takes 0.1
  // ms. So a format is cheap only if it is quoted, has no digits and at most 50 characters.
  const dates = names.filter((name) => name === 'date').length;
  const plainDates =
    liquid.match(/\|\s*date\s*:\s*(?:"[^"\d]{0,50}"|'[^'\d]{0,50}')/g)?.length ?? 0;
  return dates > plainDates || !names.every((name) => cheapFilters.has(name));
}

/** Returns the approximate length of values as text. Counting stops at `max`. */
export function roughChars(values: readonly unknown[], max: number): number {
  const left: unknown[] = [...values];
  let chars = 0;
  while (left.length > 0 && chars < max) {
    const value = left.pop();
    chars += 8;
    if (typeof value === 'string') chars += value.length;
    else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        chars += key.length;
        left.push(item);
      }
    }
  }
  return chars;
}
