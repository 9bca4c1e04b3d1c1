import { createHash, type KeyObject, sign } from 'node:crypto';
import type { DkimAlgorithm } from '../../../domain/sender/dkim-record.ts';

/** DKIM signatures (RFC 6376) of finished messages, `relaxed/relaxed`. */

export interface SigningKey {
  /** The first part of the name in DNS: `<selector>._domainkey.<domain>`. */
  selector: string;
  algorithm: DkimAlgorithm;
  privateKey: KeyObject;
}

/** The keys of a sender domain. Each makes its own signature. */
export interface SigningKeys {
  domain: string;
  keys: readonly SigningKey[];
}

/**
 * Headers that are signed once more than they occur, so that no further header of this name can be
 * added later. RFC 6376, 5.4.1 recommends most of these headers, and RFC 8058, 4 requires the last
 * two.
 */
const oversigned = [
  'From',
  'To',
  'Cc',
  'Subject',
  'Date',
  'Message-ID',
  'Reply-To',
  'MIME-Version',
  'Content-Type',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
];
/** Headers that are signed if the message has them. */
const signedIfPresent = ['X-Everpost-Email', 'Auto-Submitted', 'Precedence', 'Sender'];

/**
 * Returns one `DKIM-Signature` header for each key, to be put before the message. Each header is
 * folded and ends with CRLF.
 * @param raw the message as it is sent, with CRLF line ends
 */
export function signatureHeaders(raw: Buffer, { domain, keys }: SigningKeys, now: Date): string {
  const { fields, bodyStart } = readHeaders(raw);
  const names = [
    ...oversigned.flatMap((name) => [
      ...(fields.get(name.toLowerCase()) ?? []).map(() => name),
      name,
    ]),
    ...signedIfPresent.flatMap((name) => (fields.get(name.toLowerCase()) ?? []).map(() => name)),
  ];
  const bodyHash = hashOfBody(raw, bodyStart);
  const signed = selectFields(fields, names);
  return keys
    .map(({ selector, algorithm, privateKey }) => {
      const unsigned = [
        `DKIM-Signature: v=1; a=${algorithm}-sha256; c=relaxed/relaxed; d=${domain};`,
        ` s=${selector}; t=${Math.floor(now.getTime() / 1000)};`,
        ` h=${namesInLines(names)};`,
        ` bh=${bodyHash};`,
        ' b=',
      ].join('\r\n');
      // The signature header itself is hashed last, without its value and without a line end.
      const data = Buffer.from(signed + relaxedField(unsigned), 'latin1');
      const signature = signatureOf(data, algorithm, privateKey).toString('base64');
      return `${unsigned}${signature.replace(/.{70}(?!$)/g, '$&\r\n ')}\r\n`;
    })
    .join('');
}

function signatureOf(data: Buffer, algorithm: DkimAlgorithm, key: KeyObject): Buffer {
  if (algorithm === 'rsa') return sign('sha256', data, key);
  // Ed25519 signs the hash of the fields (RFC 8463, 3).
  return sign(null, createHash('sha256').update(data).digest(), key);
}

const emptyLine = Buffer.from('\r\n\r\n');

/**
 * Returns the header fields in relaxed form, by name in lower case, and in the order of the
 * message.
 */
function readHeaders(raw: Buffer): { fields: Map<string, string[]>; bodyStart: number } {
  const end = raw.indexOf(emptyLine);
  const head = raw.toString('latin1', 0, end < 0 ? raw.length : end);
  const fields = new Map<string, string[]>();
  for (const field of head.split(/\r\n(?![ \t])/)) {
    const name = field
      .slice(0, Math.max(0, field.indexOf(':')))
      .trim()
      .toLowerCase();
    const known = fields.get(name);
    if (known) known.push(relaxedField(field));
    else fields.set(name, [relaxedField(field)]);
  }
  return { fields, bodyStart: end < 0 ? raw.length : end + emptyLine.length };
}

/**
 * Returns a field in relaxed form: on one line, with single blanks and its name in lower case (RFC
 * 6376, 3.4.2).
 */
function relaxedField(field: string): string {
  const colon = field.indexOf(':');
  const value = field
    .slice(colon + 1)
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ');
  return `${field.slice(0, colon).trim().toLowerCase()}:${value.trim()}`;
}

/**
 * Returns the fields for these names. If a name is repeated, its fields are taken from the last to
 * the first (RFC 6376, 5.4.2); a name without a further field selects nothing.
 */
function selectFields(fields: ReadonlyMap<string, readonly string[]>, names: string[]): string {
  const used = new Map<string, number>();
  let selected = '';
  for (const name of names.map((one) => one.toLowerCase())) {
    const times = (used.get(name) ?? 0) + 1;
    used.set(name, times);
    const field = fields.get(name)?.at(-times);
    if (field !== undefined) selected += `${field}\r\n`;
  }
  return selected;
}

/** Preferred length of a line (RFC 5322, 2.1.1), in characters. */
const lineChars = 76;

function namesInLines(names: readonly string[]): string {
  const lines: string[] = [];
  let line = '';
  for (const name of names) {
    if (line !== '' && line.length + name.length + 1 > lineChars - ' h='.length) {
      lines.push(`${line}:`);
      line = name;
    } else line = line === '' ? name : `${line}:${name}`;
  }
  return [...lines, line].join('\r\n ');
}

/** A large body is hashed in pieces of about this number of bytes, which end at line ends. */
const pieceBytes = 64 * 1024;
const blanks = new Set(Buffer.from(' \t\r\n'));

/** Returns the SHA-256 of the relaxed body in base64 (RFC 6376, 3.4.4). */
function hashOfBody(raw: Buffer, start: number): string {
  const hash = createHash('sha256');
  // Empty lines at the end of the body are ignored.
  let end = raw.length;
  while (end > start && blanks.has(raw[end - 1]!)) end -= 1;
  for (let from = start; from < end;) {
    const lineEnd = raw.indexOf('\n', from + pieceBytes) + 1;
    const to = lineEnd === 0 ? end : Math.min(lineEnd, end);
    const text = raw.toString('latin1', from, to);
    hash.update(text.replace(/[ \t]+/g, ' ').replaceAll(' \r\n', '\r\n'), 'latin1');
    from = to;
  }
  if (end > start) hash.update('\r\n');
  return hash.digest('base64');
}
