import { createTransport } from 'nodemailer';
import type { TestApi } from '../api.ts';
import { signedMessage } from '../fakes/signed-message.ts';
import { use } from '../use.ts';

/** Sends messages to Everpost, as mail servers do. */

/** Sends a message to an SMTP server. Rejects when the server refuses it. */
export async function sendBySmtp(
  port: number,
  raw: string,
  { from = '', to }: { from?: string; to: string | string[] },
): Promise<void> {
  const transport = use(createTransport({ host: '127.0.0.1', port, ignoreTLS: true }));
  await transport.sendMail({ envelope: { from, to }, raw });
}

/** Posts a message to the webhook, with the arguments of `signedMessage`. */
export const postMessage = (api: TestApi, ...message: Parameters<typeof signedMessage>) =>
  api.request('POST', '/webhooks/incoming/mime', signedMessage(...message));
