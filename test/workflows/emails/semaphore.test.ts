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

it('gives an owner at most half, and lets others pass it', async () => {
  const semaphore = createSemaphore(12);
  const acquire = (owner: string) => semaphore.acquire(3, { owner });
  const first = await acquire('a');
  expect(semaphore.tryAcquire(3, { owner: 'a' })).not.toBeNull();
  expect(semaphore.tryAcquire(3, { owner: 'a' })).toBeNull();
  let isServed = false;
  const third = acquire('a').then((release) => {
    isServed = true;
    return release;
  });
  const releaseOther = await acquire('b');
  await Promise.resolve();
  expect(isServed).toBe(false);
  first();
  releaseOther();
  (await third)();
});

it('lets an owner without any take what is free', async () => {
  const semaphore = createSemaphore(10);
  const release = await semaphore.acquire(9, { owner: 'a' });
  expect(semaphore.tryAcquire(1, { owner: 'a' })).toBeNull();
  expect(semaphore.tryAcquire(1, { owner: 'b' })).not.toBeNull();
  release();
});
