import { createHmac } from 'node:crypto';

/**
 * Returns a request to `POST /webhooks/incoming/mime`, without method and path.
 * @param to the header `Everpost-Recipient`; '': the header is missing
 * @param given.at time of the signature, in seconds
 * @param given.signedTo recipients in the signature, if they differ from `to`
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
