import PostalMime from 'postal-mime';
import type { Mailer, MailerServices } from '../mailer.ts';

const headerEnd = Buffer.from('\r\n\r\n');

/** Creates a mailer that stores mail in the local mailbox. A stored message counts as delivered. */
export function mailboxMailer({ storeMessage }: MailerServices): Mailer {
  return {
    provider: 'mailbox',
    hasSimulator: true,
    defaultRatePerSecond: 200,
    maxConcurrency: 16,
    async send(message) {
      const { from, subject } = await headersOf(message.raw);
      try {
        await storeMessage({
          id: message.emailId,
          from,
          to: message.to,
          subject,
          raw: message.raw,
        });
      } catch (error) {
        // A retry is safe even if the row was written, because each id is stored only once.
        return { kind: 'retry', error: String(error) };
      }
      return { kind: 'accepted', messageId: `${message.emailId}@local`, delivered: true };
    },
    async quotaPerSecond() {
      return null;
    },
    async close() {},
  };
}

/** Reads sender and subject. Only the header block is parsed, because the body may have 40 MB. */
async function headersOf(raw: Buffer): Promise<{ from: string; subject: string }> {
  const end = raw.indexOf(headerEnd);
  const email = await PostalMime.parse(end < 0 ? raw : raw.subarray(0, end + headerEnd.length));
  return { from: email.from?.address ?? '', subject: email.subject ?? '' };
}
