import { createHash } from 'node:crypto';
import PostalMime, { type Email } from 'postal-mime';
import { normaliseEmail } from '../../domain/email-address.ts';
import { type Fields, fieldOf } from '../../domain/mail/reports/fields.ts';
import type { ArrivedMessage } from '../../domain/mail/reports/report.ts';
import { readPlainReport } from './plain-report.ts';

/**
 * Number of bytes of a message that are read. Reports are smaller, and the text of a mail comes
 * before its attachments. Parsing more would block the process.
 */
export const readBytesMax = 512 * 1024;
/** Maximum number of characters of a part that are kept. */
const partCharsMax = 64 * 1024;

/** A message inside a message is kept as a part, because reports return the original message. */
const options = { forceRfc822Attachments: true, attachmentEncoding: 'utf8' } as const;

/**
 * Splits a message into its parts; null: it cannot be parsed.
 * @param raw the MIME message as it arrived, or its beginning
 */
export async function readArrivedMessage(
  raw: Buffer,
): Promise<Omit<ArrivedMessage, 'sender'> | null> {
  const plain = readPlainReport(raw);
  if (plain) return { ...plain, text: cut(plain.text), parts: reportedParts(plain.parts) };
  return parseMime(raw);
}

/** Splits any MIME message into its parts; null: it cannot be parsed. */
export async function parseMime(raw: Buffer): Promise<Omit<ArrivedMessage, 'sender'> | null> {
  const email = await PostalMime.parse(raw, options).catch(() => null);
  if (!email) return null;
  const attachments = email.attachments.flatMap(({ mimeType: type, content }) =>
    typeof content === 'string' ? { type, text: content } : [],
  );
  return { headers: headersOf(email), text: textOf(email), parts: reportedParts(attachments) };
}

function headersOf({ headers }: Email): Fields {
  const fields = new Map<string, string[]>();
  for (const { key, value } of headers) {
    const values = fields.get(key) ?? [];
    fields.set(key, values);
    values.push(value);
  }
  return fields;
}

function textOf({ text, html }: Email): string {
  const readable = text || (html ?? '').replaceAll(/<[^<>]*>/g, ' ');
  return cut(readable);
}

function cut(text: string): string {
  return text.slice(0, partCharsMax);
}

/** Matches the types of parts that reports have. Other attachments do not report on sent mail. */
const reported = /^(?:message\/|text\/rfc822-headers$)/;

function reportedParts(parts: ArrivedMessage['parts']): ArrivedMessage['parts'] {
  return parts.flatMap(({ type, text }) => (reported.test(type) ? { type, text: cut(text) } : []));
}

/**
 * Returns the envelope sender that a mail server wrote into the headers; '': the envelope sender
 * was empty. null: the headers have no envelope sender.
 */
export function returnPathIn({ headers }: Pick<ArrivedMessage, 'headers'>): string | null {
  const written = fieldOf(headers, 'return-path')?.trim();
  return written?.replace(/^<(.*)>$/, '$1') ?? null;
}

/** Headers with the recipients, for a message that arrived without an envelope. */
export const recipientHeaders = ['delivered-to', 'x-original-to', 'to'] as const;

/** Returns the addresses, in stored form, to which a message without an envelope was delivered. */
export function deliveredTo({ headers }: Pick<ArrivedMessage, 'headers'>): string[] {
  const written = recipientHeaders.flatMap((name) => headers.get(name) ?? []);
  const found = written.flatMap(
    (value) => value.match(/[^\s<>,;:"()@]{1,64}@[\w.-]{1,253}/g) ?? [],
  );
  return [...new Set(found.flatMap((address) => normaliseEmail(address) ?? []))];
}

/**
 * Returns a hash of a message that does not depend on how it arrived. Line ends may differ, and
 * only the beginning of a large message is read.
 */
export function fingerprintOf(raw: Buffer): string {
  const text = raw.subarray(0, readBytesMax).toString('latin1').replaceAll('\r\n', '\n').trimEnd();
  return createHash('sha256').update(text, 'latin1').digest('base64url');
}
