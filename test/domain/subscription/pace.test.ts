import { describe, expect, it } from 'vitest';
import { pressureOf, restMs } from '../../../domain/subscription/pace.ts';

describe('the pressure of others', () => {
  const demand = { isMailLeaving: false, statements: 0, processors: 2 };

  it('is none on an idle system', () => {
    expect(pressureOf(demand)).toBe(0);
  });

  it('is full while a campaign is sent', () => {
    expect(pressureOf({ ...demand, isMailLeaving: true })).toBe(1);
  });

  it('grows with the statements for each processor', () => {
    expect(pressureOf({ ...demand, statements: 1 })).toBe(1);
    expect(pressureOf({ ...demand, statements: 1, processors: 32 })).toBeCloseTo(1 / 16);
    expect(pressureOf({ ...demand, statements: 100, processors: 32 })).toBe(1);
  });
});

describe('the rest after work', () => {
  const full = { workedMs: 10, pressure: 1, sharing: 1, lagMs: 0 };

  it('is none where no other project needs the machine', () => {
    expect(restMs({ ...full, pressure: 0 })).toBe(0);
  });

  it('leaves a tenth of the time, however many share it', () => {
    expect(restMs(full)).toBe(90);
    expect(restMs({ ...full, sharing: 3 })).toBe(270);
  });

  it('becomes shorter the longer events wait, and is none after a minute', () => {
    expect(restMs({ ...full, lagMs: 30_000 })).toBe(45);
    expect(restMs({ ...full, lagMs: 60_000 })).toBe(0);
    expect(restMs({ ...full, lagMs: 3_600_000 })).toBe(0);
  });

  it('is a second at most', () => {
    expect(restMs({ ...full, workedMs: 60_000, sharing: 100 })).toBe(1_000);
  });
});
