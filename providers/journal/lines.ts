import { crc32 } from 'node:zlib';

/**
 * A line of a journal file has a kind, a checksum, and fields without spaces. A file has its final
 * size from the beginning, filled up with zero bytes, so that a reader notices if the file was cut
 * off.
 */

/** The first line of a file. */
export interface JournalHeader {
  /** Id of the machine's start during which the file was written. */
  boot: string;
  /** Identifies the database of the worker. */
  database: string;
  /** Size of the file in bytes. */
  bytes: number;
}

/** An attempt that claims messages for sending. */
export interface JournalClaim {
  attemptId: string;
  projectId: string;
  /** null: the mail belongs to no campaign. */
  campaignId: string | null;
}

/** The content from which a campaign's messages are composed. */
export interface ClaimedContent {
  version: number;
  /** Since when the sending limits have delayed the messages, in ISO 8601; null: no delay. */
  throttledAt: string | null;
}

/** An answer of the mail provider, without its text, because texts may contain addresses. */
export type Answer =
  | { kind: 'accepted'; messageId: string; delivered: boolean; isUnreported?: boolean }
  | { kind: 'refused'; code: string; isRecipient: boolean }
  | { kind: 'retry'; code: string; isAboutMessage: boolean; retryAfterMs: number };

/** An attempt as the lines of a file describe it. */
export interface ReadAttempt extends JournalClaim {
  /** null: the attempt ended before the content was known, or belongs to no campaign. */
  content: ClaimedContent | null;
  /**
   * True if a line of the attempt could not be written, so that messages are missing in `begun`.
   */
  isVoid: boolean;
  /** True if the database has all outcomes of the attempt. */
  hasEnded: boolean;
  /**
   * Messages whose last byte was about to be sent, each with the provider's answer; null: no
   * answer.
   */
  begun: Map<string, Answer | null>;
}

export interface ReadJournal {
  /** null: the line of the header is damaged. */
  header: JournalHeader | null;
  attempts: ReadAttempt[];
  /** True if the file has all lines that were written. */
  isWhole: boolean;
}

export const headerLine = ({ boot, database, bytes }: JournalHeader, at: number): string =>
  line('h', `${fieldText(boot)} ${fieldText(database)} ${bytes} ${at}`);

/**
 * Returns the line that notes that an attempt is about to claim messages.
 * @param number identifies the attempt in later lines
 */
export const claimLine = (number: number, claim: JournalClaim, at: number): string =>
  line('c', `${number} ${claim.attemptId} ${claim.projectId} ${claim.campaignId ?? '-'} ${at}`);

/**
 * Overwrites the first character of a claim's line when a later line of the attempt cannot be
 * written.
 */
export const voidMark = 'v';

export const contentLine = (number: number, { version, throttledAt }: ClaimedContent): string =>
  line('m', `${number} ${version} ${throttledAt ?? '-'}`);

/**
 * Returns the line that notes that the last byte of a message is about to be sent. With this byte,
 * the provider can accept the message.
 */
export const begunLine = (number: number, emailId: string, at: number): string =>
  line('b', `${number} ${emailId} ${at}`);

export const answerLine = (number: number, emailId: string, answer: Answer, at: number): string =>
  line('a', `${number} ${emailId} ${at} ${answerText(answer)}`);

export const endLine = (number: number): string => line('e', String(number));

function answerText(answer: Answer): string {
  const { kind } = answer;
  if (kind === 'accepted') {
    const { delivered, messageId, isUnreported = false } = answer;
    return `${kind} ${delivered} ${fieldText(messageId)} ${isUnreported}`;
  }
  const code = fieldText(answer.code);
  if (kind === 'refused') return `${kind} ${answer.isRecipient} ${code}`;
  return `${kind} ${answer.isAboutMessage} ${code} ${answer.retryAfterMs}`;
}

/**
 * Returns a line with its checksum.
 * @param text the fields, separated by spaces. One string is faster than a list
 */
function line(kind: string, text: string): string {
  return `${kind}${checksum(kind, text)} ${text}\n`;
}

function fieldText(field: string): string {
  return /^[\w@.:+-]+$/.test(field) ? field : `%${Buffer.from(field).toString('base64url')}`;
}

function checksum(kind: string, text: string): string {
  return crc32(kind + text).toString(36);
}

/** Returns the content of a file. Never throws, even for arbitrary bytes. */
export function readJournal(bytes: Buffer): ReadJournal {
  const zero = bytes.indexOf(0);
  const end = zero < 0 ? bytes.length : zero;
  const read = { header: null as JournalHeader | null, byNumber: new Map<string, ReadAttempt>() };
  const lines = bytes.toString('latin1', 0, end).split('\n');
  let isWhole = lines.pop() === '' && isBlank(bytes, end);
  for (const text of lines) isWhole = readLine(text, read) && isWhole;
  const { header, byNumber } = read;
  return {
    header,
    attempts: [...byNumber.values()],
    isWhole: isWhole && header?.bytes === bytes.length,
  };
}

const blank = Buffer.alloc(64 * 1024);

/** Returns true if only zero bytes follow from `at` on. */
function isBlank(bytes: Buffer, at: number): boolean {
  for (let from = at; from < bytes.length; from += blank.length) {
    const part = bytes.subarray(from, from + blank.length);
    if (!part.equals(blank.subarray(0, part.length))) return false;
  }
  return true;
}

/**
 * Reads a line into `read`. Returns false if the line is damaged or belongs to no known attempt.
 */
function readLine(
  text: string,
  read: { header: JournalHeader | null; byNumber: Map<string, ReadAttempt> },
): boolean {
  const mark = text[0] ?? '';
  const kind = mark === voidMark ? 'c' : mark;
  const space = text.indexOf(' ');
  const rest = text.slice(space + 1);
  if (text.slice(1, space) !== checksum(kind, rest)) return false;
  const fields = rest.split(' ').map(readField);
  const [number = '', first = '', second = '', third = ''] = fields;
  if (kind === 'h') {
    const [boot = '', database = '', bytes] = fields;
    read.header = { boot, database, bytes: Number(bytes) };
    return true;
  }
  if (kind === 'c') {
    read.byNumber.set(number, {
      attemptId: first,
      projectId: second,
      campaignId: third === '-' ? null : third,
      content: null,
      isVoid: mark === voidMark,
      hasEnded: false,
      begun: new Map(),
    });
    return true;
  }
  const attempt = read.byNumber.get(number);
  if (!attempt) return false;
  if (kind === 'm') {
    attempt.content = { version: Number(first), throttledAt: second === '-' ? null : second };
  } else if (kind === 'b') attempt.begun.set(first, null);
  else if (kind === 'a') attempt.begun.set(first, readAnswer(fields.slice(3)));
  else if (kind === 'e') attempt.hasEnded = true;
  return true;
}

function readField(field: string): string {
  return field.startsWith('%') ? Buffer.from(field.slice(1), 'base64url').toString() : field;
}

function readAnswer([kind, flag, text = '', last]: readonly string[]): Answer {
  const isSet = flag === 'true';
  if (kind === 'accepted') {
    const isUnreported = last === 'true';
    return { kind, messageId: text, delivered: isSet, ...(isUnreported && { isUnreported }) };
  }
  if (kind === 'refused') return { kind, code: text, isRecipient: isSet };
  return { kind: 'retry', code: text, isAboutMessage: isSet, retryAfterMs: Number(last) };
}

/**
 * Matches the code in a mailer's error: an SMTP reply code, perhaps with an enhanced status (RFC
 * 3463), or an error of Amazon SES.
 */
const codePattern = /\b[245]\d\d(?:[ -][245]\.\d{1,3}\.\d{1,3})?\b|^\w+ \(\d{3}\)/;

/** Returns the code in a mailer's error; empty: the error has no code. */
export function codeIn(error: string): string {
  return codePattern.exec(error)?.[0] ?? '';
}
