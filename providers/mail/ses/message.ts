import { z } from 'zod';
import type { InboundMail } from '../../../domain/mail/inbound.ts';
import { normaliseEmail } from '../../../domain/email-address.ts';
import { Problem } from '../../../domain/errors.ts';
import type { Feedback } from '../../../domain/mail/feedback.ts';
import { isUuid } from '../../../domain/ids.ts';
import { linkIdOf } from '../../../domain/links/link-ids.ts';
import type { Client } from '../../engagement/clients.ts';
import { cutText, storableText } from '../../../domain/text-rules.ts';
import { readMailBody } from '../inbound-mail.ts';

/**
 * Reads messages that Amazon SES sends through SNS: notifications and events about sent mail (two
 * forms of the same content, SES developer guide), and received mail.
 */

const text = z.string().nullish().catch(null);
const words = z.array(z.string()).catch([]);
const moment = z.object({ timestamp: text }).nullish().catch(null);

/** Maximum number of characters of a message's id. SES uses 60. */
const messageIdCharsMax = 255;

const SesMessage = z.object({
  notificationType: text,
  eventType: text,
  mail: z.object({
    messageId: z.string().min(1).max(messageIdCharsMax),
    timestamp: text,
    source: text,
    tags: z.record(z.string(), words).catch({}),
    commonHeaders: z.object({ from: words, subject: text }).catch({ from: [], subject: null }),
  }),
  delivery: moment,
  open: z.object({ timestamp: text, ipAddress: text, userAgent: text }).nullish().catch(null),
  complaint: z
    .object({ timestamp: text, complaintSubType: text, complaintFeedbackType: text })
    .nullish()
    .catch(null),
  click: z
    .object({ timestamp: text, link: text, ipAddress: text, userAgent: text })
    .nullish()
    .catch(null),
  bounce: z
    .object({
      timestamp: text,
      bounceType: text,
      bounceSubType: text,
      bouncedRecipients: z.array(z.object({ diagnosticCode: text, status: text })).catch([]),
    })
    .nullish()
    .catch(null),
  reject: z.object({ reason: text }).nullish().catch(null),
  failure: z.object({ errorMessage: text }).nullish().catch(null),
  receipt: z.unknown().optional(),
  content: text,
});

export type SesMessage = z.output<typeof SesMessage>;

/**
 * Matches JSON that may have characters that PostgreSQL cannot store, raw or escaped. Escaped
 * surrogate pairs, which can be stored, also match.
 */
const maybeUnstorable = /[\0\p{Cs}]|\\u(?:0000|[dD][89a-fA-F])/u;

/**
 * Reads a message.
 * @throws Problem INVALID_NOTIFICATION when the message is not from SES
 */
export function readSesMessage(message: unknown): SesMessage {
  try {
    const clean = (_: string, value: unknown) =>
      typeof value === 'string' ? storableText(value) : value;
    const json = String(message);
    // The text is checked first, because parsing with a reviver takes ten times as long.
    const isClean = !maybeUnstorable.test(json);
    return SesMessage.parse(isClean ? JSON.parse(json) : JSON.parse(json, clean));
  } catch {
    throw new Problem('INVALID_NOTIFICATION');
  }
}

/**
 * Returns the kind of a message. The field with the kind has different names in events and
 * notifications.
 */
export function kindOf({ eventType, notificationType }: SesMessage): string {
  return (eventType ?? notificationType ?? '').replaceAll(' ', '');
}

/** Returns Everpost's id of the message, which was sent as a tag. */
export function taggedEmailId({ mail }: SesMessage): string | null {
  const id = mail.tags['everpost_email_id']?.[0];
  return isUuid(id) ? id.toLowerCase() : null;
}

/**
 * Returns the click on a link. SES tracks targets, so a link with variables counts as one link for
 * each target.
 */
function clickOf(at: Date, link: string): Feedback {
  return { kind: 'click', at, link, linkId: linkIdOf(link) };
}

/** Returns the client of an open or click; undefined: the message is about another event. */
export function clientOf({ open, click }: SesMessage): Client | undefined {
  const request = open ?? click;
  return (
    (request && { address: request.ipAddress ?? null, agent: request.userAgent ?? null }) ??
    undefined
  );
}

/**
 * Returns the feedback in a message; null: the message has no feedback, or no feedback that counts.
 * @param now upper bound of the feedback's time
 */
export function feedbackOf(message: SesMessage, now: Date): Feedback | null {
  const at = (detail: { timestamp?: string | null | undefined } | null | undefined) =>
    timeOf(detail?.timestamp, now);
  switch (kindOf(message)) {
    case 'Send':
    case 'DeliveryDelay':
      return { kind: 'accepted', at: timeOf(message.mail.timestamp, now) };
    case 'Delivery':
      return { kind: 'delivery', at: at(message.delivery) };
    case 'Open':
      return { kind: 'open', at: at(message.open) };
    case 'Click':
      return clickOf(at(message.click), message.click?.link ?? '');
    case 'Complaint':
      return complaintOf(message, at(message.complaint), now);
    case 'Bounce':
      return bounceOf(message, at(message.bounce));
    case 'Reject':
      return { kind: 'rejection', at: now, text: `SES: ${message.reject?.reason ?? 'rejected'}` };
    case 'RenderingFailure':
      return {
        kind: 'rejection',
        at: now,
        text: `SES: ${message.failure?.errorMessage ?? 'the message could not be rendered'}`,
      };
    default:
      return null;
  }
}

/**
 * Feedback types that are not complaints, because the reader moved a message out of the spam
 * folder, or a check of the sender failed (Amazon SES, contents of notifications; RFC 5965 and its
 * registry).
 */
const noComplaints = new Set(['not-spam', 'auth-failure']);

function complaintOf({ complaint, mail }: SesMessage, at: Date, now: Date): Feedback {
  const isNone = noComplaints.has(complaint?.complaintFeedbackType?.toLowerCase() ?? '');
  if (isNone) return { kind: 'accepted', at: timeOf(mail.timestamp, now) };
  return { kind: 'complaint', at, isListed: isOnList(complaint?.complaintSubType) };
}

/** Returns true if the address is on the suppression list of the SES account. */
function isOnList(subType: string | null | undefined): boolean {
  return subType === 'OnAccountSuppressionList';
}

function bounceOf({ bounce }: SesMessage, at: Date): Feedback {
  const [recipient] = bounce?.bouncedRecipients ?? [];
  const given = bounce?.bounceType;
  // Any other type becomes Undetermined, which has the same effect as Permanent.
  const bounceType = given === 'Permanent' || given === 'Transient' ? given : 'Undetermined';
  return {
    kind: 'bounce',
    at,
    bounceType,
    text: recipient?.diagnosticCode ?? recipient?.status ?? null,
    isListed: isOnList(bounce?.bounceSubType),
  };
}

export function acceptedAt({ mail }: SesMessage, now: Date): Date {
  return timeOf(mail.timestamp, now);
}

/** Reads a time. An impossible time, before 1970 or in the future, is replaced by now. */
function timeOf(written: string | null | undefined, now: Date): Date {
  const at = new Date(written ?? Number.NaN);
  return at.getTime() >= 0 && at <= now ? at : now;
}

const verdict = z.object({ status: text }).nullish().catch(null);

const Receipt = z
  .object({
    timestamp: text,
    processingTimeMillis: z.number().nullish().catch(null),
    recipients: words,
    spamVerdict: verdict,
    virusVerdict: verdict,
    spfVerdict: verdict,
    dkimVerdict: verdict,
    dmarcVerdict: verdict,
    action: z.object({ encoding: text }).nullish().catch(null),
  })
  .catch({ recipients: [] } as never);

/** Returns a received mail; null when it has no valid sender. */
export async function inboundMailOf(message: SesMessage): Promise<InboundMail | null> {
  const { mail } = message;
  const receipt = Receipt.parse(message.receipt);
  const fromHeader = mail.commonHeaders.from[0] ?? null;
  const sender = senderOf(fromHeader ?? '') ?? senderOf(mail.source ?? '');
  if (!sender) return null;
  const isVirus = receipt.virusVerdict?.status === 'FAIL';
  return {
    messageId: mail.messageId,
    from: sender.email,
    fromName: sender.name,
    recipients: receipt.recipients.flatMap((address) => normaliseEmail(address) ?? []),
    subject: mail.commonHeaders.subject || '(no subject)',
    body: isVirus ? null : await bodyOf(message.content, receipt.action?.encoding),
    report: {
      fromHeader,
      timestamp: receipt.timestamp ?? mail.timestamp ?? null,
      recipients: receipt.recipients,
      spamVerdict: receipt.spamVerdict?.status ?? null,
      virusVerdict: receipt.virusVerdict?.status ?? null,
      spfVerdict: receipt.spfVerdict?.status ?? null,
      dkimVerdict: receipt.dkimVerdict?.status ?? null,
      dmarcVerdict: receipt.dmarcVerdict?.status ?? null,
      processingTimeMillis: receipt.processingTimeMillis ?? null,
    },
  };
}

async function bodyOf(
  content: string | null | undefined,
  encoding: string | null | undefined,
): Promise<string | null> {
  if (!content) return null;
  const isBase64 = encoding?.toUpperCase() === 'BASE64';
  const body = await readMailBody(Buffer.from(content, isBase64 ? 'base64' : 'utf8'));
  return body === null ? null : storableText(body);
}

/** Parses `Ada <ada@x.example>` or a plain address. */
function senderOf(header: string): { email: string; name: string | null } | null {
  const [, name = '', inBrackets] = /^(.*)<([^<>]*)>\s*$/s.exec(header) ?? [];
  const email = normaliseEmail(inBrackets ?? header);
  if (!email) return null;
  const shown = name
    .trim()
    .replace(/^"(.*)"$/s, '$1')
    .trim();
  return { email, name: shown === '' ? null : cutText(shown, 100) };
}
