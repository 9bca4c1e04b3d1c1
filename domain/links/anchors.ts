/**
 * Finds the links in HTML. Tags are parsed as browsers parse them (HTML standard, 13.2.5), so text
 * that only looks like a link, in comments or scripts, is not found.
 */

/** The attribute with the id of a link. It marks the link until the mail is sent. */
export const markAttribute = 'data-everpost-link';

/**
 * Returns the address in an attribute as a browser reads it; null when it contains a character
 * reference that we do not decode.
 * @param value as written in the HTML
 */
export function readTarget(value: string): string | null {
  const decoded = decodeReferences(value);
  return decoded === null ? null : withoutBlanks(decoded).replace(/[\t\n\r]/g, '');
}

/**
 * Returns the position at the end of a document where inserted content is visible: before the last
 * `</body>` tag. If there is no such tag, the position is the end of the text, or before an
 * unclosed element that would hide the content.
 */
export function endOfBody(html: string): number {
  return findAnchors(html).end;
}

/** Removes control characters and spaces from both ends, as the URL standard requires. */
function withoutBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start]! <= ' ') start += 1;
  while (start < end && text[end - 1]! <= ' ') end -= 1;
  return text.slice(start, end);
}

const namedReferences: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

/** Entities that are valid without a semicolon (HTML standard, 13.5). */
const legacyNames = new Set(
  (
    'AElig AMP Aacute Acirc Agrave Aring Atilde Auml COPY Ccedil ETH Eacute Ecirc Egrave Euml GT ' +
    'Iacute Icirc Igrave Iuml LT Ntilde Oacute Ocirc Ograve Oslash Otilde Ouml QUOT REG THORN ' +
    'Uacute Ucirc Ugrave Uuml Yacute aacute acirc acute aelig agrave amp aring atilde auml brvbar ' +
    'ccedil cedil cent copy curren deg divide eacute ecirc egrave eth euml frac12 frac14 frac34 gt ' +
    'iacute icirc iexcl igrave iquest iuml laquo lt macr micro middot nbsp not ntilde oacute ocirc ' +
    'ograve ordf ordm oslash otilde ouml para plusmn pound quot raquo reg sect shy sup1 sup2 sup3 ' +
    'szlig thorn times uacute ucirc ugrave uml uuml yacute yen yuml'
  ).split(' '),
);

/**
 * Returns the text of an attribute; null when it contains a character reference that we do not
 * decode.
 */
function decodeReferences(value: string): string | null {
  let isReadable = true;
  const text = value.replace(
    /&(?:#(\d+)(;?)|#x([\da-f]+)(;?)|([a-z][a-z\d]*)(;|(?!=)))/gi,
    (reference, decimal?: string, _a?: string, hex?: string, _b?: string, name = '', end = '') => {
      if (decimal ?? hex) {
        const code = decimal ? Number(decimal) : Number.parseInt(hex!, 16);
        // Browsers replace all other numbers by special tables. URLs do not use such numbers, so we
        // do not decode them.
        if (code >= 0xa0 ? code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) : isAscii(code)) {
          return String.fromCodePoint(code);
        }
        isReadable = false;
        return reference;
      }
      if (end === ';' && Object.hasOwn(namedReferences, name)) return namedReferences[name]!;
      // An unknown name without a semicolon is no reference but a parameter: `?a=1&b`.
      if (end === ';' || legacyNames.has(name)) isReadable = false;
      return reference;
    },
  );
  return isReadable ? text : null;
}

function isAscii(code: number): boolean {
  return code >= 0x20 && code < 0x7f;
}

/** The position of a link's `href` value: `html.slice(from, to)`. */
export interface Anchor {
  from: number;
  to: number;
  quoted: boolean;
  value: string;
  /** The id in the link's mark; null: the link is not marked. */
  linkId: string | null;
}

/** Elements whose content is plain text up to their end tag, so it contains no tags. */
const rawText = new Set([
  'script',
  'style',
  'textarea',
  'title',
  'xmp',
  'iframe',
  'noembed',
  'noframes',
  'plaintext',
]);

/** Returns the links of a document, in order, and the position at its end for inserted content. */
export function findAnchors(html: string): { anchors: Anchor[]; end: number } {
  const anchors: Anchor[] = [];
  let bodyEnd: number | null = null;
  let at = 0;
  for (;;) {
    const start = html.indexOf('<', at);
    if (start < 0) return { anchors, end: bodyEnd ?? html.length };
    const next = html[start + 1] ?? '';
    const isEndTag = next === '/' && /[a-z]/i.test(html[start + 2] ?? '');
    let after: number;
    if (isEndTag || /[a-z]/i.test(next)) {
      const tag = readTag(html, start + (isEndTag ? 2 : 1));
      after = tag.end;
      if (isEndTag) {
        if (tag.name === 'body' && after > 0) bodyEnd = start;
      } else if (after > 0) {
        if (tag.name === 'a' && tag.href && !tag.isExempt) anchors.push(tag.href);
        if (rawText.has(tag.name)) after = endOfRawText(html, tag.name, after);
      }
    } else if (next === '!' || next === '?' || next === '/') {
      after = endOfComment(html, start);
    } else {
      after = start + 1;
    }
    // The element is never closed, so the rest of the document is its content.
    if (after < 0) return { anchors, end: bodyEnd ?? start };
    at = after;
  }
}

interface Tag {
  name: string;
  href: Anchor | null;
  /** True if the tag has `data-track="false"`. */
  isExempt: boolean;
  /** Position after the tag; -1: the tag is never closed. */
  end: number;
}

const blank = /[\t\n\f\r ]/;

function skip(html: string, at: number, what: RegExp): number {
  let position = at;
  while (position < html.length && what.test(html[position]!)) position += 1;
  return position;
}

function readTag(html: string, nameStart: number): Tag {
  let at = skip(html, nameStart, /[^\t\n\f\r />]/);
  const name = html.slice(nameStart, at).toLowerCase();
  const tag: Tag = { name, href: null, isExempt: false, end: -1 };
  let linkId: string | null = null;
  const seen = new Set<string>();
  for (;;) {
    at = skip(html, at, /[\t\n\f\r /]/);
    if (at >= html.length) return tag;
    if (html[at] === '>') {
      const href = tag.href && { ...tag.href, linkId };
      return { ...tag, href, end: at + 1 };
    }
    const keyEnd = skip(html, at + 1, /[^\t\n\f\r />=]/);
    const key = html.slice(at, keyEnd).toLowerCase();
    const value = readValue(html, keyEnd);
    if (!value) return tag;
    at = value.end;
    // If two attributes have the same name, the first counts.
    if (seen.has(key)) continue;
    seen.add(key);
    if (key === 'href') tag.href = value.anchor;
    if (key === markAttribute) linkId = value.anchor?.value ?? null;
    if (key === 'data-track') tag.isExempt = value.anchor?.value.trim().toLowerCase() === 'false';
  }
}

/**
 * Reads what follows the name of an attribute; null when the closing quote of the value is missing.
 */
function readValue(html: string, keyEnd: number): { anchor: Anchor | null; end: number } | null {
  const equals = skip(html, keyEnd, blank);
  if (html[equals] !== '=') return { anchor: null, end: keyEnd };
  const start = skip(html, equals + 1, blank);
  const quote = html[start];
  if (quote === '"' || quote === "'") {
    const to = html.indexOf(quote, start + 1);
    if (to < 0) return null;
    const value = html.slice(start + 1, to);
    return { anchor: { from: start + 1, to, quoted: true, value, linkId: null }, end: to + 1 };
  }
  const to = skip(html, start, /[^\t\n\f\r >]/);
  const value = html.slice(start, to);
  return { anchor: { from: start, to, quoted: false, value, linkId: null }, end: to };
}

/**
 * Returns the position after a comment, a doctype or a similar construct; -1: it is never closed.
 */
function endOfComment(html: string, start: number): number {
  if (!html.startsWith('<!--', start)) return html.indexOf('>', start + 2) + 1 || -1;
  const short = /^<!--(?:-?>)/.exec(html.slice(start, start + 6));
  if (short) return start + short[0].length;
  const close = /--!?>/g;
  close.lastIndex = start + 4;
  return close.exec(html) ? close.lastIndex : -1;
}

/** Returns the position of the end tag of a raw text element; -1: there is none. */
function endOfRawText(html: string, name: string, start: number): number {
  // Safe regex: `name` is from `rawText`, so it has only letters.
  const close = new RegExp(`</${name}(?=[\\t\\n\\f\\r />])`, 'gi');
  close.lastIndex = start;
  return close.exec(html)?.index ?? -1;
}
