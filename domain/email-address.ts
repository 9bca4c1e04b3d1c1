/** Maximum number of characters of an address (RFC 5321). The part before the @ has at most 64. */
const addressMax = 254;
const localPart = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}$/;
const domainLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const startsWithLetter = /^[a-z]/;

/**
 * Returns the stored form of an email address (trimmed, ASCII letters in lower case), or null when
 * it is invalid.
 *  - Only ASCII is valid. Other local parts need SMTPUTF8, which providers such as SES reject. An
 *    international domain must have its `xn--` form, so that each mailbox has one spelling.
 *  - Quoted local parts, spaces, commas, angle brackets and control characters are refused, because
 *    they would change the meaning of a header.
 *  - The local part may have dots anywhere, because real mailboxes have double and trailing dots.
 *  - IP addresses are not valid as domains.
 */
export function normaliseEmail(value: string): string | null {
  const trimmed = value.trim();
  if (trimmed.length > addressMax) return null;
  const address = lowerAscii(trimmed);
  const [local, domain, ...rest] = address.split('@');
  if (local === undefined || domain === undefined || rest.length > 0) return null;
  if (!localPart.test(local)) return null;
  const labels = domain.split('.');
  if (labels.length < 2 || !labels.every((label) => domainLabel.test(label))) return null;
  return startsWithLetter.test(labels.at(-1)!) ? address : null;
}

/**
 * Converts only ASCII letters to lower case, for the comparison of addresses. `toLowerCase` would
 * also turn the Kelvin sign, which is another letter, into k.
 */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Returns the domain of an address in its stored form. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1);
}

/** Masks an address for public pages: `ada@x.example` becomes `a…@x.example`. */
export function maskEmail(email: string): string {
  return `${email.slice(0, 1)}…@${domainOf(email)}`;
}

export interface Mailbox {
  name: string | null;
  /** The address in its stored form. */
  address: string;
}

/**
 * Reads the mailboxes of an address header (RFC 5322, 3.4), in order: alone or in `Name <address>`,
 * with quoted names, comments and groups. If an address has no name, the comment after the address
 * is used as its name.
 * @returns null if a part of the text cannot be read, or if it has no mailbox
 */
export function parseMailboxes(text: string): Mailbox[] | null {
  const mailboxes: Mailbox[] = [];
  let part = emptyPart();
  const endPart = (): boolean => {
    const { words, angle, comment } = part;
    part = emptyPart();
    if (words.length === 0 && angle === null) return true;
    // Blanks may stand around the @.
    const written = angle ?? words.join(' ').replace(/ ?@ ?/, '@');
    const name = (angle === null ? '' : words.join(' ')) || comment;
    const address = normaliseEmail(written);
    if (address !== null) mailboxes.push({ name: name === '' ? null : name, address });
    return address !== null;
  };
  for (const token of tokensOf(text)) {
    if (token.kind === 'fault') return null;
    if (token.kind === 'comment') part.comment ||= token.text.trim();
    else if (token.kind === 'end') {
      if (!endPart()) return null;
    } else if (token.kind === 'group') part = emptyPart();
    else if (part.angle !== null) return null;
    else if (token.kind === 'angle') part.angle = token.text;
    else part.words.push(token.text);
  }
  return endPart() && mailboxes.length > 0 ? mailboxes : null;
}

interface Part {
  words: string[];
  angle: string | null;
  comment: string;
}

const emptyPart = (): Part => ({ words: [], angle: null, comment: '' });

interface Token {
  kind: 'word' | 'angle' | 'comment' | 'end' | 'group' | 'fault';
  text: string;
}

function* tokensOf(text: string): Generator<Token> {
  let at = 0;
  while (at < text.length) {
    const char = text[at]!;
    if (/\s/.test(char)) at += 1;
    else if (char === ',' || char === ';' || char === ':') {
      yield { kind: char === ':' ? 'group' : 'end', text: '' };
      at += 1;
    } else {
      const read = readToken(text, at);
      yield read.token;
      at = read.end;
    }
  }
}

function readToken(text: string, start: number): { token: Token; end: number } {
  const char = text[start]!;
  if (char === '"') return enclosed(text, start, 'word', '', '"');
  if (char === '(') return enclosed(text, start, 'comment', '(', ')');
  if (char === '<') return enclosed(text, start, 'angle', '<', '>');
  let end = start;
  while (end < text.length && !/[\s"(<>,;:]/.test(text[end]!)) end += 1;
  const kind = end === start ? 'fault' : 'word';
  return { token: { kind, text: text.slice(start, end) }, end: Math.max(end, start + 1) };
}

/**
 * Returns the text between two characters, without the backslashes of quoted pairs. The pair of
 * characters may be nested if the characters differ.
 */
function enclosed(
  text: string,
  start: number,
  kind: Token['kind'],
  open: string,
  close: string,
): { token: Token; end: number } {
  let content = '';
  let depth = 1;
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text[at]!;
    if (char === '\\') {
      content += text[at + 1] ?? '';
      at += 1;
      continue;
    }
    if (char === close) depth -= 1;
    else if (char === open) depth += 1;
    if (depth === 0) return { token: { kind, text: content }, end: at + 1 };
    content += char;
  }
  return { token: { kind: 'fault', text: '' }, end: text.length };
}

/** Formats mailboxes as header text, which `parseMailboxes` can read. */
export function formatMailboxes(mailboxes: readonly Mailbox[]): string {
  return mailboxes
    .map(({ name, address }) =>
      name === null ? address : `"${name.replace(/[\\"]/g, '\\$&')}" <${address}>`,
    )
    .join(', ');
}

/** Returns only the addresses of a text that `formatMailboxes` has written. */
export function addressesIn(formatted: string): string {
  const mailboxes = parseMailboxes(formatted);
  return mailboxes?.map(({ address }) => address).join(', ') ?? formatted;
}
