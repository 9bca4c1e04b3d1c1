import { Readable } from 'node:stream';
import { createTransport } from 'nodemailer';
import MailMessage from 'nodemailer/lib/mailer/mail-message';
import type MimeNode from 'nodemailer/lib/mime-node';
import type { Mailer, OutgoingMessage, SendOutcome } from './mailer.ts';

export interface SmtpSettings {
  host: string;
  port: number;
  /** TLS from the first byte. Otherwise STARTTLS is used when the server offers it. */
  secure: boolean;
  user?: string | undefined;
  password?: string | undefined;
  /** Idle time after which the server counts as unavailable, in ms. Default 120,000. */
  timeoutMs?: number | undefined;
}

const connections = 20;
/** A message is written in chunks, so that we know how far it got. */
const chunkBytes = 64 * 1024;

/** A mailer that hands messages to one SMTP server over a connection pool. */
export function smtpMailer(settings: SmtpSettings): Mailer {
  const transport = createTransport(poolOptions(settings));
  return {
    provider: `smtp ${settings.host}:${settings.port}`,
    reportsDelivery: false,
    defaultRatePerSecond: 200,
    maxConcurrency: connections,
    send(message) {
      const handover = new Handover(message);
      const mail = new MailMessage(transport, {});
      mail.message = handover as unknown as MimeNode;
      return new Promise((resolve) => {
        transport.transporter.send(mail, (error) => {
          if (error) return resolve(outcomeOf(error, handover.complete));
          const messageId = `${message.emailId}@smtp`;
          return resolve({ kind: 'accepted', messageId, delivered: true });
        });
      });
    },
    async quotaPerSecond() {
      return null;
    },
    async close() {
      transport.close();
    },
  };
}

function poolOptions(settings: SmtpSettings) {
  const { host, port, secure, user, password, timeoutMs = 120_000 } = settings;
  return {
    pool: true as const,
    host,
    port,
    secure,
    ...(user ? { auth: { user, pass: password ?? '' } } : {}),
    // Mail servers encrypt among themselves without checking certificates, and so do we. With a
    // password, or when the operator asked for TLS, the certificate is checked.
    tls: { rejectUnauthorized: secure || Boolean(user) },
    maxConnections: connections,
    // Replacing a connection takes 100 ms, noticeable with nodemailer's default of 100 messages.
    maxMessages: 1000,
    // The pool must never retry a message by itself: only we know whether that is safe.
    maxRequeues: 0,
    connectionTimeout: Math.min(timeoutMs, 10_000),
    greetingTimeout: Math.min(timeoutMs, 10_000),
    socketTimeout: timeoutMs,
  };
}

/**
 * A message that records how far it was handed over. nodemailer reads the stream only after the
 * server has accepted DATA, and writes the final dot only after the stream has ended; its errors do
 * not tell the two apart. So: not ended = the server cannot have the whole message. It implements
 * only what the transport needs of a message, because creating nodemailer's own costs as much as
 * sending it.
 */
class Handover {
  /** The connection has taken the last byte: the end of the data may have been sent. */
  complete = false;
  readonly #message: OutgoingMessage;

  constructor(message: OutgoingMessage) {
    this.#message = message;
  }

  getEnvelope() {
    const { envelopeFrom, to, raw } = this.#message;
    return { from: envelopeFrom, to: [to], size: raw.length };
  }

  messageId(): string {
    return '';
  }

  getHeader(): string {
    return '';
  }

  createReadStream(): Readable {
    const { raw } = this.#message;
    let at = 0;
    const stream = new Readable({
      read() {
        stream.push(at < raw.length ? raw.subarray(at, (at += chunkBytes)) : null);
      },
    });
    stream.once('end', () => {
      this.complete = true;
    });
    return stream;
  }
}

/**
 * Whether a 4xx response to a message is about the server: 421 (it closes the connection) and 454
 * (throttled, as Amazon SES says it), or the enhanced status x.3.x, mail system status (RFC 3463).
 * Others put off one recipient: a full mailbox, or a sender that the recipient's server does not
 * know yet.
 */
function isAboutServer(reply: number, text: string): boolean {
  return reply === 421 || reply === 454 || /\b4\.3\.\d/.test(text);
}

/** `complete`: the server may have the whole message. Codes: `nodemailer/lib/errors`. */
function outcomeOf(
  error: Error & { code?: string | undefined; responseCode?: number | undefined },
  complete: boolean,
): SendOutcome {
  const text = error.message;
  // Responses about this message: to MAIL, RCPT and DATA (EENVELOPE), to the data (EMESSAGE).
  if (error.code === 'EENVELOPE' || error.code === 'EMESSAGE') {
    const reply = error.responseCode;
    // No reply: nodemailer itself rejects an impossible address or a message over the announced
    // size.
    if (reply === undefined) return { kind: 'refused', error: text };
    // 503 (bad sequence of commands) is about the session, not about the message.
    if (reply >= 500 && reply !== 503) return { kind: 'refused', error: text };
    if (reply >= 400)
      return { kind: 'retry', error: text, isAboutMessage: !isAboutServer(reply, text) };
  }
  // Anything else is about the session, whatever its code: a greeting with 554, a refused password
  // or a bad certificate is for the operator to fix, not a reason to give up a message.
  return { kind: complete ? 'uncertain' : 'retry', error: text };
}
