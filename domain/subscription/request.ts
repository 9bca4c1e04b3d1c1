/** The requests to receivers of event subscriptions (Standard Webhooks 1.0.0). */

/** An event as it is sent: the same record as in the API. */
export interface SentEvent {
  id: string;
  name: string;
  data: unknown;
  projectId: string;
  contactId: string | null;
  emailId: string | null;
  /** ISO 8601. */
  createdAt: string;
}

/**
 * Returns the id of a delivery. All its requests have this id, by which the receiver recognizes
 * repeats.
 */
export function deliveryIdOf(eventId: string, subscriptionId: string): string {
  return `${eventId}_${subscriptionId}`;
}

/**
 * Returns the event's id from the id of a delivery; null: the delivery is not one of this
 * subscription.
 */
export function eventOfDelivery(deliveryId: string, subscriptionId: string): string | null {
  const [eventId, of, ...more] = deliveryId.toLowerCase().split('_');
  return eventId !== undefined && of === subscriptionId && more.length === 0 ? eventId : null;
}

/**
 * Returns the text that is signed (Standard Webhooks, “Signature scheme”).
 * @param timestamp Unix seconds
 */
export function webhookSignatureText(id: string, timestamp: number, body: string): string {
  return `${id}.${timestamp}.${body}`;
}

/**
 * Returns the body of a request with one event.
 * @param contact the current state of the event's contact; null: the event has none
 */
export function requestBody(
  event: SentEvent,
  contact: { id: string; email: string } | null,
  isTest = false,
): string {
  return JSON.stringify({
    ...(isTest && { test: true }),
    type: event.name,
    timestamp: event.createdAt,
    data: { ...event, contact },
  });
}

/**
 * Returns one event of a batch, as JSON.
 * @param id of the delivery, by which the receiver recognizes repeats
 */
export function batchItem(
  id: string,
  event: SentEvent,
  contact: { id: string; email: string } | null,
): string {
  const { name: type, createdAt: timestamp } = event;
  return JSON.stringify({ id, type, timestamp, data: { ...event, contact } });
}

const batchStart = '{"type":"batch","events":[';
const batchEnd = ']}';

/**
 * Returns the body of a request with several events.
 * @param items each made by `batchItem`
 */
export function batchBody(items: readonly string[]): string {
  return `${batchStart}${items.join(',')}${batchEnd}`;
}

/** Returns how many of the first items fit into a body of `bytesMax`; at least one. */
export function batchFit(items: readonly string[], bytesMax: number): number {
  const encoder = new TextEncoder();
  let bytes = batchStart.length + batchEnd.length - 1;
  for (const [at, item] of items.entries()) {
    bytes += encoder.encode(item).length + 1;
    if (bytes > bytesMax && at > 0) return at;
  }
  return items.length;
}

export function batchIdOf(id: string): string {
  return `batch_${id}`;
}

/** Matches the placeholder of a secret. The secret replaces it when the request is made. */
const placeholder = /\{\{ {0,10}secret\.([A-Z][A-Z0-9_]{0,63}) {0,10}\}\}/g;

/** Returns the names of the secrets in header values, each once. */
export function secretNamesOf(values: readonly string[]): string[] {
  const names = values.flatMap((value) => [...value.matchAll(placeholder)].map(([, name]) => name));
  return [...new Set(names.filter((name) => name !== undefined))];
}

/** Replaces placeholders by the values of secrets. A deleted secret becomes an empty text. */
export function withSecrets(
  headers: Readonly<Record<string, string>>,
  secrets: ReadonlyMap<string, string>,
): Record<string, string> {
  const filled = Object.entries(headers).map(([name, value]) => [
    name,
    value.replaceAll(placeholder, (_, secret: string) => secrets.get(secret) ?? ''),
  ]);
  return Object.fromEntries(filled) as Record<string, string>;
}
