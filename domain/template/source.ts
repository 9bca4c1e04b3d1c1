import { decodeHTMLStrict } from 'entities/lib/decode.js';

/**
 * One piece of a template. `written` is the text as the author wrote it; all pieces joined are the
 * whole template. `liquid` is the same piece in standard Liquid. `path` is set for a placeholder
 * that names exactly one value (`{{ name }}`, `{{ data.city }}`, `{{ first name ?? there }}`).
 */
export interface TemplatePiece {
  written: string;
  liquid: string;
  path?: readonly string[];
  /** Text after `??`. It is used when the value is missing, null or an empty string. */
  fallback?: string;
  /**
   * The text after a bar in the fallback: `upcase` in `{{ name ?? you | upcase }}`. It is a part of
   * the text, not a filter.
   */
  barred?: string;
}

/** Liquid's own word characters: letters, digits, `_`, `-`, `?` and everything beyond ASCII. */
const wordPath = /^[\w?\-\u0080-\uffff]+(?:\.[\w?\-\u0080-\uffff]+)*$/;
const inWord = /[\w\u0080-\uffff]/;
const namespaces = ['contact.data.', 'data.', 'event.'];

/**
 * Splits a template into pieces and translates Everpost's additions to Liquid: HTML entities inside
 * delimiters (editors put them there), keys with spaces, and `{{ key ?? text }}`. Never throws, and
 * takes time proportional to the source. A piece that cannot be parsed stays as written, and Liquid
 * reports the error.
 */
export function readTemplate(source: string): TemplatePiece[] {
  const pieces: TemplatePiece[] = [];
  const opener = /\{[{%]/g;
  const unclosed = new Set<string>();
  let done = 0;
  const take = (end: number, make: (written: string) => TemplatePiece): void => {
    if (end > done) pieces.push(make(source.slice(done, end)));
    done = end;
  };
  for (let match = opener.exec(source); match; match = opener.exec(source)) {
    take(match.index, verbatim);
    const isTag = match[0] === '{%';
    const inner = match.index + 2;
    const end = isTag ? source.indexOf('%}', inner) : outputEnd(source, inner, unclosed);
    if (end === -1) break;
    const block = isTag ? blockName(source.slice(inner, end)) : undefined;
    const closing = block && !unclosed.has(block) ? blockEnd(source, end, block) : undefined;
    if (block && closing) {
      take(closing.end, (written) => {
        const open = source.slice(inner - 2, end + 2);
        return { written, liquid: block === 'raw' ? written : open + closing.text };
      });
    } else {
      if (block) unclosed.add(block);
      take(end + 2, isTag ? tag : placeholder);
    }
    opener.lastIndex = done;
  }
  take(source.length, verbatim);
  return pieces;
}

function verbatim(written: string): TemplatePiece {
  return { written, liquid: written };
}

function tag(written: string): TemplatePiece {
  return { written, liquid: `{%${decodeEntities(written.slice(2, -2))}%}` };
}

function placeholder(written: string): TemplatePiece {
  const left = written[2] === '-' ? '-' : '';
  const right = written.length > 4 + left.length && written.at(-3) === '-' ? '-' : '';
  const body = decodeEntities(written.slice(2 + left.length, written.length - 2 - right.length));
  const mark = outsideQuotes(body, '??');
  const expression = (mark === -1 ? body : body.slice(0, mark)).replaceAll('\u00a0', ' ').trim();
  const literal = mark === -1 ? undefined : body.slice(mark + 2).trim();
  const fallback = literal === undefined ? undefined : unquote(literal);
  const bar = literal === undefined ? -1 : outsideQuotes(literal, '|');
  const pipe = outsideQuotes(expression, '|');
  const operand = (pipe === -1 ? expression : expression.slice(0, pipe)).trim();
  const filters = pipe === -1 ? '' : ` ${expression.slice(pipe)}`;
  const key = readKey(operand);
  const otherwise = fallback === undefined ? '' : ` | fallback: ${JSON.stringify(fallback)}`;
  return {
    written,
    liquid: `{{${left} ${key?.liquid ?? operand}${filters}${otherwise} ${right}}}`,
    ...(key && pipe === -1 ? { path: key.path } : {}),
    ...(fallback === undefined ? {} : { fallback }),
    ...(bar === -1 ? {} : { barred: literal!.slice(bar + 1).trim() }),
  };
}

/**
 * Parses `name`, `data.city` or `first name`; undefined for literals and more complex expressions.
 */
function readKey(operand: string): { path: string[]; liquid: string } | undefined {
  if (wordPath.test(operand)) return { path: operand.split('.'), liquid: operand };
  const plain = operand.replace(/(?<=[\w\u0080-\uffff])'(?=[\w\u0080-\uffff])/g, '');
  if (!/\s/.test(plain) || /["'`[\]{}<>=|]|\.\./.test(plain)) return undefined;
  const namespace = namespaces.find((prefix) => operand.startsWith(prefix));
  if (!namespace) return { path: [operand], liquid: `[${JSON.stringify(operand)}]` };
  const key = operand.slice(namespace.length);
  const root = namespace.slice(0, -1);
  return { path: [...root.split('.'), key], liquid: `${root}[${JSON.stringify(key)}]` };
}

/**
 * Returns the index of the `}}` that ends the placeholder whose content begins at `from`; -1: none.
 * A `}}` in quotes does not end it, but the text after `??` ends at the first `}}`. A quote without
 * a closing one is an ordinary character. `unclosed` has the delimiters (a quote, or `}}`) that
 * were already searched to the end of the source in vain, so that no such search is repeated.
 */
function outputEnd(source: string, from: number, unclosed: Set<string>): number {
  const first = source.indexOf('}}', from);
  if (first === -1 || unclosed.has('}}')) return first;
  for (let at = from; at < source.length; at++) {
    const char = source[at]!;
    if (char === '}' && source[at + 1] === '}') return at;
    if (char === '?' && source[at + 1] === '?') {
      const end = source.indexOf('}}', at);
      return end === -1 ? first : end;
    }
    if (opensQuote(source, at) && !unclosed.has(char)) {
      const close = quoteEnd(source, at);
      if (close === -1) unclosed.add(char);
      else at = close;
    }
  }
  unclosed.add('}}');
  return first;
}

/** Returns the index of `wanted` outside quotes; -1: none. */
function outsideQuotes(text: string, wanted: string): number {
  const unclosed = new Set<string>();
  for (let at = 0; at < text.length; at++) {
    if (text.startsWith(wanted, at)) return at;
    const char = text[at]!;
    if (opensQuote(text, at) && !unclosed.has(char)) {
      const close = quoteEnd(text, at);
      if (close === -1) unclosed.add(char);
      else at = close;
    }
  }
  return -1;
}

/**
 * Returns true if a quote opens a quoted text. An apostrophe inside a word (`user's name`) does
 * not.
 */
function opensQuote(text: string, at: number): boolean {
  const char = text[at];
  return char === '"' || (char === "'" && !inWord.test(text[at - 1] ?? ''));
}

function quoteEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === text[start]) return at;
  }
  return -1;
}

/** The end tags of blocks whose content is not Liquid. */
const blockEnds = {
  raw: /\{%-?\s*endraw\s*-?%\}/g,
  comment: /\{%-?\s*endcomment\s*-?%\}/g,
};

function blockName(tag: string): keyof typeof blockEnds | undefined {
  const name = /^-?\s*(raw|comment)\b/.exec(tag)?.[1];
  return name as keyof typeof blockEnds | undefined;
}

function blockEnd(source: string, from: number, name: keyof typeof blockEnds) {
  const pattern = blockEnds[name];
  pattern.lastIndex = from;
  const match = pattern.exec(source);
  return match ? { text: match[0], end: match.index + match[0].length } : undefined;
}

function unquote(text: string): string {
  const quote = text[0];
  const quoted = (quote === '"' || quote === "'") && text.length > 1 && text.endsWith(quote);
  return quoted ? text.slice(1, -1) : text;
}

/**
 * Decodes entities in a single pass, so `&amp;quot;` becomes `&quot;` and nothing else. A
 * non-breaking space becomes a space, because it also separates words.
 */
function decodeEntities(text: string): string {
  return text.replace(/&(?:#\d+|#x[\da-f]+|[a-z][a-z\d]*);/gi, (entity) =>
    decodeHTMLStrict(entity).replace('\u00a0', ' '),
  );
}
