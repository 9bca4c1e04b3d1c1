import PostalMime, { type Email } from 'postal-mime';
import sanitizeHtml from 'sanitize-html';
import { formatMailboxes, type Mailbox, normaliseEmail } from '../../domain/email-address.ts';
import type { ReceivedMail } from '../../domain/mail/inbound.ts';
import { cutHtml, escapeHtml } from '../../domain/template/html.ts';
import { cutText, storableText } from '../../domain/text-rules.ts';

/** Maximum number of characters of a sender's name that are stored, and of a subject. */
const nameCharsMax = 100;
const subjectCharsMax = 998;
/** Maximum number of characters of a stored Message-ID; most have fewer than 100. */
const messageIdCharsMax = 255;

/** The results of checks that only Amazon SES makes. For other mail, they are unknown. */
const unchecked = {
  spamVerdict: 'DISABLED',
  virusVerdict: 'DISABLED',
  spfVerdict: 'DISABLED',
  dkimVerdict: 'DISABLED',
  dmarcVerdict: 'DISABLED',
  processingTimeMillis: null,
};

/**
 * Reads a received mail. null: the mail has no valid sender, or cannot be parsed.
 * @param raw the MIME message as it arrived, or its beginning
 * @param given.sender the envelope sender, if known
 * @param given.fingerprint identifies a mail without a Message-ID
 */
export async function readReceivedMail(
  raw: Buffer,
  given: { sender: string | null; fingerprint: string; arrivedAt: Date },
): Promise<ReceivedMail | null> {
  const email = await PostalMime.parse(raw).catch(() => null);
  const from = email && senderOf(email, given.sender);
  if (!from) return null;
  const id = email.messageId?.replaceAll(/[<>\s]/g, '') ?? '';
  const isId = id !== '' && id.length <= messageIdCharsMax;
  const body = bodyOf(email);
  return {
    messageId: isId ? storableText(id) : given.fingerprint,
    from: from.address,
    fromName: from.name,
    subject: cutText(storableText(email.subject ?? ''), subjectCharsMax) || '(no subject)',
    body: body === null ? null : storableText(body),
    report: {
      fromHeader: formatMailboxes([from]),
      timestamp: given.arrivedAt.toISOString(),
      ...unchecked,
    },
  };
}

function senderOf({ from }: Email, envelope: string | null): Mailbox | null {
  const address = normaliseEmail(from?.address ?? '') ?? normaliseEmail(envelope ?? '');
  if (address === null) return null;
  const name = cutText(storableText(from?.name ?? '').trim(), nameCharsMax);
  return { name: name === '' ? null : name, address };
}

/**
 * Returns the body of a received mail as sanitized HTML: without scripts, styles, forms or frames,
 * and only with web, mail and telephone links. null: the mail has no body, or its nesting or
 * headers are too large. A long body, or one with many tags, is cut, because anyone may send mail.
 * @param raw the MIME message as it arrived
 */
export async function readMailBody(raw: Buffer): Promise<string | null> {
  const email = await PostalMime.parse(raw).catch(() => null);
  return email && bodyOf(email);
}

function bodyOf({ html, text }: Email): string | null {
  if (html) return sanitizeHtml(cutHtml(html), safe);
  if (!text) return null;
  return `<p>${escapeHtml(text.trimEnd()).replaceAll(/\r?\n/g, '<br>\n')}</p>`;
}

const safe: sanitizeHtml.IOptions = {
  allowedTags: [...sanitizeHtml.defaults.allowedTags, 'img'],
  allowedAttributes: {
    a: ['href', 'title'],
    img: ['src', 'alt', 'title', 'width', 'height'],
    td: ['colspan', 'rowspan'],
    th: ['colspan', 'rowspan', 'scope'],
  },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  allowProtocolRelative: false,
};
