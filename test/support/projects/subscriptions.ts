import type { Engine } from '../engine.ts';
import type { Receiver } from '../fakes/receiver.ts';
import { waitFor } from '../wait-for.ts';

/** Event subscriptions of an engine's project, and the requests that their receiver has got. */

export interface Made {
  id: string;
  secret: string;
  /** The path on the receiver. */
  path: string;
  /** Returns the requests so far, oldest first. */
  requests: () => { at: number; headers: Record<string, string>; body: string; event: SentBody }[];
}

export interface SentBody {
  test?: true;
  type: string;
  timestamp: string;
  data: { id: string; name: string; data: unknown; contact: { id: string; email: string } | null };
}

let made = 0;

/** Creates a subscription to a separate path of the receiver. */
export async function subscribe(
  engine: Engine,
  receiver: Receiver,
  events: string[],
  given: Record<string, unknown> = {},
): Promise<Made> {
  made += 1;
  const path = `/events-${made}`;
  if (receiver.requests(path).length === 0) receiver.answer(path, { status: 200 });
  const body = { url: `${receiver.url}${path}`, events, ...given };
  const answer = await engine.call('POST', '/event-subscriptions', body);
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  const { id, secret } = answer.body as { id: string; secret: string };
  engine.api.log.mustNotTell(secret);
  return { id, secret, path, requests: () => read(receiver, path) };
}

function read(receiver: Receiver, path: string) {
  return receiver.requests(path).map(({ at, headers, body }) => ({
    at,
    headers: headers as Record<string, string>,
    body,
    event: JSON.parse(body) as SentBody,
  }));
}

/**
 * Tracks an event of a contact. Returns the event's id. On a busy machine the API may respond with
 * 503; the request is then repeated, as clients do.
 */
export async function track(
  engine: Engine,
  event: string,
  email = 'ada@people.test',
  data: Record<string, unknown> = {},
): Promise<string> {
  const { status, body } = await waitFor('room for a request', async () => {
    const answer = await engine.call('POST', '/v1/track', { event, email, data });
    return answer.status === 503 ? null : answer;
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.data.event as string;
}

/** Waits until this number of requests has arrived. */
export function received(subscription: Made, count: number, timeoutMs?: number) {
  return waitFor(
    `${count} requests at ${subscription.path}`,
    () => {
      const requests = subscription.requests();
      return requests.length >= count ? requests : null;
    },
    timeoutMs,
  );
}

export async function deliveries(engine: Engine, id: string, query = '') {
  const { body } = await engine.call('GET', `/event-subscriptions/${id}/deliveries${query}`);
  return body.data as {
    id: string;
    eventId: string;
    eventName: string;
    status: string;
    reason: string | null;
    contactId: string | null;
    batchId: string | null;
    response: string | null;
    nextAttemptAt: string | null;
    attempts: { statusCode: number | null; error: string | null }[];
  }[];
}

/** Waits until `isSo` returns true for the deliveries. */
export function untilDeliveries(
  engine: Engine,
  id: string,
  isSo: (all: Awaited<ReturnType<typeof deliveries>>) => boolean,
  timeoutMs?: number,
) {
  return waitFor(
    `deliveries of ${id}`,
    async () => {
      const all = await deliveries(engine, id, '?limit=100');
      return isSo(all) ? all : null;
    },
    timeoutMs,
  );
}

export async function change(engine: Engine, id: string, body: Record<string, unknown>) {
  const answer = await engine.call('PATCH', `/event-subscriptions/${id}`, body);
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body;
}
