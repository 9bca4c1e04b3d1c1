import { isUuid } from '../../domain/ids.ts';
import { hasForbiddenText } from '../../domain/text-rules.ts';

/** Reads the webhook events of Stripe. */

/**
 * An event of the payment provider, in the terms of Everpost. Events come in any order and may be
 * hours late. So an event about a subscription says only which subscription has changed, and the
 * caller must read the current state of the subscription.
 */
export type PaymentEvent = KnownEvent | { kind: 'other' };

export interface InvoiceOfEvent {
  /** null: the event does not contain an invoice. */
  invoice: string | null;
  /** null: the invoice has no subscription, or the event does not contain the subscription. */
  subscription: string | null;
  /**
   * True if the invoice belongs to no subscription, because it was written by hand or for a quote.
   */
  isOneOff: boolean;
}

type KnownEvent = { id: string } & (
  | {
      kind: 'checkedOut';
      projectId: string;
      customer: string;
      subscription: string | null;
      /** The server that created the checkout; null: unknown. */
      server: string | null;
    }
  /** The invoice is no longer owed. `isPaid` false: the invoice was voided, or is uncollectible. */
  | ({ kind: 'settled'; customer: string; isPaid: boolean } & InvoiceOfEvent)
  | ({
      kind: 'paymentFailed';
      customer: string;
      isFirst: boolean;
      isFinal: boolean;
    } & InvoiceOfEvent)
  /** The subscription has ended for good. */
  | { kind: 'subscriptionEnded'; customer: string; subscription: string }
  | { kind: 'subscriptionChanged'; customer: string; subscription: string }
  | { kind: 'fraud'; customer: string | null; charge: string }
);

/** Thrown for a correctly signed webhook that cannot be read. Receiving it again would not help. */
export class UnreadableEvent extends Error {
  override readonly name = 'UnreadableEvent';
}

/** Maximum number of characters of an id at Stripe (API reference, "Object IDs"). */
const idCharsMax = 255;

/**
 * Returns the id of a reference, which Stripe may have expanded to an object; null: the value has
 * no valid id.
 */
export function idOf(value: unknown): string | null {
  const id = typeof value === 'string' ? value : (value as { id?: unknown } | null)?.id;
  if (typeof id !== 'string' || id === '' || id.length > idCharsMax) return null;
  return hasForbiddenText(id) ? null : id;
}

/**
 * Returns an id that the event must have.
 * @param path place of the id in the event, for the error message
 * @throws UnreadableEvent
 */
function requiredId(value: unknown, path: string): string {
  const id = idOf(value);
  if (id === null) {
    throw new UnreadableEvent(`\`${path}\` of the event is missing, or is not an id of Stripe.`);
  }
  return id;
}

/** Returns the customer of an object; null: the object has no customer. */
function customerOf(about: Record<string, unknown>): string | null {
  return about['customer'] === null ? null : requiredId(about['customer'], 'data.object.customer');
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new UnreadableEvent('The body is not JSON.');
  }
}

function objectOf(value: unknown, name: string): Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject) throw new UnreadableEvent(`The ${name} is not an object.`);
  return value as Record<string, unknown>;
}

const knownTypes = new Set([
  'checkout.session.completed',
  'invoice.paid',
  'invoice.payment_failed',
  'invoice.voided',
  'invoice.marked_uncollectible',
  'customer.subscription.updated',
  'customer.subscription.deleted',
  'radar.early_fraud_warning.created',
]);

/** Returns the event in the body of a signed webhook. @throws UnreadableEvent */
export function eventOf(body: Buffer): PaymentEvent {
  const event = objectOf(parse(body), 'body');
  const { type } = event;
  if (typeof type !== 'string' || type === '') throw new UnreadableEvent('The event has no type.');
  // A thin event contains only a reference to its object, so it cannot be used.
  if (event['object'] === 'v2.core.event' || !knownTypes.has(type)) return { kind: 'other' };
  const id = requiredId(event['id'], 'id');
  const about = objectOf(objectOf(event['data'], 'data of the event')['object'], 'data.object');
  return knownEventOf(id, type, about);
}

function knownEventOf(id: string, type: string, about: Record<string, unknown>): PaymentEvent {
  if (type === 'radar.early_fraud_warning.created') {
    const charge = requiredId(about['charge'], 'data.object.charge');
    const { customer } = Object(about['charge']) as { customer?: unknown };
    return { id, kind: 'fraud', customer: idOf(customer) ?? idOf(about['customer']), charge };
  }
  const customer = customerOf(about);
  if (customer === null) return { kind: 'other' };
  switch (type) {
    case 'checkout.session.completed': {
      const { projectId, server } = Object(about['metadata']) as Record<string, unknown>;
      if (!isUuid(projectId)) return { kind: 'other' };
      const subscription = idOf(about['subscription']);
      const maker = typeof server === 'string' ? server : null;
      return { id, kind: 'checkedOut', projectId, customer, subscription, server: maker };
    }
    case 'invoice.paid':
    case 'invoice.voided':
    case 'invoice.marked_uncollectible': {
      const isPaid = type === 'invoice.paid';
      return { id, kind: 'settled', customer, isPaid, ...invoiceOf(about) };
    }
    case 'invoice.payment_failed': {
      const isFirst = about['billing_reason'] === 'subscription_create';
      const isFinal = (about['next_payment_attempt'] ?? null) === null;
      return { id, kind: 'paymentFailed', customer, isFirst, isFinal, ...invoiceOf(about) };
    }
    default: {
      const subscription = requiredId(about['id'], 'data.object.id');
      const hasEnded = type === 'customer.subscription.deleted';
      const kind = hasEnded ? 'subscriptionEnded' : 'subscriptionChanged';
      return { id, kind, customer, subscription };
    }
  }
}

/**
 * Returns the invoice of an object. API versions differ in where an invoice has its subscription.
 */
function invoiceOf(about: Record<string, unknown>): InvoiceOfEvent {
  const { subscription_details: details } = Object(about['parent']) as Record<string, unknown>;
  const subscription = idOf(Object(details).subscription) ?? idOf(about['subscription']);
  const reason = about['billing_reason'];
  const isOfNone =
    typeof reason === 'string'
      ? !reason.startsWith('subscription')
      : 'parent' in about || 'subscription' in about;
  return { invoice: idOf(about), subscription, isOneOff: subscription === null && isOfNone };
}
