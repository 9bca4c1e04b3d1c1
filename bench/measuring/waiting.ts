import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks repeatedly until the answer is true.
 * @throws Error naming `what` after `timeoutMs`
 */
export async function until(
  what: string,
  ask: () => Promise<boolean>,
  { everyMs = 20, timeoutMs = 300_000 } = {},
): Promise<void> {
  const giveUpAt = Date.now() + timeoutMs;
  while (!(await ask())) {
    if (Date.now() > giveUpAt) throw new Error(`Waited ${timeoutMs} ms in vain for ${what}.`);
    await sleep(everyMs);
  }
}

/** Does a piece of work for each number below `count`, `parallel` at a time. */
export async function times(
  count: number,
  parallel: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  async function worker(): Promise<void> {
    while (next < count) await work(next++);
  }
  await Promise.all(Array.from({ length: Math.min(parallel, count) }, worker));
}
