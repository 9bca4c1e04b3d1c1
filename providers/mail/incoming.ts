import { type Reading, readReport } from '../../domain/mail/reports/report.ts';
import { deliveredTo, fingerprintOf, readArrivedMessage } from './arrived-message.ts';

/** A message that arrived, read. */
export interface ReadMessage {
  recipients: readonly string[];
  fingerprint: string;
  reading: Reading;
}

/**
 * Reads a message that arrived. A message that cannot be read counts as automatic, because nothing
 * can use it.
 * @param raw the message, or its first `readBytesMax` bytes
 * @param recipients of the envelope, in their stored form; null: there is no envelope, so those in
 *   the headers count
 */
export async function readIncoming(
  raw: Buffer,
  recipients: readonly string[] | null,
): Promise<ReadMessage> {
  const message = await readArrivedMessage(raw);
  return {
    recipients: recipients ?? (message ? deliveredTo(message) : []),
    fingerprint: fingerprintOf(raw),
    reading: message ? readReport(message) : { kind: 'automatic' },
  };
}
