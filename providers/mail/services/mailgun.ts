import {
  accepted,
  complained,
  delayed,
  delivered,
  type FeedbackAdapter,
  notSent,
  permanent,
  type ServiceOutcome,
  unsubscribed,
  type WebhookRequest,
} from './adapter.ts';
import { isSame } from '../../web/secret-text.ts';
import { hmac, missingSignature, requireRecent, requireTrue } from './authentication.ts';
import { idInMessageId, isObject, ownId, textAt, unixTimeAt, valueAt } from './fields.ts';

/** Minutes for which a signature is valid. */
const validMinutes = 15;

/** Mailgun: one event per request. The signature covers a time and a token, but not the event. */
export const mailgun: FeedbackAdapter = {
  idHeader: {
    name: 'X-Mailgun-Variables',
    valueOf: (emailId) => JSON.stringify({ everpost_email: emailId }),
  },
  authenticate(request, secret, now) {
    const signatures = signaturesOf(request);
    if (signatures.length === 0) throw missingSignature('The body has no signature.');
    for (const { timestamp, token, signature } of signatures) {
      const right = hmac(secret, timestamp, token).toString('hex');
      requireTrue(isSame(signature.toLowerCase(), right));
      requireRecent(timestamp, now, validMinutes);
    }
  },
  read(event) {
    const data = valueAt(event, 'event-data');
    const outcome = outcomeOf(data);
    if (!outcome) return null;
    const sent =
      ownId(textAt(data, 'user-variables', 'everpost_email')) ??
      idInMessageId(textAt(data, 'message', 'headers', 'message-id'));
    return {
      outcome,
      emailId: sent,
      id: textAt(data, 'id'),
      at: unixTimeAt(data, 'timestamp'),
      text: textOf(data),
      code:
        textAt(data, 'delivery-status', 'enhanced-code') ?? textAt(data, 'delivery-status', 'code'),
    };
  },
};

/**
 * Returns the signatures of all events.
 * @throws Problem MISSING_SIGNATURE when an event has no signature
 */
function signaturesOf(request: WebhookRequest) {
  const events = request.events().filter((event) => isObject(valueAt(event, 'event-data')));
  return events.map((event) => {
    const part = (name: string) => textAt(event, 'signature', name) ?? '';
    const signature = {
      timestamp: part('timestamp'),
      token: part('token'),
      signature: part('signature'),
    };
    if (Object.values(signature).includes('')) {
      throw missingSignature('An event in the body has no signature.');
    }
    return signature;
  });
}

const outcomes = new Map<string, ServiceOutcome>([
  ['accepted', accepted],
  ['delivered', delivered],
  ['complained', complained],
  ['unsubscribed', unsubscribed],
  ['rejected', notSent],
]);

function outcomeOf(data: unknown): ServiceOutcome | undefined {
  const name = textAt(data, 'event') ?? '';
  if (name !== 'failed') return outcomes.get(name);
  // Mailgun did not try to deliver, because the address is on its list of bounces, complaints or
  // opt-outs.
  if (textAt(data, 'reason')?.startsWith('suppress-')) return notSent;
  const severity = textAt(data, 'severity');
  if (severity === 'temporary') return delayed;
  return severity === 'permanent' ? permanent : undefined;
}

function textOf(data: unknown): string | null {
  return (
    textAt(data, 'delivery-status', 'message') ??
    textAt(data, 'delivery-status', 'description') ??
    textAt(data, 'reject', 'reason') ??
    textAt(data, 'reason')
  );
}
