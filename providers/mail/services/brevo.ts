import {
  accepted,
  complained,
  delayed,
  delivered,
  type FeedbackAdapter,
  notSent,
  permanent,
  type ServiceOutcome,
  transient,
  unsubscribed,
} from './adapter.ts';
import { requireTokenOrPassword } from './authentication.ts';
import { idInMessageId, ownId, textAt, unixTimeAt } from './fields.ts';

const idHeader = 'X-Mailin-custom';

/**
 * Brevo: transactional webhooks. The field `id` is the id of the webhook, so repeats are recognised
 * by the content.
 */
export const brevo: FeedbackAdapter = {
  idHeader: { name: idHeader, valueOf: (emailId) => emailId },
  authenticate: requireTokenOrPassword,
  read(event) {
    const outcome = outcomes.get(textAt(event, 'event') ?? '');
    if (!outcome) return null;
    return {
      outcome,
      emailId: ownId(textAt(event, idHeader)) ?? idInMessageId(textAt(event, 'message-id')),
      id: null,
      at: unixTimeAt(event, 'ts_epoch') ?? unixTimeAt(event, 'ts_event'),
      text: textAt(event, 'reason'),
    };
  },
};

const outcomes = new Map<string, ServiceOutcome>([
  ['request', accepted],
  ['sent', accepted],
  ['delivered', delivered],
  ['deferred', delayed],
  ['hard_bounce', permanent],
  ['invalid_email', permanent],
  ['soft_bounce', transient],
  ['spam', complained],
  ['complaint', complained],
  ['blocked', notSent],
  ['error', notSent],
  ['unsubscribe', unsubscribed],
  ['unsubscribed', unsubscribed],
]);
