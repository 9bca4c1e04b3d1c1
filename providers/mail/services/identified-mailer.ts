import type { Mailer } from '../mailer.ts';
import { adapterOf } from './adapters.ts';

/**
 * Wraps the mailer of a provider: each message gets the header that tells the mail service our id of
 * it. The service returns this id in its reports. The sender's own header of this name is dropped.
 * @param feedback how the provider reports; without webhooks, its messages stay as they are
 */
export function identifiedMailer(mailer: Mailer, feedback: string): Mailer {
  const header = adapterOf(feedback)?.idHeader;
  if (!header) return mailer;
  return {
    ...mailer,
    send: (message) =>
      mailer.send({
        ...message,
        raw: withHeader(message.raw, header.name, header.valueOf(message.emailId)),
      }),
  };
}

/** Puts a header before the others, and removes those of its name. */
function withHeader(raw: Buffer, name: string, value: string): Buffer {
  const line = Buffer.from(`${name}: ${value}\r\n`);
  const emptyLine = raw.indexOf('\r\n\r\n');
  const headEnd = emptyLine < 0 ? raw.length : emptyLine;
  const head = raw.toString('latin1', 0, headEnd);
  const start = `${name}:`.toLowerCase();
  // Most messages have no such header, and need not be taken apart.
  if (!head.toLowerCase().includes(start)) return Buffer.concat([line, raw]);
  const others = head
    .split(/\r\n(?![ \t])/)
    .filter((field) => !field.toLowerCase().startsWith(start));
  const kept = Buffer.from(others.join('\r\n'), 'latin1');
  return Buffer.concat([line, kept, raw.subarray(headEnd)]);
}
