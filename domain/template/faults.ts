import { AssertionError, LiquidError } from 'liquidjs';
import { readTemplate } from './source.ts';

/** A position in a template. Both numbers count from 1, and are null if unknown. */
export interface Place {
  line: number | null;
  column: number | null;
}

/**
 * Why a template cannot be rendered. Mail with this template is rendered plainly: only placeholders
 * are replaced.
 */
export interface TemplateFault extends Place {
  code: 'liquid_syntax' | 'liquid_limit';
  message: string;
}

const nowhere: Place = { line: null, column: null };

export const tooLong: TemplateFault = {
  code: 'liquid_limit',
  message: 'The template is longer than 2 MB. Shorten it.',
  ...nowhere,
};

export const tooManyTags: TemplateFault = {
  code: 'liquid_limit',
  message:
    'The template has more than 10,000 tags and placeholders. Use fewer, for example by a loop.',
  ...nowhere,
};

/** The fault when a rendering took too long and was stopped. */
export const stopped: TemplateFault = {
  code: 'liquid_limit',
  message: 'Rendering takes too long or too much memory. Simplify the template.',
  ...nowhere,
};

/** The fault when a template cannot be parsed in time. */
export const unread: TemplateFault = {
  code: 'liquid_limit',
  message: 'Parsing the template takes too long. Simplify it: fewer tags, and less nesting.',
  ...nowhere,
};

/** Messages of liquidjs about its limits, with our replacements. */
const limitMessages: readonly (readonly [RegExp, string])[] = [
  [
    /^template render limit/,
    'Rendering takes longer than a second. Simplify the template: fewer loops, shorter lists.',
  ],
  [
    /^memory alloc limit/,
    'Rendering makes more than 10 MB of text. Shorten the loops of the template.',
  ],
];

/** Returns the fault for an error that liquidjs threw while `source` was parsed or rendered. */
export function faultOf(error: unknown, source: string): TemplateFault {
  const place = LiquidError.is(error) ? placeOf(error, source) : nowhere;
  const cause = LiquidError.is(error) ? (error.originalError ?? error) : error;
  const written = cause instanceof Error ? cause.message : 'Not valid Liquid.';
  if (cause instanceof AssertionError && written.endsWith('limit exceeded')) {
    const known = limitMessages.find(([pattern]) => pattern.test(written));
    return { code: 'liquid_limit', message: known?.[1] ?? stopped.message, ...place };
  }
  // A RangeError of JavaScript means that the text is too long, or nested too deeply.
  if (cause instanceof RangeError) return { ...stopped, ...place };
  return { code: 'liquid_syntax', message: syntaxText(written), ...place };
}

/** Frequent messages of liquidjs about a template, with our replacements. */
const syntaxMessages: readonly (readonly [RegExp, string])[] = [
  [/^tag "([^"]+)" not found$/, 'Liquid has no tag "$1".'],
  [/^tag (.+) not closed$/s, 'The tag $1 is not closed.'],
  [/^output "(.+)" not closed$/s, 'The placeholder $1 is not closed.'],
  [/^undefined filter: (.+)$/, 'There is no filter "$1".'],
  [/^unexpected token "", value expected$/s, 'A value is missing at the end.'],
  [/^unexpected token (.+), value expected$/s, 'A value is missing before $1.'],
  [/^unexpected token (.+)$/s, 'It cannot be read at $1.'],
];

function syntaxText(written: string): string {
  const text = written.replace(/, line:\d+, col:\d+$/, '');
  const known = syntaxMessages.find(([pattern]) => pattern.test(text));
  return known ? text.replace(...known) : asSentence(text);
}

/** Returns a fault in one line, for readers who see only a message. */
export function faultText({ message, line, column }: TemplateFault): string {
  const place = `(line ${line}, column ${column})`;
  return line === null ? message : `${message.replace(/\.$/, '')} ${place}.`;
}

function asSentence(text: string): string {
  return text === '' ? 'Not valid Liquid.' : `${text[0]!.toUpperCase()}${text.slice(1)}`;
}

function placeOf({ token }: LiquidError, source: string): Place {
  const map = new PlaceMap(source);
  // A part of a tag that liquidjs tokenized separately has positions of its own.
  return token.input === map.liquid ? map.at(token.begin) : nowhere;
}

/**
 * Maps positions in the translation for liquidjs to positions in the written template.
 * @param omitted the pieces that the translation leaves out
 */
export class PlaceMap {
  readonly liquid: string;
  readonly #source: string;
  /** The start of each piece in the translation and in the source. */
  readonly #pieces: { liquid: number; written: number; isExact: boolean }[] = [];
  #lines: number[] | undefined;

  constructor(
    source: string,
    omitted: (piece: ReturnType<typeof readTemplate>[number]) => boolean = () => false,
  ) {
    this.#source = source;
    const texts: string[] = [];
    let liquid = 0;
    let written = 0;
    for (const piece of readTemplate(source)) {
      const text = omitted(piece) ? '' : piece.liquid;
      const isTagOfOneLine = /^\{[{%]/.test(text) && !text.includes('\n');
      this.#pieces.push({ liquid, written, isExact: text === piece.written && !isTagOfOneLine });
      texts.push(text);
      liquid += text.length;
      written += piece.written.length;
    }
    this.liquid = texts.join('');
  }

  /**
   * Returns the place of an offset in the translation. If the offset is inside a tag on one line,
   * the place is the start of the tag.
   */
  at(at: number): Place {
    const piece = lastAt(this.#pieces, at, ({ liquid }) => liquid);
    if (!piece) return { line: 1, column: 1 };
    return this.inSource(piece.written + (piece.isExact ? at - piece.liquid : 0));
  }

  /** Returns the place of an offset in the written template. */
  inSource(at: number): Place {
    this.#lines ??= lineStarts(this.#source);
    const lines = this.#lines;
    const line = lastIndexAt(lines, at, (start) => start);
    return { line: line + 1, column: at - (lines[line] ?? 0) + 1 };
  }
}

export function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function lastAt<T>(items: readonly T[], at: number, start: (item: T) => number): T | undefined {
  return items[lastIndexAt(items, at, start)];
}

/**
 * Returns the index of the last item that starts at or before an offset; -1: there is none. The
 * items are in order.
 */
export function lastIndexAt<T>(
  items: readonly T[],
  at: number,
  start: (item: T) => number,
): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (start(items[middle]!) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
