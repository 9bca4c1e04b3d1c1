import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { announced } from '../../../dev/servers/progress.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe('announced', () => {
  it('says nothing about work of less than 3 seconds', async () => {
    const print = vi.fn();
    await expect(announced(() => 'it', Promise.resolve('done'), print)).resolves.toBe('done');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(print).not.toHaveBeenCalled();
  });

  it('says after 3, 6, 12 seconds and then every 15 what it waits for', async () => {
    const lines: string[] = [];
    const { promise, resolve } = deferred();
    const waiting = announced(
      () => 'PostgreSQL',
      promise,
      (line) => lines.push(line),
    );
    await vi.advanceTimersByTimeAsync(40_000);
    resolve();
    await waiting;
    expect(lines.map((line) => line.replace('Still starting PostgreSQL ', ''))).toEqual([
      '(3 s) …',
      '(6 s) …',
      '(12 s) …',
      '(24 s) …',
      '(39 s) …',
    ]);
  });
});

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
