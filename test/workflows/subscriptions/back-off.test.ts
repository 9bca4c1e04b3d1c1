import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  change,
  deliveries,
  received,
  subscribe,
  track,
  untilDeliveries,
} from '../../support/projects/subscriptions.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A receiver that is down gets a request now and then, and gets everything when it is back. */

const engine = await useEngine({
  WEBHOOK_ALLOW_PRIVATE: 'true',
  WEBHOOK_TIMEOUT_MS: '2000',
  EVENT_DELIVERY_RETRY_SECONDS: '1,1,1',
});
const receiver = await useReceiver();
const { db } = engine.api;

const rowOf = (id: string) =>
  db
    .selectFrom('event_subscription')
    .select(['failures', 'probe_at', 'probes'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

/** Tracks so many events, each of a different contact. */
async function trackMany(event: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let number = 0; number < count; number += 1) {
    ids.push(await track(engine, event, `${number}@${event}.test`));
  }
  return ids;
}

const backingOff = (id: string) =>
  waitFor('the back-off', async () => (await rowOf(id)).probe_at !== null);

it('tries little while the receiver is down, and sends all when it is back', async () => {
  const shop = await subscribe(engine, receiver, ['down']);
  const path = `/event-subscriptions/${shop.id}`;
  const { url } = receiver;
  // No server listens on this port.
  await change(engine, shop.id, { url: 'http://127.0.0.1:9/' });
  const ids = await trackMany('down', 100);
  await backingOff(shop.id);
  await sleep(8_000);
  const { body } = await engine.call('GET', path);
  expect(body.last24Hours.requests).toBeLessThanOrEqual(40);
  expect(body.last24Hours.failed).toBe(0);
  expect((await rowOf(shop.id)).probes).toBeGreaterThan(2);
  // The receiver returns at its address, without a change of the subscription.
  await db
    .updateTable('event_subscription')
    .set({ url: `${url}${shop.path}` })
    .where('id', '=', shop.id)
    .execute();
  const requests = await received(shop, 100, 10_000);
  expect(requests.map(({ event }) => event.data.id).toSorted()).toEqual(ids.toSorted());
  expect(await rowOf(shop.id)).toEqual({ failures: 0, probe_at: null, probes: 0 });
  await untilDeliveries(engine, shop.id, (all) => all.every((one) => one.status === 'delivered'));
});

it('probes one at a time, the least tried first; none is failed by that', async () => {
  const shop = await subscribe(engine, receiver, ['probed']);
  let under = 0;
  let most = 0;
  receiver.answer(shop.path, { status: 500, body: 'down' });
  await trackMany('probed', 12);
  await backingOff(shop.id);
  // Other requests may have been in flight when it began.
  await waitFor('them to end', async () => {
    const attempts = (await deliveries(engine, shop.id)).map((one) => one.attempts.length);
    return attempts.reduce((sum, one) => sum + one, 0) === shop.requests().length;
  });
  receiver.watch(shop.path, async () => {
    under += 1;
    most = Math.max(most, under);
    await sleep(200);
    under -= 1;
  });
  const sent = shop.requests().length;
  // The two that were not tried often, and then others: four by schedule, and more.
  await received(shop, sent + 6, 30_000);
  expect(most).toBe(1);
  const probed = shop
    .requests()
    .slice(sent, sent + 6)
    .map(({ event }) => event.data.id);
  expect(new Set(probed).size).toBe(6);
  const all = await deliveries(engine, shop.id);
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set(['pending']));
  // Resuming makes all deliveries due, also during back-off.
  receiver.answer(shop.path, { status: 200 });
  await change(engine, shop.id, { paused: true });
  await change(engine, shop.id, { paused: false });
  await untilDeliveries(engine, shop.id, (found) =>
    found.every(({ status }) => status === 'delivered'),
  );
});

// Beside other work, events are sent up to a minute later.
it(
  'a few deliveries that fail are no dead receiver, however often',
  { timeout: 150_000 },
  async () => {
    const shop = await subscribe(engine, receiver, ['few']);
    receiver.answer(shop.path, { status: 500 });
    await trackMany('few', 9);
    const haveFailed = (all: readonly { status: string }[]) =>
      all.length === 9 && all.every(({ status }) => status === 'failed');
    await untilDeliveries(engine, shop.id, haveFailed, 130_000);
    expect(shop.requests()).toHaveLength(36);
    expect(await rowOf(shop.id)).toMatchObject({ failures: 9, probe_at: null });
    receiver.answer(shop.path, { status: 200 });
    await track(engine, 'few', 'well@few.test');
    await waitFor('the count to end', async () => (await rowOf(shop.id)).failures === 0);
  },
);

it('one that is asked for by hand is attempted while the receiver is taken for dead', async () => {
  const shop = await subscribe(engine, receiver, ['by-hand']);
  receiver.answer(shop.path, { status: 500 });
  await trackMany('by-hand', 10);
  await backingOff(shop.id);
  // So that no probe is sent.
  const later = new Date(Date.now() + 600_000);
  await db
    .updateTable('event_subscription')
    .set({ probe_at: later })
    .where('id', '=', shop.id)
    .execute();
  await waitFor('the last request', async () => {
    const all = await deliveries(engine, shop.id);
    return all.length === 10 && all.every(({ attempts }) => attempts.length > 0);
  });
  receiver.answer(shop.path, { status: 200 });
  const [one] = await deliveries(engine, shop.id);
  await engine.call('POST', `/event-subscriptions/${shop.id}/deliveries/${one?.id}/retry`);
  // A success of the probe is a success of the receiver.
  await untilDeliveries(engine, shop.id, (all) => all.every((each) => each.status === 'delivered'));
  expect(await rowOf(shop.id)).toMatchObject({ failures: 0, probe_at: null });
});

it('a change of the address ends it', async () => {
  const shop = await subscribe(engine, receiver, ['moved']);
  receiver.answer(shop.path, { status: 500 });
  await trackMany('moved', 10);
  await backingOff(shop.id);
  const elsewhere = `${shop.path}-elsewhere`;
  receiver.answer(elsewhere, { status: 200 });
  await change(engine, shop.id, { description: 'Nothing of the receiver' });
  expect((await rowOf(shop.id)).probe_at).not.toBeNull();
  const changed = await change(engine, shop.id, { url: `${receiver.url}${elsewhere}` });
  expect(changed.failingSince).toBeNull();
  await waitFor('all of them', () => receiver.requests(elsewhere).length >= 10);
});
