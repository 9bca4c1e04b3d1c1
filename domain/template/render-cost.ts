import { readTemplate } from './source.ts';

/**
 * Estimates a template's cost from its source, so that a costly one can be rendered where it blocks
 * nobody. A template is cheap when it is walked once and changes each value in time proportional to
 * its length. Everything unknown counts as costly: loops, ranges, and filters that multiply, split
 * or search.
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

/** Longer sources, or more text in braces, are costly even to parse. */
const sourceCharsMax = 200_000;
const bracesMax = 1_000;
const weightMax = 2_000;
/** Every operation takes at least this many characters: a word, or a bar and a filter. */
const operationChars = 10;
/** Negligible work: characters processed in about 20 ms. */
const workMax = 20_000_000;

/** Most times a rendering processes a value: once per word in braces. Infinity: unknown. */
export function templateWeight(source: string): number {
  if (!isQuicklyRead(source)) return Infinity;
  let weight = 0;
  for (const { liquid } of readTemplate(source)) {
    const isTag = liquid.startsWith('{%');
    if (!isTag && !liquid.startsWith('{{')) continue;
    weight += Math.ceil(liquid.length / operationChars);
    if (weight > weightMax || (isTag && !isCheapTag(liquid)) || isCostly(liquid)) return Infinity;
  }
  return weight;
}

function isCheapTag(liquid: string): boolean {
  return cheapTags.has(/^\{%-?\s*(#|\w+)/.exec(liquid)?.[1] ?? '');
}

/** Whether it contains a costly filter, or something like one: quotes are not parsed. */
function isCostly(liquid: string): boolean {
  // A range may have any length.
  if (liquid.includes('..')) return true;
  const names = [...liquid.matchAll(/\|\s*([^\s:|}"']*)/g)].map(([, name = '']) => name);
  // A width in a date format pads to any length.
  const dates = names.filter((name) => name === 'date').length;
  const plainDates = liquid.match(/\|\s*date\s*:\s*(?:"[^"\d]*"|'[^'\d]*')/g)?.length ?? 0;
  return dates > plainDates || !names.every((name) => cheapFilters.has(name));
}

/** True for a template that is parsed quickly, whatever it costs to render. */
export function isQuicklyRead(source: string): boolean {
  if (source.length > sourceCharsMax) return false;
  return (source.match(/\{[{%]/g)?.length ?? 0) <= bracesMax;
}

/** True when templates of this weight render these values quickly. */
export function isCheap(weight: number, values: readonly unknown[]): boolean {
  if (weight === Infinity) return false;
  const room = workMax / Math.max(weight, 1);
  return roughChars(values, room) < room;
}

/** Approximate length of the values as text; stops counting at `max`. */
function roughChars(values: readonly unknown[], max: number): number {
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
