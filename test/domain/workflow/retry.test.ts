import { describe, expect, it } from 'vitest';
import { retryDelayMs, sendAttemptsMax } from '../../../domain/workflow/retry.ts';

describe('a message the provider put off', () => {
  it('is tried up to 8 times', () => {
    expect(sendAttemptsMax).toBe(8);
  });

  it('waits 2 s, then twice as long each time', () => {
    const delays = Array.from({ length: 7 }, (_, index) => retryDelayMs(index + 1) / 1000);
    expect(delays).toEqual([2, 4, 8, 16, 32, 64, 128]);
  });

  it('never waits longer than 5 minutes', () => {
    expect([8, 9, 10, 100, 5000].map(retryDelayMs)).toEqual([
      256_000, 300_000, 300_000, 300_000, 300_000,
    ]);
  });
});
