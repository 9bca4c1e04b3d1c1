import { readTemplate } from './source.ts';

/**
 * What a template may cost, told from its text alone, so that one of unknown cost can be rendered
 * where it disturbs nobody. Cheap is what goes through the template once and changes each value in
 * time proportional to its length. Everything unknown counts as costly: loops, ranges, and filters
 * that multiply, split or search.
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

/** Longer sources, and more in braces, cost even to be read. */
const sourceCharsMax = 200_000;
const bracesMax = 1_000;
const weightMax = 2_000;
/** Every operation takes at least so many characters: a word, or a bar and a filter. */
const operationChars = 10;
/** Work that nobody notices: characters touched, about 20 ms. */
const workMax = 20_000_000;

/**
 * How often a rendering touches a value, at most: once for each word in braces.
 * Infinity: there is no telling.
 */
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

/** A costly filter, or what looks like one: quotes are not read. */
function isCostly(liquid: string): boolean {
  // A range may be of any length.
  if (liquid.includes('..')) return true;
  const names = [...liquid.matchAll(/\|\s*([^\s:|}"']*)/g)].map(([, name = '']) => name);
  // A width in the format of a date pads to any length.
  const dates = names.filter((name) => name === 'date').length;
  const plainDates = liquid.match(/\|\s*date\s*:\s*(?:"[^"\d]*"|'[^'\d]*')/g)?.length ?? 0;
  return dates > plainDates || !names.every((name) => cheapFilters.has(name));
}

/** True for a template that is read in no time, whatever it costs to be rendered. */
export function isQuicklyRead(source: string): boolean {
  if (source.length > sourceCharsMax) return false;
  return (source.match(/\{[{%]/g)?.length ?? 0) <= bracesMax;
}

/** True when templates of this weight over these values are done in no time. */
export function isCheap(weight: number, values: readonly unknown[]): boolean {
  if (weight === Infinity) return false;
  const room = workMax / Math.max(weight, 1);
  return roughChars(values, room) < room;
}

/** About how long the values are as text; stops counting at `max`. */
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
