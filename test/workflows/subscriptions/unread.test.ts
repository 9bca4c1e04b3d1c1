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

/** Events that the run of a subscription has not read yet are listed as pending. */

const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_TIMEOUT_MS: '2000' });
const receiver = await useReceiver();

const lagOf = async (id: string) =>
  (await engine.call('GET', `/event-subscriptions/${id}`)).body.lag as {
    pending: number;
    oldestPendingAt: string | null;
  };

it('lists, counts and tries what was recorded while its run gives way', async () => {
  const shop = await subscribe(engine, receiver, ['waiting']);
  await track(engine, 'waiting', 'first@people.test');
  await received(shop, 1);
  await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'delivered');
  await engine.stopWorker();
  const events: string[] = [];
  for (const number of [1, 2, 3]) events.push(await track(engine, 'waiting', `${number}@w.test`));
  // An event of another name, also after the subscription has changed.
  await track(engine, 'unwanted');
  await change(engine, shop.id, { events: ['other'] });
  await track(engine, 'waiting');
  const all = await untilDeliveries(engine, shop.id, (found) => found.length === 4);
  expect(all.slice(0, 3).map(({ eventId }) => eventId)).toEqual(events.toReversed());
  expect(all[0]).toMatchObject({
    id: `${events[2]}_${shop.id}`,
    eventName: 'waiting',
    status: 'pending',
    attempts: [],
    nextAttemptAt: expect.any(String),
  });
  expect(await deliveries(engine, shop.id, '?status=pending&limit=2')).toEqual(all.slice(0, 2));
  expect(await deliveries(engine, shop.id, `?eventId=${events[1]}`)).toEqual([all[1]]);
  expect(await deliveries(engine, shop.id, '?status=delivered')).toHaveLength(1);
  expect(await deliveries(engine, shop.id, '?eventName=waiting')).toEqual(all);
  expect(await deliveries(engine, shop.id, '?eventName=unwanted')).toEqual([]);
  const page = await engine.call('GET', `/event-subscriptions/${shop.id}/deliveries?limit=1`);
  const next = `/event-subscriptions/${shop.id}/deliveries?limit=1&cursor=${page.body.cursor}`;
  expect((await engine.call('GET', next)).body.data).toEqual([all[1]]);
  const path = `/event-subscriptions/${shop.id}/deliveries/${all[2]?.id}`;
  expect((await engine.call('GET', path)).body).toEqual(all[2]);
  expect(await lagOf(shop.id)).toEqual({ pending: 3, oldestPendingAt: all[2]?.nextAttemptAt });
  const retried = await engine.call('POST', `${path}/retry`);
  expect([retried.status, retried.body.status]).toEqual([200, 'pending']);
  expect((await lagOf(shop.id)).pending).toBe(3);
  await engine.startWorker();
  const requests = await received(shop, 4);
  await untilDeliveries(engine, shop.id, (found) =>
    found.every((one) => one.status === 'delivered'),
  );
  expect(
    requests
      .map(({ event }) => event.data.id)
      .slice(1)
      .toSorted(),
  ).toEqual(events.toSorted());
  expect(shop.requests()).toHaveLength(4);
  await waitFor('an empty lag', async () => (await lagOf(shop.id)).pending === 0);
  await engine.call('DELETE', `/event-subscriptions/${shop.id}`);
});
