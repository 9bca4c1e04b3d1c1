import { expect, it } from 'vitest';
import { createSemaphore } from '../../../activities/mail/batches/semaphore.ts';

it('serves in turn, those in a hurry first, and never gives more than there is', async () => {
  const semaphore = createSemaphore(2);
  const served: string[] = [];
  const giveBacks = [await semaphore.acquire(1), await semaphore.acquire(1)];
  const take = async (name: string, urgent: boolean) => {
    const giveBack = await semaphore.acquire(1, { urgent });
    served.push(name);
    giveBack();
  };
  const all = Promise.all([
    take('a', false),
    take('b', false),
    take('urgent c', true),
    take('urgent d', true),
  ]);
  expect(served).toEqual([]);
  for (const giveBack of giveBacks) giveBack();
  await all;
  expect(served.slice(0, 2)).toEqual(['urgent c', 'urgent d']);
  expect(served.slice(2)).toEqual(['a', 'b']);
});

it('gives all of it to who wants more, and nothing at once to who wants nothing', async () => {
  const semaphore = createSemaphore(10);
  const giveBack = await semaphore.acquire(50);
  await semaphore.acquire(0);
  let isServed = false;
  const waiting = semaphore.acquire(1).then(() => (isServed = true));
  await Promise.resolve();
  expect(isServed).toBe(false);
  giveBack();
  await waiting;
});

it('gives free permits at once, if no other caller waits for them', async () => {
  const semaphore = createSemaphore(2);
  const giveBack = semaphore.tryAcquire(1);
  expect(semaphore.tryAcquire(2)).toBeNull();
  const waiting = semaphore.acquire(2);
  // One permit is free, but an earlier caller waits for two.
  expect(semaphore.tryAcquire(1)).toBeNull();
  giveBack?.();
  const giveBackAll = await waiting;
  giveBackAll();
  expect(semaphore.tryAcquire(1)).not.toBeNull();
});
