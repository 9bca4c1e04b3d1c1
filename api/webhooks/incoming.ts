import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { normaliseEmail } from '../../domain/email-address.ts';
import { Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { endpoint } from '../http/endpoint.ts';
import { takeIncoming } from '../services/incoming-mail.ts';

/** Maximum difference in seconds between the sender's clock and the clock of this server. */
const clockSeconds = 300;

export const receiveMime = endpoint({
  id: 'receiveMime',
  method: 'POST',
  path: '/webhooks/incoming/mime',
  summary: 'Bounces, complaints and received mail, from your mail server',
  description:
    'For a mail server that passes on each message by HTTP. The body is the message as it arrived, ' +
    'of any content type. `Everpost-Recipient` has its envelope recipients, separated by commas; ' +
    'without it, those in `Delivered-To`, `X-Original-To` and `To` count. ' +
    '`Everpost-Signature: t=<seconds>,v1=<hex>` is the HMAC-SHA256 of ' +
    '`<t>.<Everpost-Recipient, or nothing>.<body>` with the key INBOUND_MIME_SECRET. ' +
    '`result` is `report`: about a known mail; `received`: a mail to a domain with `inbound`; ' +
    '`ignored`: nothing here can use the message. The same message again has no effect. ' +
    'INVALID_SIGNATURE: the signature is wrong, or `t` is more than 5 minutes off. ' +
    'RESOURCE_NOT_FOUND: this server has no INBOUND_MIME_SECRET. ' +
    'SERVICE_UNAVAILABLE: send it again.',
  access: 'open',
  limit: 'none',
  asSent: true,
  unavailable: ({ mail }) => (mail.incoming.mimeSecret ? null : 'RESOURCE_NOT_FOUND'),
  bodyBytesMax: limits.incomingBytes,
  response: z.object({
    success: z.literal(true),
    result: z.enum(['report', 'received', 'ignored']),
  }),
  problems: ['RESOURCE_NOT_FOUND', 'MISSING_SIGNATURE', 'INVALID_SIGNATURE', 'SERVICE_UNAVAILABLE'],
  example: { response: { success: true, result: 'report' } },
  async handle(call) {
    const { bytes, header } = call.request;
    const given = header('everpost-recipient');
    requireSigned(call.config.mail.incoming.mimeSecret ?? '', header('everpost-signature'), {
      text: given,
      bytes,
    });
    const recipients = given.split(',').flatMap((one) => normaliseEmail(one) ?? []);
    const isGiven = given.trim() !== '';
    const message = { raw: bytes, recipients: isGiven ? recipients : null, sender: null };
    return { success: true as const, result: await takeIncoming(call, 'mime', message) };
  },
});

function missingSignature(): Problem {
  return new Problem('MISSING_SIGNATURE', {
    message: 'The header Everpost-Signature is missing.',
    suggestion: 'Sign the message with INBOUND_MIME_SECRET, as the API reference describes.',
  });
}

/**
 * Requires a valid signature.
 * @throws Problem MISSING_SIGNATURE, INVALID_SIGNATURE
 */
function requireSigned(
  secret: string,
  signature: string,
  { text, bytes }: { text: string; bytes: Buffer },
): void {
  if (signature === '') throw missingSignature();
  const [, at = '', digits = ''] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/i.exec(signature.trim()) ?? [];
  const isRecent = Math.abs(Date.now() / 1000 - Number(at || Number.NaN)) <= clockSeconds;
  const right = createHmac('sha256', secret).update(`${at}.${text}.`).update(bytes).digest();
  const isRight = digits !== '' && timingSafeEqual(Buffer.from(digits, 'hex'), right);
  if (!isRecent || !isRight) throw new Problem('INVALID_SIGNATURE');
}
