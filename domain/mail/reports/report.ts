import { lowerAscii } from '../../email-address.ts';
import { isUuid } from '../../ids.ts';
import { cutText } from '../../text-rules.ts';
import type { Feedback, Reported, ReportSource } from '../feedback.ts';
import { type Fields, fieldOf, readFieldGroups, readFields } from './fields.ts';
import { bounceTypeOf, guessedBounceType, isUnspecific, namesUnknown, statusIn } from './status.ts';

/** A message that arrived, split into its parts. */
export interface ArrivedMessage {
  /** Envelope sender; '': a program sent the message and wants no answer. null: unknown. */
  sender: string | null;
  headers: Fields;
  /** The readable text of the message. */
  text: string;
  /** The other parts of the message, with their content as text. */
  parts: readonly { type: string; text: string }[];
}

/** The kind of a message, with the report that the message contains, if any. */
export type Reading =
  | { kind: 'report'; report: MailReport }
  /** A program wrote the message, but the message does not report on any mail of ours. */
  | { kind: 'automatic' }
  | { kind: 'ordinary' };

/** A report about a message that we sent. */
export interface MailReport {
  /** Addresses in the report that may be the return path of our message. */
  returnPaths: string[];
  /**
   * Ids that our message may have. They can be forged, so an id counts only together with the
   * recipient of its message.
   */
  emailIds: string[];
  /** The outcome for each recipient in the report; at least one. */
  recipients: ReportedRecipient[];
}

interface ReportedRecipient {
  /** Addresses of the recipient, in their stored form. */
  addresses: string[];
  outcome: ReportedOutcome;
}

/** `accepted`: the message was passed on, perhaps to a server that does not report. */
export type ReportedOutcome =
  | { kind: 'accepted' }
  | ({ kind: 'complaint' | 'delivery' | 'delayed' } & Cause)
  | ({ kind: 'bounce'; bounceType: BounceType } & Cause);

type BounceType = Extract<Feedback, { kind: 'bounce' }>['bounceType'];

type Cause = Omit<Reported, 'source'>;

/** Maximum number of characters that are stored of a report's text. */
const textMax = 500;
/** Maximum number of recipients that are read from a report. Our own mail has one. */
const recipientsMax = 100;

/**
 * Reads a report on mail that we sent: a delivery status (RFC 3464), a complaint (RFC 5965), or the
 * plain text of a mail server that supports neither. Read receipts (RFC 8098) and automatic replies
 * are no reports on delivery.
 */
export function readReport(message: ArrivedMessage): Reading {
  const status = partOf(message, 'message/delivery-status', 'message/global-delivery-status');
  const [common, ...groups] = status === undefined ? [] : readFieldGroups(status);
  const recipients = groups.slice(0, recipientsMax).flatMap((group) => statusOf(group) ?? []);
  if (common && recipients.length > 0) return reportOf(message, recipients, common);
  const complaint = partOf(message, 'message/feedback-report');
  if (complaint !== undefined) return readComplaint(message, readFields(complaint));
  const receipt = 'message/disposition-notification';
  if (partOf(message, receipt, receipt.replace('/', '/global-')) !== undefined) return automatic;
  if (isFromMailServer(message)) return readPlainBounce(message);
  return isAutomatic(message) ? automatic : { kind: 'ordinary' };
}

/**
 * Returns the outcome that a report has for an address. If no recipient has this address, returns
 * the outcome of the first recipient.
 * @param mustName true: returns null instead, because the report must name the address
 */
export function outcomeFor(
  { recipients }: MailReport,
  address: string,
  { mustName }: { mustName: boolean },
): ReportedOutcome | null {
  const own = lowerAscii(address);
  const named = recipients.find(({ addresses }) => addresses.includes(own));
  return named?.outcome ?? (mustName ? null : recipients[0]!.outcome);
}

/**
 * Returns an outcome as feedback on our message.
 * @param at when the report arrived
 */
export function feedbackOf(outcome: ReportedOutcome, source: ReportSource, at: Date): Feedback {
  if (outcome.kind === 'accepted') {
    return { kind: 'accepted', at, report: { source, status: null, text: null } };
  }
  const { status, text, guess } = outcome;
  const report = { source, status, text, ...(guess && { guess }) };
  if (outcome.kind !== 'bounce') return { kind: outcome.kind, at, report };
  return { kind: 'bounce', at, bounceType: outcome.bounceType, text, report };
}

const automatic = { kind: 'automatic' } as const;

function partOf({ parts }: ArrivedMessage, ...types: string[]): string | undefined {
  return parts.find(({ type }) => types.includes(type))?.text;
}

function reportOf(
  message: ArrivedMessage,
  recipients: ReportedRecipient[],
  common: Fields = new Map(),
): Reading {
  const returned = returnedHeaders(message);
  const written = [
    ...(returned.get('x-everpost-email') ?? []),
    ...(returned.get('message-id') ?? []).map((id) => id.replace(/^<?([^@]*).*$/s, '$1')),
    ...(common.get('original-envelope-id') ?? []),
  ];
  const emailIds = written.map((id) => lowerAscii(id.trim())).filter(isUuid);
  const returnPaths = [
    ...(returned.get('return-path') ?? []),
    ...(common.get('original-mail-from') ?? []),
  ];
  return { kind: 'report', report: { returnPaths, emailIds: [...new Set(emailIds)], recipients } };
}

/** Returns the headers of the original message, if the report contains them. */
function returnedHeaders(message: ArrivedMessage): Fields {
  const part = partOf(
    message,
    'message/rfc822',
    'text/rfc822-headers',
    'message/global',
    'message/global-headers',
  );
  if (part !== undefined) return readFields(part);
  const [copy] = copyIn(message.text);
  return readFields(copy);
}

/** Reads the outcome for one recipient (RFC 3464, 2.3); null: the fields contain none. */
function statusOf(fields: Fields): ReportedRecipient | null {
  const outcome = actionOf(fields);
  const addresses = ['final-recipient', 'original-recipient'].flatMap((name) =>
    (fields.get(name) ?? []).map((value) => addressIn(value.replace(/^[^;]*;/, ''))),
  );
  return outcome && { addresses, outcome };
}

function actionOf(fields: Fields): ReportedOutcome | null {
  const diagnostic = fieldOf(fields, 'diagnostic-code')?.replace(/^\s*[\w-]+\s*;/, '') ?? '';
  const [, status = null] =
    /^\s*(\d\.\d{1,3}\.\d{1,3})/.exec(fieldOf(fields, 'status') ?? '') ?? [];
  const text = textOf(diagnostic);
  switch (/[a-z]+/.exec(lowerAscii(fieldOf(fields, 'action') ?? ''))?.[0]) {
    case 'failed':
      return failureOf(status, diagnostic);
    case 'delivered':
      return { kind: 'delivery', status, text };
    case 'delayed':
      return { kind: 'delayed', status, text };
    case 'relayed':
    case 'expanded':
      return { kind: 'accepted' };
    default:
      return null;
  }
}

/** Returns the bounce of a recipient. A specific status in the text replaces an unspecific one. */
function failureOf(written: string | null, diagnostic: string): ReportedOutcome {
  const given = written?.startsWith('2.') ? null : written;
  const isVague = given === null || isUnspecific(given);
  return bounceOf((isVague ? statusIn(diagnostic) : null) ?? given, diagnostic);
}

function bounceOf(status: string | null, text: string): ReportedOutcome & { kind: 'bounce' } {
  const bounceType = status === null ? guessedBounceType(text) : bounceTypeOf(status, text);
  const guess = status === null ? ({ guess: true } as const) : {};
  return { kind: 'bounce', bounceType, status, text: textOf(text), ...guess };
}

/**
 * Reads a complaint (RFC 5965). Other types of feedback reports do not mean that the recipient
 * wants no mail.
 */
function readComplaint(message: ArrivedMessage, fields: Fields): Reading {
  const type = lowerAscii(fieldOf(fields, 'feedback-type') ?? '');
  if (type !== 'abuse' && type !== 'fraud') return automatic;
  const addresses = (fields.get('original-rcpt-to') ?? []).slice(0, recipientsMax).map(addressIn);
  const outcome = { kind: 'complaint', status: null, text: type } as const;
  return reportOf(message, [{ addresses, outcome }], fields);
}

function isFromMailServer({ headers }: ArrivedMessage): boolean {
  if (headers.has('x-failed-recipients')) return true;
  return /(?:^|[\s<"])(?:mailer-daemon|postmaster)@/i.test(fieldOf(headers, 'from') ?? '');
}

/**
 * Reads a bounce without a delivery status. The result is a guess, because the text was written for
 * people.
 */
function readPlainBounce(message: ArrivedMessage): Reading {
  const [, text] = copyIn(message.text);
  const lines = text.split(/\r?\n/);
  const reason = lines.findIndex((line) => statusIn(line) !== null || namesUnknown(line));
  const shown = lines.slice(Math.max(reason, 0)).join('\n');
  const outcome = { ...bounceOf(statusIn(text), text), text: textOf(shown), guess: true } as const;
  return reportOf(message, [{ addresses: [], outcome }]);
}

/** Matches the line before the copy of the original message. */
const marker =
  /^[ \t]{0,20}-{2,20}.{0,80}\b(?:copy of|original message|unsent message|message header|returned message)\b|^original message headers:/i;
/** Matches the first header of an original message, if no line matches `marker`. */
const firstHeader = /^(?:return-path|received):/i;

/** Splits the text of a bounce into the copy of the original message and the text before it. */
function copyIn(text: string): [copy: string, before: string] {
  const lines = text.split('\n');
  const marked = lines.findIndex((line) => marker.test(line));
  const end = marked < 0 ? lines.findIndex((line) => firstHeader.test(line)) : marked;
  if (end < 0) return ['', text];
  const copy = lines.slice(marked < 0 ? end : end + 1);
  return [copy.join('\n'), lines.slice(0, end).join('\n')];
}

/**
 * Returns true for an automatic reply (RFC 3834, 5). Some of the headers were in use before this
 * standard.
 */
function isAutomatic({ headers, sender }: ArrivedMessage): boolean {
  if (sender === '') return true;
  const submitted = fieldOf(headers, 'auto-submitted');
  if (submitted !== undefined && !/^no\b/i.test(submitted)) return true;
  const precedence = lowerAscii(fieldOf(headers, 'precedence') ?? '');
  return headers.has('x-autoreply') || precedence === 'auto_reply';
}

function addressIn(written: string): string {
  return lowerAscii(written.trim().replace(/^<(.*)>$/, '$1'));
}

function textOf(text: string): string | null {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line === '' ? null : cutText(line, textMax);
}
