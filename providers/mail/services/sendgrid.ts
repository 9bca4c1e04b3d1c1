import { createPublicKey, verify } from 'node:crypto';
import {
  accepted,
  complained,
  delayed,
  delivered,
  type FeedbackAdapter,
  type Json,
  notSent,
  permanent,
  type ServiceOutcome,
  transient,
  unsubscribed,
} from './adapter.ts';
import { requiredHeader, requireRecent, requireTrue } from './authentication.ts';
import { idInMessageId, ownId, textAt, unixTimeAt } from './fields.ts';

/** Minutes for which a signature is valid. */
const validMinutes = 15;

const headerStart = 'X-Twilio-Email-Event-Webhook-';

/**
 * Twilio SendGrid: its Event Webhook sends many events per request, with a signature by a key of
 * the account.
 */
export const sendgrid: FeedbackAdapter = {
  idHeader: {
    name: 'X-SMTPAPI',
    valueOf: (emailId) => `{"unique_args": {"everpost_email": "${emailId}"}}`,
  },
  authenticate(request, secret, now) {
    const signature = requiredHeader(request, `${headerStart}Signature`);
    const timestamp = requiredHeader(request, `${headerStart}Timestamp`);
    requireTrue(
      isSigned(Buffer.concat([Buffer.from(timestamp), request.bytes]), signature, secret),
    );
    requireRecent(timestamp, now, validMinutes);
  },
  read(event) {
    const outcome = outcomeOf(event);
    if (!outcome) return null;
    return {
      outcome,
      emailId: ownId(textAt(event, 'everpost_email')) ?? idInMessageId(textAt(event, 'smtp-id')),
      id: textAt(event, 'sg_event_id'),
      at: unixTimeAt(event, 'timestamp'),
      text: textAt(event, 'reason') ?? textAt(event, 'response'),
      code: textAt(event, 'status'),
    };
  },
};

/**
 * Returns true if SendGrid has signed the data.
 * @param publicKey the verification key in the form in which SendGrid shows it: DER in base64
 */
function isSigned(data: Buffer, signature: string, publicKey: string): boolean {
  try {
    const der = Buffer.from(publicKey, 'base64');
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    return verify('sha256', data, key, Buffer.from(signature, 'base64'));
  } catch {
    // The text is not a public key, or a key of another kind.
    return false;
  }
}

const outcomes = new Map<string, ServiceOutcome>([
  ['processed', accepted],
  ['delivered', delivered],
  ['deferred', delayed],
  ['dropped', notSent],
  ['spamreport', complained],
  ['unsubscribe', unsubscribed],
  ['group_unsubscribe', unsubscribed],
]);

function outcomeOf(event: Json): ServiceOutcome | undefined {
  const name = textAt(event, 'event') ?? '';
  if (name !== 'bounce') return outcomes.get(name);
  const type = textAt(event, 'type') ?? 'bounce';
  return type === 'bounce' ? permanent : transient;
}
