import {
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
import { requirePassword } from './authentication.ts';
import { isoTimeAt, ownId, textAt, valueAt } from './fields.ts';

/** Postmark: webhooks about deliveries, bounces, complaints and changes of subscriptions. */
export const postmark: FeedbackAdapter = {
  idHeader: { name: 'X-PM-Metadata-everpost-email', valueOf: (emailId) => emailId },
  authenticate: requirePassword,
  read(event) {
    const outcome = outcomeOf(event);
    if (!outcome) return null;
    const id = textAt(event, 'ID');
    return {
      outcome,
      emailId: ownId(textAt(event, 'Metadata', 'everpost-email')),
      id: id && `${textAt(event, 'RecordType')} ${id}`,
      at: timeOf(event),
      text: textAt(event, 'Details') ?? textAt(event, 'Description'),
    };
  },
};

function outcomeOf(event: Json): ServiceOutcome | undefined {
  switch (textAt(event, 'RecordType')) {
    case 'Delivery':
      return delivered;
    case 'Bounce':
      return bounces.get(textAt(event, 'Type') ?? '');
    case 'SpamComplaint':
      return complained;
    case 'SubscriptionChange':
      return isOptOut(event) ? unsubscribed : undefined;
    default:
      return undefined;
  }
}

const bounces = new Map<string, ServiceOutcome>([
  ['HardBounce', permanent],
  ['BadEmailAddress', permanent],
  ['SoftBounce', transient],
  ['DnsError', transient],
  ['Blocked', transient],
  ['SpamNotification', transient],
  ['DMARCPolicy', transient],
  ['VirusNotification', transient],
  ['Transient', delayed],
  ['SMTPApiError', notSent],
  ['ManuallyDeactivated', notSent],
]);

/**
 * Returns true if the recipient opted out. Postmark also stops sending after a bounce or complaint,
 * but reports bounces and complaints with other events.
 */
function isOptOut(event: Json): boolean {
  const reason = textAt(event, 'SuppressionReason');
  return (
    valueAt(event, 'SuppressSending') === true &&
    textAt(event, 'Origin') === 'Recipient' &&
    reason !== 'HardBounce' &&
    reason !== 'SpamComplaint'
  );
}

function timeOf(event: Json): Date | null {
  return (
    isoTimeAt(event, 'DeliveredAt') ??
    isoTimeAt(event, 'BouncedAt') ??
    isoTimeAt(event, 'ChangedAt')
  );
}
