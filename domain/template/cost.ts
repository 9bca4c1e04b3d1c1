import type { TemplatePiece } from './source.ts';

/**
 * Which renderings are cheap enough for the thread that answers everybody. A cheap template is read
 * once, has no loops, and its filters change a value in time proportional to its length. Everything
 * unknown counts as costly. What a cheap one makes of its values is bounded while it is rendered.
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

/** Longer sources are costly even to read: these take about 5 ms. */
export const cheapSourceChars = 200_000;
/** Values with more characters are costly even to copy or to escape once: these take about 5 ms. */
export const cheapValueChars = 200_000;
/** Heavier templates are costly even to parse: these take about 10 ms. */
export const cheapWeight = 1_000;
/** Every operation takes at least this many characters: a word, or a bar and a filter. */
const operationChars = 10;

/** How much a template has in braces, in words: what it takes to parse it. Infinity: too much. */
export function readingWeight(source: string, read: () => readonly TemplatePiece[]): number {
  if (source.length > cheapSourceChars || countTags(source) > cheapWeight) return Infinity;
  let weight = 0;
  for (const { liquid } of read()) {
    if (/^\{[{%]/.test(liquid)) weight += Math.ceil(liquid.length / operationChars);
  }
  return weight > cheapWeight ? Infinity : weight;
}

/** Returns true if all tags and filters are cheap. */
export function isCheapToRender(pieces: readonly TemplatePiece[]): boolean {
  return pieces.every(({ liquid }) => {
    const isTag = liquid.startsWith('{%');
    if (!isTag && !liquid.startsWith('{{')) return true;
    return (!isTag || isCheapTag(liquid)) && !isCostly(liquid);
  });
}

/**
 * How many tags and placeholders a template has, those that are never run included. In the tag
 * `liquid`, each line is one.
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

/** Returns true if it contains a costly filter or similar text: quotes are not parsed. */
function isCostly(liquid: string): boolean {
  // A range may have any length.
  if (liquid.includes('..')) return true;
  const names = [...liquid.matchAll(/\|\s*([^\s:|}"']*)/g)].map(([, name = '']) => name);
  // A width in a date format pads to any length, and each name of a month takes 0.1 ms.
  const dates = names.filter((name) => name === 'date').length;
  const plainDates =
    liquid.match(/\|\s*date\s*:\s*(?:"[^"\d]{0,50}"|'[^'\d]{0,50}')/g)?.length ?? 0;
  return dates > plainDates || !names.every((name) => cheapFilters.has(name));
}

/** Approximate length of values as text; stops counting at `max`. */
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
