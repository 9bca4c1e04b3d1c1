import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { useEngine } from '../support/engine.ts';
import { useReceiver } from '../support/fakes/receiver.ts';
import { useApiProcess, useWorkerProcess } from '../support/processes/processes.ts';
import { received, subscribe } from '../support/subscriptions.ts';
import { sweepNow } from '../support/sweep-now.ts';
import { waitFor } from '../support/wait-for.ts';

/** Every event that was answered arrives, whatever dies meanwhile. */

const settings = { WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_TIMEOUT_MS: '2000' };
const engine = await useEngine(settings, { worker: false });
const receiver = await useReceiver();

it('workers and an API that are killed lose no event', { timeout: 180_000 }, async () => {
  const shop = await subscribe(engine, receiver, ['kept']);
  receiver.watch(shop.path, () => sleep(20));
  const answered = new Set<string>();
  let api = await useApiProcess(engine, settings);
  let worker = await useWorkerProcess(engine, settings);
  let isOver = false;
  const client = async (number: number) => {
    for (let count = 0; count < 15; count += 1) {
      const given = { email: `${number}@kept.test`, event: 'kept', data: { count } };
      // What is not answered may be recorded or not.
      const answer = await api.call('POST', '/v1/track', given).catch(() => null);
      if (answer?.status === 200) answered.add(answer.body.data.event);
      else await sleep(200);
    }
  };
  const clients = Promise.all(Array.from({ length: 10 }, (_, number) => client(number)));
  const killing = (async () => {
    await received(shop, 10, 60_000);
    await worker.kill();
    worker = await useWorkerProcess(engine, settings);
    await api.kill();
    api = await useApiProcess(engine, settings);
    while (!isOver) await sleep(50);
  })();
  await clients;
  isOver = true;
  await killing;
  const arrived = () => new Set(shop.requests().map(({ event }) => event.data.id));
  await sweepNow(engine);
  await waitFor(
    'all that was answered',
    () => [...answered].every((id) => arrived().has(id)),
    90_000,
  );
  expect(answered.size).toBeGreaterThan(50);
  await waitFor('nothing to be left', async () => {
    const { body } = await engine.call('GET', `/event-subscriptions/${shop.id}`);
    return body.lag.pending === 0;
  });
});
