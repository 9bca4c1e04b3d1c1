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
  undetermined,
} from './adapter.ts';
import { isSame } from '../../web/secret-text.ts';
import { hmac, requiredHeader, requireRecent, requireTrue } from './authentication.ts';
import { idInMessageId, isoTimeAt, ownId, textAt, valueAt } from './fields.ts';

/** Minutes for which a signature is valid (Standard Webhooks). */
const validMinutes = 5;

/** Resend: webhooks with signatures by Svix. The events return the headers of the message. */
export const resend: FeedbackAdapter = {
  idHeader: null,
  authenticate(request, secret, now) {
    const id = requiredHeader(request, 'svix-id');
    const timestamp = requiredHeader(request, 'svix-timestamp');
    const given = requiredHeader(request, 'svix-signature').split(/\s+/);
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    const right = `v1,${hmac(key, `${id}.${timestamp}.`, request.bytes).toString('base64')}`;
    requireTrue(given.some((signature) => isSame(signature, right)));
    requireRecent(timestamp, now, validMinutes);
  },
  read(event, request) {
    const outcome = outcomeOf(event);
    if (!outcome) return null;
    return {
      outcome,
      emailId:
        ownId(headerIn(event, 'x-everpost-email')) ??
        idInMessageId(headerIn(event, 'message-id') ?? textAt(event, 'data', 'message_id')),
      id: request.header('svix-id') || null,
      at: isoTimeAt(event, 'created_at'),
      text:
        textAt(event, 'data', 'bounce', 'message') ??
        textAt(event, 'data', 'suppressed', 'message') ??
        textAt(event, 'data', 'failed', 'reason'),
    };
  },
};

/**
 * Returns a header of the message to which an event refers.
 * @param name in lower case
 */
function headerIn(event: Json, name: string): string | null {
  const headers = valueAt(event, 'data', 'headers');
  const isOurs = (one: unknown) => textAt(one, 'name')?.toLowerCase() === name;
  return Array.isArray(headers) ? textAt(headers.find(isOurs), 'value') : null;
}

const outcomes = new Map<string, ServiceOutcome>([
  ['email.sent', accepted],
  ['email.delivered', delivered],
  ['email.delivery_delayed', delayed],
  ['email.complained', complained],
  ['email.failed', notSent],
  ['email.suppressed', notSent],
]);

const bounces = new Map<string, ServiceOutcome>([
  ['Permanent', permanent],
  ['Transient', transient],
]);

function outcomeOf(event: Json): ServiceOutcome | undefined {
  const type = textAt(event, 'type') ?? '';
  if (type !== 'email.bounced') return outcomes.get(type);
  return bounces.get(textAt(event, 'data', 'bounce', 'type') ?? '') ?? undetermined;
}
