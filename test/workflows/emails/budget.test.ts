import { expect, it } from 'vitest';
import { createBudget } from '../../../activities/mail/semaphore.ts';

it('serves in turn, those in a hurry first, and never gives more than there is', async () => {
  const budget = createBudget(2);
  const served: string[] = [];
  const giveBacks = [await budget.take(1), await budget.take(1)];
  const take = async (name: string, urgent: boolean) => {
    const giveBack = await budget.take(1, { urgent });
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
  const budget = createBudget(10);
  const giveBack = await budget.take(50);
  await budget.take(0);
  let isServed = false;
  const waiting = budget.take(1).then(() => (isServed = true));
  await Promise.resolve();
  expect(isServed).toBe(false);
  giveBack();
  await waiting;
});
