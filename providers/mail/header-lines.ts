import { domainToASCII } from 'node:url';
import * as mimeFuncs from 'nodemailer/lib/mime-funcs';
import MimeNode from 'nodemailer/lib/mime-node';

/** Writes header lines in ASCII, and folds long lines. */

/** Maximum length of a line of a message, without its line end (RFC 5322, 2.1.1), in characters. */
const lineCharsMax = 998;
/** Preferred length of a line; RFC 5322 recommends 78. */
const lineChars = 76;
/**
 * Maximum number of characters of an encoded word, so that the names of most headers fit on the
 * same line.
 */
const encodedWordChars = 52;

/** Encodes headers with nodemailer (RFC 2047, punycode). The node itself stays empty. */
export const encoder = new MimeNode();

/**
 * Matches headers with ids and URLs, which are not folded, because some programs read only the
 * first line.
 */
const isUnfolded = /^(?:message-id|list-[a-z-]+)$/i;

/**
 * Writes a header on folded lines. A header is written on one line, if that is not too long, in two
 * cases: its name must not be folded (`isUnfolded`), or its blanks would make an invalid folded
 * line.
 */
export function header(name: string, value: string): string {
  const line = `${name}: ${value}`;
  const folded = mimeFuncs.foldLines(line, lineChars);
  const isBest = !isUnfolded.test(name) && isLegal(folded);
  return isBest || line.length > lineCharsMax ? folded : line;
}

/** Returns true if no line is too long or only blanks (RFC 5322, 2.1.1 and 3.2.2). */
function isLegal(folded: string): boolean {
  return folded.split('\r\n').every((line) => line.length <= lineCharsMax && line.trim() !== '');
}

export function subjectHeader(subject: string): string {
  const text = inOneLine(subject);
  // Also encode text that only looks like an encoded word, because readers would decode it.
  return textHeader('Subject', text, isAscii(text) && !text.includes('=?') ? text : encoded(text));
}

/**
 * Matches headers with mailboxes, ids or phrases, in which encoded words are allowed only in some
 * places (RFC 2047, 5).
 */
const isStructured = /^list-|-to$|^(?:keywords|references)$/i;

/**
 * Writes a header that the sender set. ASCII text stays as it is, if it can be folded. In a
 * structured header, only phrases are encoded.
 */
export function customHeader(name: string, value: string): string {
  const text = inOneLine(value);
  if (isAscii(text)) return textHeader(name, text, text);
  return textHeader(name, text, isStructured.test(name) ? withPhrases(text) : encoded(text));
}

/**
 * Writes a header with free text. Text that cannot be folded into valid lines is encoded, even if
 * it is ASCII.
 */
function textHeader(name: string, text: string, value: string): string {
  const lines = header(name, value);
  return isLegal(lines) ? lines : header(name, encoded(text));
}

function inOneLine(text: string): string {
  return text.replace(/[\r\n]+/g, ' ').trim();
}

function isAscii(text: string): boolean {
  return /^[\t -~]*$/.test(text);
}

function encoded(text: string): string {
  return mimeFuncs.encodeWord(text, 'Q', encodedWordChars);
}

/**
 * Matches the parts of a structured header: quoted text, comments, addresses, separators, words and
 * blanks.
 */
const part = /"(?:[^"\\]|\\.)*"|\((?:[^()\\]|\\.)*\)|<[^<>]*>|[,;:]|[^\s"<>(),;:]+|\s+|./gs;

/** Returns a structured header in ASCII, with its phrases, comments and addresses encoded. */
function withPhrases(text: string): string {
  let ascii = '';
  let phrase = { written: '', plain: '' };
  const endPhrase = () => {
    const { written, plain } = phrase;
    // An encoded word needs blanks around it and no quotes.
    ascii += isAscii(written) ? written : ` ${encoded(plain.trim())} `;
    phrase = { written: '', plain: '' };
  };
  for (const [found] of text.matchAll(part)) {
    const isEnclosed = found.length > 1 && /^["<(]/.test(found);
    if (isEnclosed ? found.startsWith('"') : !/^[,;:]$/.test(found)) {
      phrase.written += found;
      phrase.plain += isEnclosed ? found.slice(1, -1).replace(/\\(.)/gs, '$1') : found;
      continue;
    }
    endPhrase();
    if (isAscii(found)) ascii += found;
    else ascii += found.startsWith('<') ? asciiAddress(found) : `(${encoded(found.slice(1, -1))})`;
  }
  endPhrase();
  const value = ascii.replace(/[ \t]+/g, ' ').trim();
  return isAscii(value) ? value : encoded(text);
}

/** Returns a URL, mailbox or list id in angle brackets, in ASCII. */
function asciiAddress(found: string): string {
  const inside = found.slice(1, -1).trim();
  if (/^[a-z][a-z0-9+.-]*:/i.test(inside) && URL.canParse(inside))
    return `<${new URL(inside).href}>`;
  const at = inside.lastIndexOf('@') + 1;
  return `<${inside.slice(0, at)}${domainToASCII(inside.slice(at))}>`;
}
