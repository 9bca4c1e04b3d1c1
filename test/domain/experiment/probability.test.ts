import { describe, expect, test } from 'vitest';
import { probabilitiesBest } from '../../../domain/experiment/probability.ts';

/** The exact chance that Beta(1 + b) > Beta(1 + a), by the sum of Evan Miller (2014). */
function exactSecondBest(a: { sent: number; hits: number }, b: typeof a): number {
  const [alphaA, betaA] = [a.hits + 1, a.sent - a.hits + 1];
  const [alphaB, betaB] = [b.hits + 1, b.sent - b.hits + 1];
  let total = 0;
  for (let i = 0; i < alphaB; i++) {
    total += Math.exp(
      logBeta(alphaA + i, betaA + betaB) -
        Math.log(betaB + i) -
        logBeta(1 + i, betaB) -
        logBeta(alphaA, betaA),
    );
  }
  return total;
}

function logFactorial(n: number): number {
  let sum = 0;
  for (let i = 2; i <= n; i++) sum += Math.log(i);
  return sum;
}

function logBeta(a: number, b: number): number {
  return logFactorial(a - 1) + logFactorial(b - 1) - logFactorial(a + b - 1);
}

describe('the chance that an arm is the best', () => {
  test.each([
    [
      { sent: 0, hits: 0 },
      { sent: 0, hits: 0 },
    ],
    [
      { sent: 100, hits: 0 },
      { sent: 100, hits: 1 },
    ],
    [
      { sent: 1_000, hits: 50 },
      { sent: 1_000, hits: 60 },
    ],
    [
      { sent: 100, hits: 100 },
      { sent: 20, hits: 19 },
    ],
    [
      { sent: 5_000, hits: 3 },
      { sent: 40, hits: 0 },
    ],
    [
      { sent: 20_000, hits: 400 },
      { sent: 150, hits: 5 },
    ],
  ])('agrees with the exact one for %o and %o', (a, b) => {
    const [, second] = probabilitiesBest([a, b]);
    expect(second).toBeCloseTo(exactSecondBest(a, b), 2);
  });

  test('is shared by equal arms, and adds up to one', () => {
    const chances = probabilitiesBest(Array.from({ length: 5 }, () => ({ sent: 300, hits: 30 })));
    for (const chance of chances) expect(chance).toBeCloseTo(0.2, 3);
  });

  test('is near one for a clear difference among millions, in a few milliseconds', () => {
    const started = performance.now();
    const chances = probabilitiesBest([
      { sent: 5_000_000, hits: 100_000 },
      { sent: 5_000_000, hits: 102_000 },
      { sent: 10, hits: 0 },
    ]);
    expect(performance.now() - started).toBeLessThan(1_000);
    expect(chances[0]! + chances[1]! + chances[2]!).toBeCloseTo(1, 6);
    expect(chances[1]! / (chances[0]! + chances[1]!)).toBeGreaterThan(0.99);
  });
});
