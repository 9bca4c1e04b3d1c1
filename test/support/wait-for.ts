import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Calls `ask` repeatedly until it returns a value other than null, undefined or false.
 * @throws Error naming `what` after `timeoutMs`.
 */
export async function waitFor<T>(
  what: string,
  ask: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  timeoutMs = 40_000,
): Promise<T> {
  const giveUpAt = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== null && answer !== undefined && answer !== false) return answer;
    if (Date.now() > giveUpAt) throw new Error(`Waited ${timeoutMs} ms in vain for ${what}.`);
    await sleep(20);
  }
}
