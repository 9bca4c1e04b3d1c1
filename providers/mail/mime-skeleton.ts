import { type TextTemplate, type MailSkeleton, type Slot } from '../../domain/mail/skeleton.ts';
import { quotedPrintable, recipientHeaders, sharedHeaders, textHeaders } from './mime.ts';

/** A message with slots, encoded as far as possible. */
export interface MessageSkeleton {
  messageFor(given: {
    to: string;
    subject: string;
    date: Date;
    contactId: string;
    emailId: string;
    /**
     * `text` returns the content of a slot in the text part, and `html` the content of a slot in
     * the HTML.
     */
    text: (slot: number) => string;
    html: (slot: number) => string;
  }): Buffer;
}

/**
 * Encodes a skeleton as `multipart/alternative`, in the same form as `composeMessage`. Each slot is
 * on a line of its own, between soft line breaks (RFC 2045, 6.7), so that a value does not shift
 * the bytes around it.
 * @param mail.sampleRecipient the recipient for whom the skeleton was made
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
  // In every message, the boundary contains the id of the sample's mail. The boundary only has to
  // be the same within one message.
  const start = (contentType: string) =>
    `--${boundary}\r\n${textHeaders(contentType).join('\r\n')}\r\n\r\n`;
  const parts = [
    { kind: 'head', template: head, after: start('text/plain') },
    { kind: 'text', template: encodeTemplate(skeleton.text), after: `\r\n${start('text/html')}` },
    { kind: 'html', template: encodeTemplate(skeleton.html), after: `\r\n--${boundary}--\r\n` },
  ] as const;
  // The bytes that are the same for all recipients. One slot follows each of these buffers.
  const constants: Buffer[] = [];
  const slots: { kind: 'head' | 'text' | 'html'; slot: Slot }[] = [];
  let before = '';
  for (const { kind, template, after } of parts) {
    for (const [index, slot] of template.slots.entries()) {
      constants.push(Buffer.from(before + (template.texts[index] ?? '')));
      slots.push({ kind, slot });
      before = '';
    }
    before += (template.texts.at(-1) ?? '') + after;
  }
  const end = Buffer.from(before);
  const constantBytes = constants.reduce((sum, { length }) => sum + length, end.length);
  const allocate = createSlab();
  return {
    messageFor(given) {
      const lines = headerLines(given);
      let bytes = Buffer.byteLength(lines) + constantBytes;
      const values = slots.map(({ kind, slot }) => {
        if (slot === 'contactId') return given.contactId;
        if (slot === 'emailId') return given.emailId;
        return encodeValue(kind === 'text' ? given.text(slot) : given.html(slot));
      });
      for (const value of values) bytes += value.length;
      const message = allocate(bytes);
      let at = message.write(lines);
      for (const [index, constant] of constants.entries()) {
        message.set(constant, at);
        at += constant.length;
        at += message.write(values[index] ?? '', at, 'latin1');
      }
      message.set(end, at);
      return message;
    },
  };
}

/** Number of bytes that are allocated together, enough for about 16 messages. */
const slabBytes = 256 * 1024;

/**
 * Returns a function that allocates slices of larger buffers, which cost the garbage collector less
 * than many small buffers.
 */
function createSlab(): (bytes: number) => Buffer {
  let slab = Buffer.alloc(0);
  let used = 0;
  return (bytes) => {
    if (bytes > slabBytes / 4) return Buffer.allocUnsafeSlow(bytes);
    if (used + bytes > slab.length) {
      slab = Buffer.allocUnsafeSlow(slabBytes);
      used = 0;
    }
    used += bytes;
    return slab.subarray(used - bytes, used);
  };
}

/** Returns header texts with slots in place of the ids. The id in the boundary stays. */
function templateIds(
  text: string,
  { contactId, emailId }: { contactId: string; emailId: string },
): TextTemplate {
  const texts: string[] = [];
  const slots: Slot[] = [];
  let done = 0;
  // Safe regex: both ids have only letters, digits and `-`.
  for (const match of text.matchAll(new RegExp(`${contactId}|(?<!_)${emailId}`, 'g'))) {
    texts.push(text.slice(done, match.index));
    slots.push(match[0] === contactId ? 'contactId' : 'emailId');
    done = match.index + match[0].length;
  }
  texts.push(text.slice(done));
  return { texts, slots };
}

/**
 * Maximum number of characters of an encoded line. The soft line break at its end is the 76th
 * character.
 */
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

/** Matches a value that needs no encoding and fits on one line. */
const plainValue = /^(?!\.|From )[ -<>-~]{0,74}$/;
const asciiValue = /^[ -~]*$/;

function encodeValue(value: string): string {
  if (plainValue.test(value)) return value;
  if (!asciiValue.test(value)) return quotedPrintable(value, lineChars);
  const encoded = value.replaceAll('=', '=3D');
  let lines = '';
  for (let from = 0; from < encoded.length;) {
    const isFirstCoded = encoded[from] === '.' || encoded.startsWith('From ', from);
    let to = from + (isFirstCoded ? lineChars - 2 : lineChars);
    // Do not split an encoded character.
    if (encoded[to - 1] === '=') to -= 1;
    else if (encoded[to - 2] === '=') to -= 2;
    const coded = encoded[from] === '.' ? '=2E' : '=46';
    lines += isFirstCoded ? coded + encoded.slice(from + 1, to) : encoded.slice(from, to);
    if (to < encoded.length) lines += '=\r\n';
    from = to;
  }
  return lines;
}

const plainAddress = /^[\w.+-]{1,64}@[\w.-]+$/;
const plainSubject = /^(?!.*(?:=\?|"))[!-~](?:[ -~]{0,58}[!-~])?$/;

function headerLines({ to, subject, date }: { to: string; subject: string; date: Date }): string {
  // Most values are plain ASCII. They need no encoding, so nodemailer's encoder, which checks every
  // character, is avoided.
  const lines =
    plainAddress.test(to) && to.length < 70 && plainSubject.test(subject)
      ? [`To: ${to}`, `Subject: ${subject}`, `Date: ${date.toUTCString().replace('GMT', '+0000')}`]
      : recipientHeaders({ to: { name: null, address: to }, subject, date });
  return `${lines.join('\r\n')}\r\n`;
}
