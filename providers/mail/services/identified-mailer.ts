import type { Mailer } from '../mailer.ts';
import { adapterOf } from './adapters.ts';

/**
 * Wraps a mailer, so that each message gets a header with Everpost's id of the message. The mail
 * service returns this id in its reports. A header with the same name that the sender set is
 * dropped.
 * @param feedback how the provider reports; without webhooks, its messages are unchanged
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

/** Adds a header before all other headers, and removes other headers with the same name. */
function withHeader(raw: Buffer, name: string, value: string): Buffer {
  const line = Buffer.from(`${name}: ${value}\r\n`);
  const emptyLine = raw.indexOf('\r\n\r\n');
  const headEnd = emptyLine < 0 ? raw.length : emptyLine;
  const head = raw.toString('latin1', 0, headEnd);
  const start = `${name}:`.toLowerCase();
  // Most messages have no header with this name, so there is nothing to remove.
  if (!head.toLowerCase().includes(start)) return Buffer.concat([line, raw]);
  const others = head
    .split(/\r\n(?![ \t])/)
    .filter((field) => !field.toLowerCase().startsWith(start));
  const kept = Buffer.from(others.join('\r\n'), 'latin1');
  return Buffer.concat([line, kept, raw.subarray(headEnd)]);
}
