import { domainToASCII } from 'node:url';
import { compile, type FormatCallback } from 'html-to-text';
import * as mimeFuncs from 'nodemailer/lib/mime-funcs';
import * as qp from 'nodemailer/lib/qp';
import { cutHtml } from '../../domain/template/html.ts';
import { limits } from '../../domain/limits.ts';
import { safeFileName } from '../../domain/upload/file-name.ts';
import { isHeaderName, isStructuralHeader } from '../../domain/mail/headers.ts';
import { type Mailbox, parseMailboxes } from '../../domain/email-address.ts';
import { customHeader, encoder, header, subjectHeader } from './header-lines.ts';

export interface MailAttachment {
  filename: string;
  /** `type/subtype`, as the sender gave it. */
  contentType: string;
  /** `inline`: the HTML shows the file with `cid:<contentId>`, because both are in one part. */
  disposition: 'attachment' | 'inline';
  contentId: string | null;
  /** Standard base64, with or without padding. */
  content: string;
}

/** A mail from which the MIME message is made: rendered, wrapped, with footer and tracking. */
export interface ComposedMail {
  emailId: string;
  date: Date;
  from: Mailbox;
  to: Mailbox;
  /** An address, or several mailboxes in the form of a `Reply-To` header. */
  replyTo: string | null;
  subject: string;
  html: string;
  /** The text part, if the caller has made it already. Default: `textFromHtml(html)`. */
  text?: string;
  /**
   * Custom and generated headers. `sharedHeaders` leaves out headers that define the structure of
   * the message.
   */
  headers: readonly { name: string; value: string }[];
  attachments: readonly MailAttachment[];
  /** True for the test of a campaign. */
  isTest?: boolean;
}

/** A MIME part as sent: header lines and body, both ASCII. */
interface Part {
  headers: string[];
  body: string;
}

/** Maximum number of characters of a line in quoted-printable and base64. */
const lineChars = 76;

/**
 * Composes the MIME message: `multipart/alternative` (text made from the HTML, then HTML), inside
 * `related` with inline files, inside `mixed` with attachments. Texts are UTF-8 in
 * quoted-printable, files are base64, and lines end in CRLF with at most 998 characters. The same
 * mail always gives the same bytes.
 */
export async function composeMessage(mail: ComposedMail): Promise<Buffer> {
  const inline = mail.attachments.filter((file) => file.disposition === 'inline');
  const attached = mail.attachments.filter((file) => file.disposition !== 'inline');
  // Text parts contain no "=_" and base64 no "_", so no body can contain such a boundary.
  const boundary = (kind: string) => `=_${kind}_${mail.emailId}`;

  const html = textPart('text/html', mail.html);
  const shown =
    inline.length === 0
      ? html
      : multipart('related; type="text/html"', boundary('related'), [
          html,
          ...inline.map(filePart),
        ]);
  const text = textPart('text/plain', mail.text ?? textFromHtml(mail.html));
  const content = multipart('alternative', boundary('alternative'), [text, shown]);
  const root =
    attached.length === 0
      ? content
      : multipart('mixed', boundary('mixed'), [content, ...attached.map(filePart)]);
  return Buffer.from(serialized({ ...root, headers: [...envelopeOf(mail), ...root.headers] }));
}

/**
 * Headers that a caller must not set, in addition to the headers that define the structure.
 * Everpost writes Reply-To, and SES treats names with `X-SES-` as commands (tags, configuration
 * set, sending identity).
 */
const ours = /^(reply-to|x-ses-.*)$/i;

/**
 * Returns true if a header name is valid and short enough for its line. The API refuses other
 * names.
 */
function canStand(name: string): boolean {
  return isHeaderName(name) && name.length <= limits.headerNameChars;
}

function envelopeOf(mail: ComposedMail): string[] {
  return [...sharedHeaders(mail), ...recipientHeaders(mail)];
}

/** Returns the headers that differ for each recipient. */
export function recipientHeaders(mail: Pick<ComposedMail, 'to' | 'subject' | 'date'>): string[] {
  return [
    mailbox('To', mail.to),
    subjectHeader(mail.subject),
    header('Date', encoder.encodeHeaderValue('Date', mail.date)),
  ];
}

/** Returns all other headers. Only the ids in them differ for each recipient. */
export function sharedHeaders(
  mail: Pick<ComposedMail, 'from' | 'replyTo' | 'emailId' | 'headers' | 'isTest'>,
): string[] {
  const { from, replyTo, emailId } = mail;
  const domain = domainToASCII(from.address.slice(from.address.lastIndexOf('@') + 1));
  return [
    mailbox('From', from),
    ...(replyTo ? [mailbox('Reply-To', ...readReplyTo(replyTo))] : []),
    header('Message-ID', `<${emailId}@${domain}>`),
    header('MIME-Version', '1.0'),
    header('X-Everpost-Email', emailId),
    ...(mail.isTest ? [header('X-Everpost-Test', 'true')] : []),
    ...mail.headers
      .filter(({ name }) => canStand(name) && !isStructuralHeader(name) && !ours.test(name))
      .map(({ name, value }) => customHeader(name, value)),
  ];
}

function mailbox(name: 'From' | 'To' | 'Reply-To', ...mailboxes: Mailbox[]): string {
  const plain = mailboxes.map((one) => ({
    // Names come from contact data, so line breaks and control characters are removed.
    name: (one.name ?? '').replace(/[\p{Cc}\s]+/gu, ' ').trim(),
    address: one.address,
  }));
  return header(name, encoder.encodeHeaderValue(name, plain));
}

function readReplyTo(replyTo: string): Mailbox[] {
  return parseMailboxes(replyTo) ?? [{ name: null, address: replyTo }];
}

function textPart(contentType: string, content: string): Part {
  return { headers: textHeaders(contentType), body: quotedPrintable(content) };
}

export function textHeaders(contentType: string): string[] {
  return [
    `Content-Type: ${contentType}; charset=utf-8`,
    'Content-Transfer-Encoding: quoted-printable',
  ];
}

/**
 * Encodes a text as quoted-printable, in short lines. A dot at the beginning of a line is encoded,
 * because some relays do not double it. `From ` at the beginning of a line is encoded, because
 * mailbox files put a `>` before it (RFC 2049, 3).
 */
export function quotedPrintable(content: string, lineLength = lineChars): string {
  const encoded = qp.encode(content.replace(/\r\n?|\n/g, '\r\n'));
  return qp
    .wrap(encoded, lineLength - 2)
    .replace(/^\./gm, '=2E')
    .replace(/^From /gm, '=46rom ');
}

function filePart(file: MailAttachment): Part {
  const { value, params: given } = mimeFuncs.parseHeaderValue(file.contentType);
  // A file must not have a type `multipart/…` or `message/…`, because mail programs would read the
  // file as a part of the message's structure. These types also do not allow base64 (RFC 2046, 5;
  // RFC 2045, 6.4).
  const isStructure = /^(multipart|message)\//i.test(value);
  const type = isStructure
    ? { value: 'application/octet-stream', params: {} }
    : { value, params: withoutNames(given) };
  const disposition = {
    value: file.disposition,
    params: { filename: safeFileName(file.filename) },
  };
  const base64 = Buffer.from(file.content, 'base64').toString('base64');
  return {
    headers: [
      header('Content-Type', mimeFuncs.buildHeaderValue(type)),
      header('Content-Disposition', mimeFuncs.buildHeaderValue(disposition)),
      'Content-Transfer-Encoding: base64',
      ...(file.contentId
        ? [header('Content-ID', encoder.encodeHeaderValue('Content-ID', plain(file.contentId)))]
        : []),
    ],
    body: base64.replace(/.{76}(?!$)/g, '$&\r\n'),
  };
}

/**
 * Removes file names from a content type, because some readers would use them instead of the
 * sanitized name.
 */
function withoutNames(params: Record<string, string>): Record<string, string> {
  const kept = Object.entries(params).filter(([name]) => !/^(file)?name\b/i.test(name));
  return Object.fromEntries(kept);
}

/** Removes control characters, which would end or corrupt a header. */
function plain(text: string): string {
  return text.replace(/\p{Cc}+/gu, '');
}

function multipart(kind: string, boundary: string, parts: readonly Part[]): Part {
  const body = parts.map((part) => `--${boundary}\r\n${serialized(part)}\r\n`).join('');
  return {
    headers: [header('Content-Type', `multipart/${kind}; boundary="${boundary}"`)],
    body: `${body}--${boundary}--\r\n`,
  };
}

function serialized({ headers, body }: Part): string {
  return `${headers.join('\r\n')}\r\n\r\n${body}`;
}

/** Maximum number of UTF-8 bytes of one UTF-16 unit. */
const utf8Bytes = 3;
/**
 * Growth by quoted-printable in the worst case: 3 characters for each byte, and a line break every
 * 24 bytes.
 */
const qpGrowth = 3 + 3 / 24;
/** Growth of base64 text by its line breaks: two characters every 76. */
const base64LineGrowth = 1 + 2 / 76;
/** Estimated bytes of all fixed headers, boundaries and part headers. */
const frameBytes = 10_000;

/**
 * Returns an upper bound of the message size in bytes, without composing the message. For mail in
 * Latin letters the bound is far too high. So if the bound exceeds the size limit, the caller
 * composes the message and measures it.
 */
export function messageBytesEstimate(
  mail: Pick<ComposedMail, 'subject' | 'html' | 'headers' | 'attachments'>,
): number {
  const textBytes = Buffer.byteLength(mail.html) + textCharsMax * utf8Bytes;
  const headerChars = mail.headers.reduce(
    (sum, { name, value }) => sum + name.length + value.length,
    mail.subject.length,
  );
  const fileChars = mail.attachments.reduce(
    (sum, file) => sum + file.content.length * base64LineGrowth + frameBytes,
    0,
  );
  // The factor 20 is for the worst case: a line of 75 characters has an encoded word with only four
  // letters.
  return Math.ceil(textBytes * qpGrowth + headerChars * 20 + fileChars + frameBytes);
}

/** Maximum number of characters of the text part, which is for readers without HTML. */
const textCharsMax = 250_000;
/**
 * Maximum nesting depth of HTML that is converted. Each level of a list indents all its lines, so
 * deep lists would make a very long text. Five nested layout tables have 20 levels.
 */
const htmlDepthMax = 100;

const alternativeText: FormatCallback = (element, _walk, builder) => {
  const alt: unknown = element.attribs?.alt;
  if (typeof alt === 'string' && alt !== '') builder.addInline(alt);
};

const cell: FormatCallback = (element, walk, builder) => {
  walk(element.children, builder);
  builder.addInline(' ');
};

/** Values of the attribute `data-skip-in-text` that exclude an element from the text part. */
const skipping = ['true', '', 'data-skip-in-text'];

const headings = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'];

const convertHtml = compile({
  wordwrap: false,
  limits: { maxDepth: htmlDepthMax, ellipsis: '…' },
  formatters: { alternativeText, cell },
  selectors: [
    { selector: 'a', options: { linkBrackets: ['(', ')'], hideLinkHrefIfSameAsText: true } },
    { selector: 'img', format: 'alternativeText' },
    // A quotation gets no quote marks, because a malicious mail with many lines and levels would
    // get very many marks.
    { selector: 'blockquote', format: 'block' },
    // Mail often uses tables for its layout: each row becomes a line, with a space between cells.
    { selector: 'tr', format: 'block' },
    { selector: 'td', format: 'cell' },
    { selector: 'th', format: 'cell' },
    ...headings.map((selector) => ({ selector, options: { uppercase: false } })),
    ...skipping.map((value) => ({ selector: `[data-skip-in-text="${value}" i]`, format: 'skip' })),
  ],
});

/**
 * Returns the text part of a mail: HTML without tags, links as `text (url)`, images as their
 * alternative text. Elements with `data-skip-in-text`, and the invisible filler after a preheader,
 * are left out. Very long or deeply nested input is cut, so this takes less than a second.
 */
export function textFromHtml(html: string): string {
  // An embedded image has no text, and may be larger than the rest of the mail.
  // Safe regex: a failed match has read fewer than 256 characters, and a successful match is
  // consumed.
  const withoutData = html.replace(/data:[^\s"'<>()]{256,}/gi, '');
  const text = withoutFiller(convertHtml(cutHtml(withoutData)));
  return text.length > textCharsMax ? `${text.slice(0, textCharsMax - 1)}…` : text;
}

/**
 * Characters without a glyph. A single such character belongs to a word or an emoji; several in a
 * row fill up a preheader.
 */
const invisible =
  /[\u034f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2060-\u2064\u2800\u3164\ufeff]/gu;
/** Matches two or more characters without a glyph, with blanks between them. */
const fillers =
  /[\u034f\s\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2060-\u2064\u2800\u3164\ufeff]{2,}/gu;
/** Number of consecutive non-collapsing blanks from which on the blanks count as filler. */
const blanksMax = 20;

/**
 * Removes the filler. Filler is a row of invisible characters after a preheader that hides the
 * following text in previews.
 */
function withoutFiller(text: string): string {
  return text.replace(fillers, (run, at: number) => {
    const count = run.match(invisible)?.length ?? 0;
    const blanks = run.match(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/gu)?.length ?? 0;
    if (count < 2 && blanks < blanksMax) return run;
    if (at === 0 || at + run.length === text.length) return '';
    const lines = run.split('\n').length - 1;
    if (lines > 0) return '\n'.repeat(Math.min(lines, 2));
    return count === run.length ? '' : ' ';
  });
}
