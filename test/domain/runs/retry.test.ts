import { describe, expect, it } from 'vitest';
import { retryDelayMs } from '../../../domain/runs/retry.ts';

describe('a message the provider put off', () => {
  it('waits 2 s, then twice as long each time', () => {
    const delays = Array.from({ length: 7 }, (_, index) => retryDelayMs(index + 1) / 1000);
    expect(delays).toEqual([2, 4, 8, 16, 32, 64, 128]);
  });

  it('never waits longer than 15 minutes', () => {
    expect([9, 10, 11, 100, 5000].map(retryDelayMs)).toEqual([
      512_000, 900_000, 900_000, 900_000, 900_000,
    ]);
  });
});
