import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quietUntil, secondOfDay, secondsOfDay } from '../../../domain/mail/quiet-hours.ts';
import type { QuietHours } from '../../../domain/mail/send-policy.ts';
import { wallTimeAt, weekdays } from '../../../domain/time/zones.ts';

const until = (zone: string, now: string, from: string, to: string, days = [...weekdays]) =>
  quietUntil({ from, to, days }, zone, new Date(now))?.toISOString() ?? null;

describe('quiet hours', () => {
  // 23 November 2026 is a Monday.
  it.each([
    ['22:00', '08:00', '2026-11-23T21:59:59.999Z', null],
    ['22:00', '08:00', '2026-11-23T22:00:00.000Z', '2026-11-24T08:00:00.000Z'],
    ['22:00', '08:00', '2026-11-24T07:59:59.500Z', '2026-11-24T08:00:00.000Z'],
    ['22:00', '08:00', '2026-11-24T08:00:00.000Z', null],
    ['12:00', '13:30:15', '2026-11-23T12:00:00.250Z', '2026-11-23T13:30:15.000Z'],
    ['20:00', '24:00', '2026-11-23T23:00:00.000Z', '2026-11-24T00:00:00.000Z'],
  ])('from %s to %s at %s last until %s', (from, to, now, expected) => {
    expect(until('UTC', now, from, to)).toBe(expected);
  });

  it('past midnight belong to the day on which they begin', () => {
    const friday = ['fri' as const];
    expect(until('UTC', '2026-11-28T03:00:00Z', '22:00', '08:00', friday)).toBe(
      '2026-11-28T08:00:00.000Z',
    );
    expect(until('UTC', '2026-11-27T03:00:00Z', '22:00', '08:00', friday)).toBe(null);
    expect(until('UTC', '2026-11-28T23:00:00Z', '22:00', '08:00', friday)).toBe(null);
  });

  it('of neighbouring days are one', () => {
    const weekend = ['sat' as const, 'sun' as const];
    expect(until('UTC', '2026-11-28T10:00:00Z', '00:00', '24:00', weekend)).toBe(
      '2026-11-30T00:00:00.000Z',
    );
  });

  it('end with the change of the clock that leaves out their end', () => {
    // At 01:00 UTC the clock of Berlin goes from 02:00 to 03:00.
    expect(until('Europe/Berlin', '2027-03-28T00:30:00Z', '01:00', '02:30')).toBe(
      '2027-03-28T01:00:00.000Z',
    );
    expect(until('Europe/Berlin', '2027-03-28T00:30:00Z', '01:00', '06:00')).toBe(
      '2027-03-28T04:00:00.000Z',
    );
  });

  it('hold in both of two hours that show the same', () => {
    // At 01:00 UTC the clock of Berlin goes from 03:00 back to 02:00.
    const end = (now: string) => until('Europe/Berlin', now, '02:00', '02:30');
    expect(end('2027-10-31T00:10:00Z')).toBe('2027-10-31T00:30:00.000Z');
    expect(end('2027-10-31T00:40:00Z')).toBe(null);
    expect(end('2027-10-31T01:10:00Z')).toBe('2027-10-31T01:30:00.000Z');
    // The window has not ended when the clock goes back.
    expect(until('Europe/Berlin', '2027-10-31T00:10:00Z', '02:00', '03:00')).toBe(
      '2027-10-31T02:00:00.000Z',
    );
  });

  it('end at the first quarter of an hour whose wall time lies in no window', () => {
    const quarter = fc.integer({ min: 0, max: 95 }).map((at) => {
      const [hours, minutes] = [Math.floor(at / 4), (at % 4) * 15];
      return `${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`;
    });
    const zones = [
      'UTC',
      'Europe/Berlin',
      'America/St_Johns',
      'Australia/Lord_Howe',
      'Asia/Kolkata',
    ];
    const quarterMs = 15 * 60_000;
    const start = Date.UTC(2027, 2, 1) / quarterMs;
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        quarter,
        quarter,
        fc.subarray([...weekdays], { minLength: 1 }),
        fc.integer({ min: start, max: start + 4 * 24 * 365 }),
        (zone, from, to, days, at) => {
          if (from === to) return;
          const quiet = { from, to, days };
          let expected = at * quarterMs;
          while (isQuiet(quiet, zone, expected)) expected += quarterMs;
          const found = quietUntil(quiet, zone, new Date(at * quarterMs));
          expect(found?.getTime() ?? at * quarterMs).toBe(expected);
        },
      ),
      { numRuns: 500 },
    );
  });
});

function isQuiet({ from, to, days }: QuietHours, zone: string, instant: number): boolean {
  const { weekday, hour, minute } = wallTimeAt(zone, new Date(instant));
  const now = hour * 3600 + minute * 60;
  const [start, end] = [secondOfDay(from), secondOfDay(to) || secondsOfDay];
  const begins = (day: number) => days.includes(weekdays[(day + 6) % 7]!);
  if (start < end) return begins(weekday) && now >= start && now < end;
  return (begins(weekday) && now >= start) || (begins(weekday - 1) && now < end);
}
