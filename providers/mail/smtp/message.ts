import type { OutgoingMessage, SendOutcome } from '../mailer.ts';
import type { Session } from './session.ts';
import { type Reply, replyText } from './wire.ts';

/** A message in SMTP: its commands, its bytes, and the meaning of the server's replies. */

/** The commands before the content of a message. */
export interface Commands {
  mail: string;
  rcpt: string;
}

export function commandsFor(message: OutgoingMessage, session: Session): Commands {
  const { emailId, envelopeFrom, to, raw } = message;
  const size = session.size ? ` SIZE=${raw.length}` : '';
  const utf8 = session.smtpUtf8 && /[^\0-\x7f]/.test(envelopeFrom + to) ? ' SMTPUTF8' : '';
  // Reports should return only the headers of the message, and contain its id.
  const dsn = session.reports ? ` RET=HDRS ENVID=${emailId}` : '';
  const notify = session.reports === 'all' ? ' NOTIFY=SUCCESS,FAILURE,DELAY' : '';
  return {
    mail: `MAIL FROM:<${envelopeFrom}>${size}${utf8}${dsn}\r\n`,
    rcpt: `RCPT TO:<${to}>${notify}\r\n`,
  };
}

/** Returns why a message can never be sent over SMTP; null: the message can be sent. */
export function envelopeFault({
  envelopeFrom,
  to,
}: OutgoingMessage): { error: string; isRecipient?: true } | null {
  if (/[\0\r\n<>]/.test(envelopeFrom)) {
    const error = `The sender contains a line break or an angle bracket: ${JSON.stringify(envelopeFrom)}`;
    return { error };
  }
  if (to === '' || /[\0\r\n<>]/.test(to)) {
    const error = `The recipient is empty, or contains a line break or an angle bracket: ${JSON.stringify(to)}`;
    return { error, isRecipient: true };
  }
  return null;
}

const lineFeed = 0x0a;
const dot = 0x2e;

/**
 * Doubles each dot at the beginning of a line, because a single dot would end the message (RFC
 * 5321, 4.5.2).
 * @param startsLine true if the first byte begins a line
 */
export function dotStuffed(data: Buffer, startsLine: boolean): Buffer {
  const parts: Buffer[] = [];
  // Each dot is doubled without copying: one part ends with the dot, and the next part begins with
  // the same dot again.
  let from = 0;
  if (startsLine && data[0] === dot) parts.push(data.subarray(0, 1));
  for (let at = data.indexOf('\n.'); at >= 0; at = data.indexOf('\n.', at + 1)) {
    parts.push(data.subarray(from, at + 2));
    from = at + 1;
  }
  if (parts.length === 0) return data;
  parts.push(data.subarray(from));
  return Buffer.concat(parts);
}

/** Returns the end of a message, to be sent after its last byte. */
export function dataEnd(raw: Buffer): string {
  return raw.at(-1) === lineFeed ? '.\r\n' : '\r\n.\r\n';
}

export function startsLine(raw: Buffer, at: number): boolean {
  return at === 0 || raw[at - 1] === lineFeed;
}

/**
 * Returns the outcome of a message that got a negative reply.
 * @param isComplete true if the server may have the whole message
 */
export function negativeOutcome(
  what: 'the sender' | 'the recipient' | 'the message' | 'the data',
  reply: Reply,
  isComplete: boolean,
): SendOutcome {
  const text = replyText(reply);
  const error = `The server refused ${what}: ${text}`;
  // 503 (bad sequence of commands) concerns the session, not the message.
  if (reply.code >= 500 && reply.code !== 503) {
    const isRecipient = what !== 'the sender' && isAboutRecipient(reply.code, text);
    return { kind: 'refused', error, ...(isRecipient && { isRecipient }) };
  }
  if (reply.code >= 400) {
    return { kind: 'retry', error, isAboutMessage: !isAboutServer(reply.code, text) };
  }
  // The reply is neither positive nor negative.
  return brokenOutcome(error, isComplete);
}

/**
 * Returns the outcome of a message whose connection ended.
 * @param isComplete true if the server may have the whole message, so that another try could send
 * it twice
 */
export function brokenOutcome(error: string, isComplete: boolean): SendOutcome {
  return { kind: isComplete ? 'uncertain' : 'retry', error };
}

/**
 * Returns true if a 4xx reply to a message concerns the server: 421 (it closes the connection), 454
 * (Amazon SES uses it for throttling), or the enhanced status 4.3.x, mail system status (RFC 3463).
 * Other codes delay a single recipient, for example a full mailbox, or greylisting.
 */
function isAboutServer(code: number, text: string): boolean {
  return code === 421 || code === 454 || /\b4\.3\.\d/.test(text);
}

/**
 * Returns true if a 5xx reply concerns the recipient: the enhanced status x.1.x, addressing (RFC
 * 3463), except x.1.7 and x.1.8, which concern the sender. Without an enhanced status, the mailbox
 * codes of RFC 5321 count: 550, 551, 553.
 */
function isAboutRecipient(code: number, text: string): boolean {
  const [, subject, detail] = /^\d{3}[ -][245]\.(\d{1,3})\.(\d{1,3})\b/.exec(text) ?? [];
  if (subject === undefined) return [550, 551, 553].includes(code);
  return subject === '1' && detail !== '7' && detail !== '8';
}
