import { isAscii } from 'node:buffer';
import { type Fields, fieldOf, readFields } from '../../domain/mail/reports/fields.ts';
import type { ArrivedMessage } from '../../domain/mail/reports/report.ts';

/**
 * Splits a report of the usual form into its parts (RFC 6522): ASCII, with a text and parts that
 * are not encoded. The MIME parser would return the same parts, but needs ten times the CPU time.
 * null: only the MIME parser can read the report.
 */
export function readPlainReport(raw: Buffer): Omit<ArrivedMessage, 'sender'> | null {
  if (!isAscii(raw)) return null;
  const text = raw.toString('latin1').replaceAll('\r\n', '\n');
  const split = text.includes('\r') ? null : splitHead(text);
  if (!split || hasEncodedWords(split.headers)) return null;
  const { headers, body } = split;
  const boundary = boundaryIn(fieldOf(headers, 'content-type') ?? '');
  const parts = boundary === null ? null : sectionsOf(body, boundary)?.map(readPart);
  if (!parts?.every((part) => part !== null)) return null;
  const [shown, ...others] = parts.filter(({ type }) => type === 'text/plain');
  if (others.length > 0) return null;
  return {
    headers,
    text: shown?.text ?? '',
    parts: parts.filter(({ type }) => type !== 'text/plain'),
  };
}

function hasEncodedWords(headers: Fields): boolean {
  return [...headers.values()].some((values) => values.some((value) => value.includes('=?')));
}

/** Matches headers. Each has a name, and may be on several lines. */
const head = /^(?:[\w-]+:.*\n(?:[ \t].*\n)*)*\n/;

/**
 * Returns the headers of a message or part, and the text after them; null: a line before the empty
 * line is no header.
 */
function splitHead(text: string): { headers: Fields; body: string } | null {
  const [found] = head.exec(text) ?? [];
  if (found === undefined) return null;
  return { headers: readFields(found), body: text.slice(found.length) };
}

function boundaryIn(contentType: string): string | null {
  const [, quoted, bare] =
    /^multipart\/report\s*;(?:.*;)?\s*boundary=(?:"([^"\\]+)"|([^\s";]+))/i.exec(contentType) ?? [];
  return quoted ?? bare ?? null;
}

/**
 * Returns the parts between the boundaries; null: the last boundary is missing, or a boundary is
 * ambiguous.
 */
function sectionsOf(body: string, boundary: string): string[] | null {
  const [, ...sections] = `\n${body}\n`.split(`\n--${boundary}`);
  const end = sections.findIndex((section) => section.startsWith('--'));
  const open = sections.slice(0, Math.max(end, 0));
  if (end < 1 || !open.every((section) => /^[ \t]*\n/.test(section))) return null;
  return open.map((section) => section.slice(section.indexOf('\n') + 1));
}

/** Matches the types of the parts of a report, and of attachments that are not read. */
const known = /^(?:text\/rfc822-headers|(?:message|application|image)\/[\w.+-]+)$/;
/** Encodings that leave a text unchanged. */
const identity = /^(?:7bit|8bit|binary)$/i;

function readPart(section: string): ArrivedMessage['parts'][number] | null {
  const split = splitHead(section);
  if (!split) return null;
  const { headers, body } = split;
  const encoding = fieldOf(headers, 'content-transfer-encoding') ?? '7bit';
  const contentType = fieldOf(headers, 'content-type') ?? 'text/plain';
  const type = /^[\w.+-]+\/[\w.+-]+/.exec(contentType)?.[0].toLowerCase() ?? '';
  const isText =
    type === 'text/plain' &&
    !headers.has('content-disposition') &&
    !/format\s*=|charset\s*=\s*"?utf-?(?:7|16|32)/i.test(contentType);
  if (!identity.test(encoding) || !(isText || known.test(type))) return null;
  return { type, text: `${body}\n` };
}
