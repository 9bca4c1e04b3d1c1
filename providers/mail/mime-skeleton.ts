import {
  interpolate,
  type TextTemplate,
  type MailSkeleton,
  type Slot,
} from '../../domain/mail/skeleton.ts';
import { quotedPrintable, recipientHeaders, sharedHeaders, textHeaders } from './mime.ts';

/** A message with open slots, encoded as far as possible. */
export interface MessageSkeleton {
  /** The complete message for one recipient. */
  messageFor(given: {
    to: string;
    subject: string;
    date: Date;
    contactId: string;
    emailId: string;
    /** The contents of the slots in the text part, and of those in the HTML. */
    text: (slot: number) => string;
    html: (slot: number) => string;
  }): Buffer;
}

/**
 * Encodes a skeleton as `multipart/alternative`, like `composeMessage`. Each slot of a text has a
 * line of its own, ended by soft line breaks (RFC 2045, 6.7): so its value does not shift what was
 * encoded before.
 * @param mail.sampleRecipient the email id for which the skeleton was made.
 */
export function encodeSkeleton(
  skeleton: MailSkeleton,
  mail: {
    from: { name: string; address: string };
    replyTo: string | null;
    sampleRecipient: { contactId: string; emailId: string };
  },
): MessageSkeleton {
  const { sampleRecipient } = mail;
  // Text parts contain no "=_", so no body can contain such a boundary.
  const boundary = `=_alternative_${sampleRecipient.emailId}`;
  const shared = sharedHeaders({
    from: mail.from,
    replyTo: mail.replyTo,
    emailId: sampleRecipient.emailId,
    headers: skeleton.headers,
  });
  const head = templateIds(
    [...shared, `Content-Type: multipart/alternative;\r\n boundary="${boundary}"`, '', ''].join(
      '\r\n',
    ),
    sampleRecipient,
  );
  // The boundary keeps the sample's id: it only has to be the same everywhere.
  const start = (contentType: string) =>
    `--${boundary}\r\n${textHeaders(contentType).join('\r\n')}\r\n\r\n`;
  const text = encodeTemplate(skeleton.text);
  const html = encodeTemplate(skeleton.html);
  const [textStart, htmlStart] = [start('text/plain'), `\r\n${start('text/html')}`];
  const end = `\r\n--${boundary}--\r\n`;
  return {
    messageFor(given) {
      const id = (slot: Slot) => (slot === 'contactId' ? given.contactId : given.emailId);
      const message =
        headerLines(given) +
        interpolate(head, id) +
        textStart +
        interpolate(text, (slot) =>
          encodeValue(typeof slot === 'number' ? given.text(slot) : id(slot)),
        ) +
        htmlStart +
        interpolate(html, (slot) =>
          encodeValue(typeof slot === 'number' ? given.html(slot) : id(slot)),
        ) +
        end;
      return Buffer.from(message);
    },
  };
}

/** Header texts have no slots but the ids; the boundary is not one of them. */
function templateIds(
  text: string,
  { contactId, emailId }: { contactId: string; emailId: string },
): TextTemplate {
  const texts: string[] = [];
  const slots: Slot[] = [];
  let done = 0;
  // Safe regex: both are letters, digits and `-`.
  for (const match of text.matchAll(new RegExp(`${contactId}|(?<!_)${emailId}`, 'g'))) {
    texts.push(text.slice(done, match.index));
    slots.push(match[0] === contactId ? 'contactId' : 'emailId');
    done = match.index + match[0].length;
  }
  texts.push(text.slice(done));
  return { texts, slots };
}

/** With the soft break at its end, no line is longer than 76. */
const lineChars = 75;

function encodeTemplate({ texts, slots }: TextTemplate): TextTemplate {
  const last = texts.length - 1;
  return {
    slots,
    texts: texts.map(
      (text, index) =>
        (index === 0 ? '' : '=\r\n') +
        quotedPrintable(text, lineChars) +
        (index === last ? '' : '=\r\n'),
    ),
  };
}

/** Needs no encoding, and is short enough for one line. */
const plainValue = /^[ -<>-~]{0,74}$/;

function encodeValue(value: string): string {
  return plainValue.test(value) ? value : quotedPrintable(value, lineChars);
}

const plainAddress = /^[\w.+-]{1,64}@[\w.-]+$/;
const plainSubject = /^(?!.*(?:=\?|"))[!-~](?:[ -~]{0,58}[!-~])?$/;

function headerLines({ to, subject, date }: { to: string; subject: string; date: Date }): string {
  // Most are plain, and nodemailer's encoder checks every character.
  const lines =
    plainAddress.test(to) && to.length < 70 && plainSubject.test(subject)
      ? [`To: ${to}`, `Subject: ${subject}`, `Date: ${date.toUTCString().replace('GMT', '+0000')}`]
      : recipientHeaders({ to: { name: null, address: to }, subject, date });
  return `${lines.join('\r\n')}\r\n`;
}
