import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  change,
  deliveries,
  type Made,
  subscribe,
  track,
  untilDeliveries,
} from '../../support/projects/subscriptions.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Many events in one request. */

const engine = await useEngine({
  WEBHOOK_ALLOW_PRIVATE: 'true',
  WEBHOOK_TIMEOUT_MS: '2000',
  EVENT_DELIVERY_RETRY_SECONDS: '1,1,1',
});
const receiver = await useReceiver();
const batch = { max: 100 };

interface Batch {
  type: string;
  events: { id: string; type: string; timestamp: string; data: { id: string; data: unknown } }[];
}

/** Returns the received batches, with their ids. */
const batchesOf = (shop: Made) =>
  shop.requests().map(({ headers, body }) => ({
    id: headers['webhook-id'] ?? '',
    ...(JSON.parse(body) as Batch),
  }));

const eventsOf = (shop: Made) => batchesOf(shop).flatMap(({ events }) => events);

/** Tracks events of five contacts while the subscription is paused. */
async function waiting(shop: Made, event: string, count: number): Promise<string[]> {
  await change(engine, shop.id, { paused: true });
  const ids: string[] = [];
  for (let number = 0; number < count; number += 1) {
    ids.push(await track(engine, event, `${number % 5}@${event}.test`, { number }));
  }
  await waitFor('the deliveries', async () => {
    const { body } = await engine.call('GET', `/event-subscriptions/${shop.id}`);
    return body.lag.pending === count;
  });
  return ids;
}

const resume = (shop: Made) => change(engine, shop.id, { paused: false });
const arrived = (shop: Made, count: number) =>
  waitFor(`${count} events`, () => new Set(eventsOf(shop).map(({ id }) => id)).size >= count);
const allAre = (shop: Made, status: string) =>
  untilDeliveries(engine, shop.id, (all) => all.every((one) => one.status === status));

it('sends what is due in batches, in the order of each contact', { timeout: 120_000 }, async () => {
  const shop = await subscribe(engine, receiver, ['many'], { batch });
  await waiting(shop, 'many', 250);
  await resume(shop);
  await arrived(shop, 250);
  await allAre(shop, 'delivered');
  const batches = batchesOf(shop);
  for (const { type, events, id } of batches) {
    expect([type, events.length <= 100, id.startsWith('batch_')]).toEqual(['batch', true, true]);
  }
  expect(eventsOf(shop)).toHaveLength(250);
  for (let contact = 0; contact < 5; contact += 1) {
    const numbers = eventsOf(shop)
      .map(({ data }) => (data.data as { number: number }).number)
      .filter((number) => number % 5 === contact);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  }
  const [event] = eventsOf(shop);
  expect(event?.id).toBe(`${event?.data.id}_${shop.id}`);
  const { body } = await engine.call(
    'GET',
    `/event-subscriptions/${shop.id}/deliveries/${event?.id}`,
  );
  expect(body).toMatchObject({ status: 'delivered', batchId: batches[0]?.id, response: null });
});

it('sends one that has failed again as it was', async () => {
  const shop = await subscribe(engine, receiver, ['again'], { batch });
  receiver.answer(shop.path, { status: 500, body: 'not now' }, { status: 200 });
  await waiting(shop, 'again', 7);
  await resume(shop);
  const failed = await untilDeliveries(engine, shop.id, ([one]) => one?.attempts.length === 1);
  expect(failed[0]).toMatchObject({ status: 'pending', response: 'not now' });
  // An event recorded meanwhile does not join the batch.
  await track(engine, 'again', 'late@again.test');
  await arrived(shop, 8);
  await allAre(shop, 'delivered');
  const batches = batchesOf(shop).filter(({ events }) => events.length === 7);
  expect(batches).toHaveLength(2);
  expect(batches[1]).toEqual(batches[0]);
});

it('takes one apart after three attempts, and fails one event alone', async () => {
  const shop = await subscribe(engine, receiver, ['poison'], { batch });
  const ids = await waiting(shop, 'poison', 6);
  const bad = ids[3] ?? '';
  receiver.decide(shop.path, (body) => ({ status: body.includes(bad) ? 500 : 200 }));
  await resume(shop);
  const all = await untilDeliveries(engine, shop.id, (found) =>
    found.every(({ status }) => status !== 'pending'),
  );
  const ends = new Map(all.map(({ eventId, status }) => [eventId, status]));
  for (const id of ids) expect(ends.get(id)).toBe(id === bad ? 'failed' : 'delivered');
  const batches = batchesOf(shop);
  expect(batches.map(({ events }) => events.length)).toEqual([6, 6, 6, 1, 1, 1, 1, 1, 1]);
  const alone = all.find(({ eventId }) => eventId === bad);
  expect(alone?.attempts.map(({ statusCode }) => statusCode)).toEqual([500, 500, 500, 500]);
});

it('takes those apart that wait when the batch is changed', async () => {
  const shop = await subscribe(engine, receiver, ['changed'], { batch });
  receiver.answer(shop.path, { status: 500, headers: { 'retry-after': '60' } });
  await waiting(shop, 'changed', 3);
  await resume(shop);
  await untilDeliveries(engine, shop.id, ([one]) => one?.attempts.length === 1);
  receiver.answer(shop.path, { status: 200 });
  await change(engine, shop.id, { batch: null });
  // Due at once.
  await change(engine, shop.id, { paused: true });
  await resume(shop);
  const all = await allAre(shop, 'delivered');
  expect(all.map(({ attempts }) => attempts.length)).toEqual([2, 2, 2]);
  const later = shop.requests().slice(1);
  expect(later.map(({ event }) => event.type)).toEqual(['changed', 'changed', 'changed']);
  expect(later.map(({ headers }) => headers['webhook-id']).toSorted()).toEqual(
    all.map(({ id }) => id).toSorted(),
  );
  expect(new Set(all.map(({ batchId }) => batchId))).toEqual(new Set([null]));
});

it('tries all of one that waits by hand', async () => {
  const shop = await subscribe(engine, receiver, ['by-hand'], { batch });
  receiver.answer(shop.path, { status: 500, headers: { 'retry-after': '600' } }, { status: 200 });
  await waiting(shop, 'by-hand', 4);
  await resume(shop);
  const [one] = await untilDeliveries(engine, shop.id, ([found]) => found?.attempts.length === 1);
  await change(engine, shop.id, { paused: true });
  await engine.call('POST', `/event-subscriptions/${shop.id}/deliveries/${one?.id}/retry`);
  await allAre(shop, 'delivered');
  expect(batchesOf(shop).map(({ id, events }) => [id, events.length])).toEqual([
    [batchesOf(shop)[0]?.id, 4],
    [batchesOf(shop)[0]?.id, 4],
  ]);
});

it('has at most a megabyte, and one event at least', async () => {
  const shop = await subscribe(engine, receiver, ['large'], { batch });
  await change(engine, shop.id, { paused: true });
  // Longer than /v1/track accepts.
  await sql`insert into event (project_id, name, data)
    select ${engine.project.id}, 'large', jsonb_build_object('text', repeat('x', 400000))
      from generate_series(1, 5)`.execute(engine.api.db);
  await tasksOf(engine.api, {}).SIGNAL_STALLED_RUNS();
  await untilDeliveries(engine, shop.id, (all) => all.length === 5);
  await resume(shop);
  await arrived(shop, 5);
  const sizes = batchesOf(shop).map(({ events }) => events.length);
  expect(sizes.toSorted()).toEqual([1, 2, 2]);
  for (const { body } of shop.requests()) {
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(1_048_576);
  }
});

it('probes with a batch that waits, as a whole', async () => {
  const shop = await subscribe(engine, receiver, ['probed'], { batch });
  receiver.answer(shop.path, { status: 500 });
  await waiting(shop, 'probed', 5);
  await resume(shop);
  await untilDeliveries(engine, shop.id, (all) => all.every((one) => one.attempts.length === 1));
  await engine.api.db
    .updateTable('event_subscription')
    .set({ failures: 10, probe_at: new Date(Date.now() - 60_000) })
    .where('id', '=', shop.id)
    .execute();
  await untilDeliveries(engine, shop.id, (all) => all.every((one) => one.attempts.length > 4));
  receiver.answer(shop.path, { status: 200 });
  await allAre(shop, 'delivered');
  // A batch is never split: probes do not count.
  expect(new Set(batchesOf(shop).map(({ id }) => id)).size).toBe(1);
});

it('forgets what was said about a batch when one of its contacts is deleted', async () => {
  const shop = await subscribe(engine, receiver, ['told'], { batch });
  receiver.answer(shop.path, { status: 400, body: '0@told.test is unknown' });
  await waiting(shop, 'told', 2);
  await resume(shop);
  const before = await untilDeliveries(engine, shop.id, ([one]) => one?.attempts.length === 1);
  await change(engine, shop.id, { paused: true });
  await engine.call('DELETE', `/contacts/${before[1]?.contactId}`);
  await tasksOf(engine.api, {}).CLEAR_EVENT_DELIVERIES();
  const after = await deliveries(engine, shop.id);
  expect(after.map(({ response }) => response)).toEqual([null, null]);
});
