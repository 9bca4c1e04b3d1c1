import { domainToASCII } from 'node:url';
import { compile, type FormatCallback } from 'html-to-text';
import * as mimeFuncs from 'nodemailer/lib/mime-funcs';
import MimeNode from 'nodemailer/lib/mime-node';
import * as qp from 'nodemailer/lib/qp';
import { cutHtml } from '../../domain/template/html.ts';
import { limits } from '../../domain/limits.ts';
import { safeFileName } from '../../domain/file-name.ts';
import { isHeaderName, isStructuralHeader } from '../../domain/mail/headers.ts';

interface Mailbox {
  name: string | null;
  address: string;
}

export interface MailAttachment {
  filename: string;
  /** `type/subtype`, as the sender gave it. */
  contentType: string;
  /** Only `inline` files are stored next to the HTML, which shows them by `cid:<contentId>`. */
  disposition: 'attachment' | 'inline';
  contentId: string | null;
  /** Standard base64, with or without padding. */
  content: string;
}

/** A mail ready for MIME: rendered, wrapped, with footer and tracking. */
export interface ComposedMail {
  emailId: string;
  date: Date;
  from: Mailbox;
  to: Mailbox;
  replyTo: string | null;
  subject: string;
  html: string;
  /** The text part, if the caller has it already. Default: `textFromHtml(html)`. */
  text?: string;
  /** Custom and generated headers, one line each. Structural names are left out, see below. */
  headers: readonly { name: string; value: string }[];
  attachments: readonly MailAttachment[];
  /** A test of a campaign. */
  isTest?: boolean;
}

/** A MIME part as sent: header lines and body, both ASCII. */
interface Part {
  headers: string[];
  body: string;
}

/** Longest line of a message without its line end (RFC 5322, 2.1.1), in characters. */
const lineCharsMax = 998;
/** Preferred line length (RFC 5322 recommends 78, quoted-printable and base64 require 76). */
const lineChars = 76;

/**
 * Composes the message: `multipart/alternative` (text made from the HTML, then HTML), inside
 * `related` with inline files, inside `mixed` with attachments. Quoted-printable UTF-8 texts,
 * base64 files, CRLF line ends, no line over 998. The same mail gives the same bytes.
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
 * Besides the structural ones, only we write Reply-To, and SES treats names with `X-SES-` as
 * commands (tags, configuration set, sending identity).
 */
const ours = /^(reply-to|x-ses-.*)$/i;

/** Whether a header name is valid and fits its line. Requests with other names are refused. */
function canStand(name: string): boolean {
  return isHeaderName(name) && name.length <= limits.headerNameChars;
}

function envelopeOf(mail: ComposedMail): string[] {
  return [...sharedHeaders(mail), ...recipientHeaders(mail)];
}

/** The headers that differ per recipient. */
export function recipientHeaders(mail: Pick<ComposedMail, 'to' | 'subject' | 'date'>): string[] {
  return [
    mailbox('To', mail.to),
    unstructured('Subject', mail.subject),
    header('Date', encoder.encodeHeaderValue('Date', mail.date)),
  ];
}

/** All others. */
export function sharedHeaders(
  mail: Pick<ComposedMail, 'from' | 'replyTo' | 'emailId' | 'headers' | 'isTest'>,
): string[] {
  const { from, replyTo, emailId } = mail;
  const domain = domainToASCII(from.address.slice(from.address.lastIndexOf('@') + 1));
  return [
    mailbox('From', from),
    ...(replyTo ? [mailbox('Reply-To', { name: null, address: replyTo })] : []),
    header('Message-ID', `<${emailId}@${domain}>`),
    header('MIME-Version', '1.0'),
    header('X-Everpost-Email', emailId),
    ...(mail.isTest ? [header('X-Everpost-Test', 'true')] : []),
    ...mail.headers
      .filter(({ name }) => canStand(name) && !isStructuralHeader(name) && !ours.test(name))
      .map(({ name, value }) => unstructured(name, value)),
  ];
}

/** For nodemailer's header encoding (RFC 2047, punycode); nothing is ever added to this node. */
const encoder = new MimeNode();

function mailbox(headerName: 'From' | 'To' | 'Reply-To', { name, address }: Mailbox): string {
  // A name comes from contact data: line breaks and control characters in it are noise.
  const plain = (name ?? '').replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return header(headerName, encoder.encodeHeaderValue(headerName, { name: plain, address }));
}

function header(name: string, value: string): string {
  return mimeFuncs.foldLines(`${name}: ${value}`, lineChars);
}

/** A free text header. What cannot be folded into legal lines is encoded, even if it is ASCII. */
function unstructured(name: string, value: string): string {
  // For any name but the structured ones, nodemailer keeps the value as it is.
  const line = header(name, encoder.encodeHeaderValue('Comments', value));
  if (line.split('\r\n').every((part) => part.length <= lineCharsMax)) return line;
  const oneLine = value.replace(/\r?\n|\r/g, ' ');
  return header(name, mimeFuncs.encodeWord(oneLine, 'Q', 52));
}

function textPart(contentType: string, content: string): Part {
  return { headers: textHeaders(contentType), body: quotedPrintable(content) };
}

/** The headers of a text part. */
export function textHeaders(contentType: string): string[] {
  return [
    `Content-Type: ${contentType}; charset=utf-8`,
    'Content-Transfer-Encoding: quoted-printable',
  ];
}

/**
 * A text in quoted-printable, in short lines. None begins with a dot, which SMTP would have to
 * double, and some programs on the way do not (RFC 2049, 3).
 */
export function quotedPrintable(content: string, lineLength = lineChars): string {
  const encoded = qp.encode(content.replace(/\r\n?|\n/g, '\r\n'));
  return qp.wrap(encoded, lineLength - 2).replace(/^\./gm, '=2E');
}

function filePart(file: MailAttachment): Part {
  const { value, params: given } = mimeFuncs.parseHeaderValue(file.contentType);
  // Some readers take the file name from the type, bypassing the sanitized one.
  const params = Object.fromEntries(
    Object.entries(given).filter(([name]) => !/^(file)?name\b/i.test(name)),
  );
  // A "multipart" file would be read as structure of this message.
  const type = /^multipart\//i.test(value) ? 'application/octet-stream' : value;
  const disposition = {
    value: file.disposition,
    params: { filename: safeFileName(file.filename) },
  };
  const base64 = Buffer.from(file.content, 'base64').toString('base64');
  return {
    headers: [
      header('Content-Type', mimeFuncs.buildHeaderValue({ value: type, params })),
      header('Content-Disposition', mimeFuncs.buildHeaderValue(disposition)),
      'Content-Transfer-Encoding: base64',
      ...(file.contentId
        ? [header('Content-ID', encoder.encodeHeaderValue('Content-ID', plain(file.contentId)))]
        : []),
    ],
    body: base64.replace(/.{76}(?!$)/g, '$&\r\n'),
  };
}

/** Removes control characters, which end or confuse a header. */
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

/** Most bytes of a UTF-16 unit in UTF-8. */
const utf8Bytes = 3;
/** Quoted-printable turns a byte into at most 3 characters, and breaks the line every 24 bytes. */
const qpGrowth = 3 + 3 / 24;
/** Base64 turns 3 bytes into 4 characters and breaks the line every 76. */
const base64LineGrowth = 1 + 2 / 76;
/** All fixed headers, boundaries and part headers. */
const frameBytes = 10_000;

/**
 * An upper bound of the message size in bytes, without composing it. For mail in Latin letters it
 * is far too high; only when it exceeds the size limit is the message composed to find out.
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
  // In the worst case, an encoded word carries four letters in a line of 75 characters.
  return Math.ceil(textBytes * qpGrowth + headerChars * 20 + fileChars + frameBytes);
}

/** Limits of the text part, which serves readers without HTML. */
const textCharsMax = 250_000;
/** Five nested layout tables are 20 levels. Each level of lists indents all lines below it. */
const htmlDepthMax = 100;

/** An image becomes its alternative text. */
const alternativeText: FormatCallback = (element, _walk, builder) => {
  const alt: unknown = element.attribs?.alt;
  if (typeof alt === 'string' && alt !== '') builder.addInline(alt);
};

const cell: FormatCallback = (element, walk, builder) => {
  walk(element.children, builder);
  builder.addInline(' ');
};

const headings = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'];

const convertHtml = compile({
  wordwrap: false,
  limits: { maxDepth: htmlDepthMax, ellipsis: '…' },
  formatters: { alternativeText, cell },
  selectors: [
    { selector: 'a', options: { linkBrackets: ['(', ')'], hideLinkHrefIfSameAsText: true } },
    { selector: 'img', format: 'alternativeText' },
    // Quote marks before every line of every level would multiply a hostile input.
    { selector: 'blockquote', format: 'block' },
    // Mail is laid out with tables: a line for each row, a space between cells.
    { selector: 'tr', format: 'block' },
    { selector: 'td', format: 'cell' },
    { selector: 'th', format: 'cell' },
    ...headings.map((selector) => ({ selector, options: { uppercase: false } })),
  ],
});

/**
 * The text part of a mail: HTML without tags, links as `text (url)`, images as their alternative
 * text. Very long or deeply nested input is cut, so that this takes less than a second.
 */
export function textFromHtml(html: string): string {
  // An embedded image can be larger than all the rest, and is no text.
  // Safe regex: what fails has read fewer than 256 characters, and what succeeds takes all that it has read.
  const withoutData = html.replace(/data:[^\s"'<>()]{256,}/gi, '');
  const text = convertHtml(cutHtml(withoutData));
  return text.length > textCharsMax ? `${text.slice(0, textCharsMax - 1)}…` : text;
}
