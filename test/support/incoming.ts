import { createHmac } from 'node:crypto';
import { createTransport } from 'nodemailer';
import type { TestApi } from './api.ts';
import { use } from './use.ts';

/** Brings messages to Everpost, as mail servers do. */

/** Sends a message to an SMTP server. Rejects when the server refuses it. */
export async function sendBySmtp(
  port: number,
  raw: string,
  { from = '', to }: { from?: string; to: string | string[] },
): Promise<void> {
  const transport = use(createTransport({ host: '127.0.0.1', port, ignoreTLS: true }));
  await transport.sendMail({ envelope: { from, to }, raw });
}

/**
 * Returns a request to `POST /webhooks/incoming/mime`, without method and path.
 * @param to the header `Everpost-Recipient`; '': it is missing
 * @param given.at time of the signature, in seconds
 * @param given.signedTo recipients that are signed, if they differ
 */
export function signedMessage(
  secret: string,
  raw: string,
  to: string,
  given: { at?: number; signedTo?: string; headers?: Record<string, string> } = {},
) {
  const { at = Date.now() / 1000, signedTo = to, headers = {} } = given;
  const t = Math.floor(at);
  const digits = createHmac('sha256', secret).update(`${t}.${signedTo}.${raw}`).digest('hex');
  return {
    body: Buffer.from(raw),
    headers: {
      'Content-Type': 'message/rfc822',
      ...(to && { 'Everpost-Recipient': to }),
      'Everpost-Signature': `t=${t},v1=${digits}`,
      ...headers,
    },
  };
}

/** Posts a message to the webhook, with the arguments of `signedMessage`. */
export const postMessage = (api: TestApi, ...message: Parameters<typeof signedMessage>) =>
  api.request('POST', '/webhooks/incoming/mime', signedMessage(...message));
