import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { intervals, startsWithin, wallTimeAt } from '../../../domain/time/zones.ts';

/** Starts of days, hours and minutes in time zones. */

function starts(zone: string, interval: (typeof intervals)[number], from: string, to: string) {
  const within = startsWithin({ zone, interval }, { from: new Date(from), to: new Date(to) }, 100);
  return within?.map((start) => start.toISOString().replace(':00.000Z', 'Z'));
}

describe('startsWithin', () => {
  it('begins days at midnight of the zone, also those of 23 and 25 hours', () => {
    expect(starts('Europe/Kyiv', 'day', '2026-03-28T12:00:00Z', '2026-03-31T12:00:00Z')).toEqual([
      '2026-03-27T22:00Z',
      '2026-03-28T22:00Z',
      '2026-03-29T21:00Z',
      '2026-03-30T21:00Z',
    ]);
    expect(starts('Europe/Kyiv', 'day', '2026-10-24T21:00:00Z', '2026-10-25T22:00:00Z')).toEqual([
      '2026-10-24T21:00Z',
      '2026-10-25T22:00Z',
    ]);
  });

  it('begins a day after a midnight that the clock skips at the first time after it', () => {
    expect(starts('Africa/Cairo', 'day', '2026-04-23T12:00:00Z', '2026-04-24T12:00:00Z')).toEqual([
      '2026-04-22T22:00Z',
      '2026-04-23T22:00Z',
    ]);
    expect(wallTimeAt('Africa/Cairo', new Date('2026-04-23T22:00:00Z'))).toMatchObject({ hour: 1 });
  });

  it('leaves out a day that a zone has never had', () => {
    expect(starts('Pacific/Apia', 'day', '2011-12-29T12:00:00Z', '2011-12-31T12:00:00Z')).toEqual([
      '2011-12-29T10:00Z',
      '2011-12-30T10:00Z',
      '2011-12-31T10:00Z',
    ]);
  });

  it('begins hours when the clock of the zone does, an hour that is repeated twice', () => {
    expect(starts('Asia/Kolkata', 'hour', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z')).toEqual([
      '2025-12-31T23:30Z',
      '2026-01-01T00:30Z',
    ]);
    expect(starts('Europe/Kyiv', 'hour', '2026-10-25T00:00:00Z', '2026-10-25T01:59:00Z')).toEqual([
      '2026-10-25T00:00Z',
      '2026-10-25T01:00Z',
    ]);
  });

  it('cuts an hour in which the clock is moved by half an hour', () => {
    expect(
      starts('Australia/Lord_Howe', 'hour', '2026-04-04T14:00:00Z', '2026-04-04T15:59:00Z'),
    ).toEqual(['2026-04-04T14:00Z', '2026-04-04T15:00Z', '2026-04-04T15:30Z']);
  });

  it('includes both ends, and has none if the end is before the start', () => {
    expect(starts('UTC', 'minute', '2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z')).toEqual([
      '2026-01-01T00:00Z',
      '2026-01-01T00:01Z',
    ]);
    expect(starts('UTC', 'minute', '2026-01-01T00:00:00Z', '2025-12-31T00:00:00Z')).toEqual([]);
  });

  it('returns null for more than the maximum', () => {
    const from = new Date('2026-01-01T00:00:00Z');
    const range = { from, to: new Date('2026-01-03T23:00:00Z') };
    expect(startsWithin({ zone: 'UTC', interval: 'day' }, range, 3)).toHaveLength(3);
    expect(startsWithin({ zone: 'UTC', interval: 'day' }, range, 2)).toBeNull();
  });

  it('covers any period without gaps, whatever the zone', () => {
    const zone = fc.constantFrom(
      'UTC',
      'Europe/Kyiv',
      'America/Havana',
      'America/Sao_Paulo',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
      'Pacific/Apia',
    );
    const time = fc.date({
      min: new Date('1995-01-01T00:00:00Z'),
      max: new Date('2030-01-01T00:00:00Z'),
      noInvalidDate: true,
    });
    const longest = { day: 25, hour: 1.5, minute: 1 / 60 };
    const covered = { day: 120, hour: 48, minute: 1 };
    fc.assert(
      fc.property(zone, fc.constantFrom(...intervals), time, (name, interval, from) => {
        const to = new Date(from.getTime() + covered[interval] * 3_600_000);
        const points = startsWithin({ zone: name, interval }, { from, to }, 10_000)!;
        expect(points[0]! <= from).toBe(true);
        const all = [...points, to];
        for (const [index, start] of points.entries()) {
          const hours = (all[index + 1]!.getTime() - start.getTime()) / 3_600_000;
          expect(hours >= 0 && hours <= longest[interval]).toBe(true);
          const local = wallTimeAt(name, start);
          if (interval === 'day') expect(local.hour).toBeLessThanOrEqual(1);
          expect(local.second).toBe(0);
        }
      }),
      { numRuns: 200 },
    );
  });
});
