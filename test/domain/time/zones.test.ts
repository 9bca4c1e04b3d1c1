import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  contactZone,
  instantOf,
  isZone,
  nextInstant,
  parseLocalDateTime,
  parseWallTime,
  wallTimeAt,
  weekdays,
} from '../../../domain/time/zones.ts';

const at = (zone: string, text: string) => instantOf(zone, parseLocalDateTime(text)!).toISOString();

describe('isZone', () => {
  it.each([
    'Europe/Kyiv',
    'Europe/Kiev',
    'europe/KYIV',
    'Etc/GMT-5',
    'UTC',
    'gmt',
    'EST5EDT',
    'America/Argentina/ComodRivadavia',
    'W-SU',
  ])('takes %s', (name) => {
    expect(isZone(name)).toBe(true);
  });

  it.each([
    '',
    ' UTC',
    '+02:00',
    '-0500',
    'UTC+2',
    'GMT+5',
    'EST5',
    'EST5EDT,M3.2.0,M11.1.0',
    '<+03>-3',
    'Mars/X',
    'Etc/Unknown',
    // Names that only ICU knows.
    'PST',
    'ECT',
    'SystemV/EST5',
    'systemv/est5',
    'Europe/Berlin\n',
    `Europe/${'x'.repeat(60)}`,
    'x'.repeat(10_000),
  ])('refuses %j', (name) => {
    expect(isZone(name)).toBe(false);
  });
});

describe('parseWallTime', () => {
  it('takes hours and minutes, with or without seconds', () => {
    expect(parseWallTime('00:00')).toEqual({ hour: 0, minute: 0, second: 0 });
    expect(parseWallTime('23:59:59')).toEqual({ hour: 23, minute: 59, second: 59 });
  });

  it.each(['24:00', '9:00', '09:60', '09:00:60', '09:00Z', '09:00\n', 'noon', ''])(
    'refuses %j',
    (text) => {
      expect(parseWallTime(text)).toBeNull();
    },
  );
});

describe('parseLocalDateTime', () => {
  it('takes a day that exists', () => {
    const local = { year: 2028, month: 2, day: 29, hour: 9, minute: 5, second: 0 };
    expect(parseLocalDateTime('2028-02-29T09:05')).toEqual(local);
    expect(parseLocalDateTime('2028-02-29T09:05:07')).toEqual({ ...local, second: 7 });
  });

  it.each([
    '2026-02-30T09:00',
    '2027-02-29T09:00',
    '2026-02-01',
    '2026-02-01T09:00Z',
    '2026-02-01T09:00+02:00',
    '2026-02-01T24:00',
    '2026-02-01 09:00',
    '2026-02-01T09:00:00.5',
    'soon',
  ])('refuses %j', (text) => {
    expect(parseLocalDateTime(text)).toBeNull();
  });
});

describe('instantOf', () => {
  it.each([
    // Missing times: the first instant after the gap.
    ['Europe/Berlin', '2027-03-28T02:30', '2027-03-28T01:00:00.000Z'],
    ['Europe/Berlin', '2027-03-28T03:00', '2027-03-28T01:00:00.000Z'],
    ['America/New_York', '2027-03-14T02:00', '2027-03-14T07:00:00.000Z'],
    ['Australia/Sydney', '2027-10-03T02:59:59', '2027-10-02T16:00:00.000Z'],
    ['Australia/Lord_Howe', '2027-10-03T02:15', '2027-10-02T15:30:00.000Z'],
    ['Pacific/Apia', '2011-12-30T12:00', '2011-12-30T10:00:00.000Z'],
    ['Africa/Cairo', '2027-04-30T00:00', '2027-04-29T22:00:00.000Z'],
    // Repeated times: the first one.
    ['Europe/Berlin', '2027-10-31T02:30', '2027-10-31T00:30:00.000Z'],
    ['America/New_York', '2027-11-07T01:30', '2027-11-07T05:30:00.000Z'],
    ['Australia/Sydney', '2027-04-04T02:30', '2027-04-03T15:30:00.000Z'],
    ['Australia/Lord_Howe', '2027-04-04T01:45', '2027-04-03T14:45:00.000Z'],
    // Right after both.
    ['Europe/Berlin', '2027-10-31T03:00', '2027-10-31T02:00:00.000Z'],
    ['Asia/Kathmandu', '2027-01-01T00:00', '2026-12-31T18:15:00.000Z'],
    ['Etc/GMT-5', '2027-01-01T00:00', '2026-12-31T19:00:00.000Z'],
    ['UTC', '2027-01-01T00:00', '2027-01-01T00:00:00.000Z'],
  ])('%s %s', (zone, local, instant) => {
    expect(at(zone, local)).toBe(instant);
  });

  it('knows a renamed zone by both names', () => {
    expect(at('Europe/Kyiv', '2027-07-01T09:00')).toBe(at('Europe/Kiev', '2027-07-01T09:00'));
  });

  it('refuses what is no zone', () => {
    expect(() => at('+02:00', '2027-07-01T09:00')).toThrow(RangeError);
    expect(() => wallTimeAt('Mars/X', new Date(0))).toThrow(RangeError);
  });
});

describe('wallTimeAt', () => {
  it('has the weekday of the zone, Monday first', () => {
    // Monday in UTC.
    const instant = new Date('2026-11-23T03:04:05.678Z');
    const monday = { year: 2026, month: 11, day: 23, hour: 3, minute: 4, second: 5, weekday: 1 };
    expect(wallTimeAt('UTC', instant)).toEqual(monday);
    const sunday = { ...monday, day: 22, hour: 22, weekday: 7 };
    expect(wallTimeAt('America/New_York', instant)).toEqual(sunday);
  });

  it('is on the clock of its side at the instant of a change', () => {
    const change = Date.parse('2027-03-28T01:00:00.000Z');
    expect(wallTimeAt('Europe/Berlin', new Date(change)).hour).toBe(3);
    expect(wallTimeAt('Europe/Berlin', new Date(change - 1)).hour).toBe(1);
  });
});

describe('nextInstant', () => {
  const next = (
    zone: string,
    time: string,
    days: readonly (typeof weekdays)[number][],
    after: string,
  ) => nextInstant(zone, { time: parseWallTime(time)!, days }, new Date(after)).toISOString();

  it('is strictly later', () => {
    expect(next('UTC', '09:00', weekdays, '2026-11-23T08:59:59.999Z')).toBe(
      '2026-11-23T09:00:00.000Z',
    );
    expect(next('UTC', '09:00', weekdays, '2026-11-23T09:00:00.000Z')).toBe(
      '2026-11-24T09:00:00.000Z',
    );
  });

  it('goes by the days of the zone', () => {
    // Sunday evening in New York.
    const after = '2026-11-23T03:00:00.000Z';
    expect(next('America/New_York', '23:00', ['sun'], after)).toBe('2026-11-23T04:00:00.000Z');
    expect(next('America/New_York', '21:00', ['sun'], after)).toBe('2026-11-30T02:00:00.000Z');
    expect(next('America/New_York', '21:00', ['mon', 'sat'], after)).toBe(
      '2026-11-24T02:00:00.000Z',
    );
  });

  it('comes to a repeated time once, and to the end of a gap', () => {
    const first = '2027-10-31T00:30:00.000Z';
    expect(next('Europe/Berlin', '02:30', weekdays, '2027-10-30T12:00:00.000Z')).toBe(first);
    expect(next('Europe/Berlin', '02:30', weekdays, first)).toBe('2027-11-01T01:30:00.000Z');
    expect(next('Europe/Berlin', '02:30', weekdays, '2027-03-27T12:00:00.000Z')).toBe(
      '2027-03-28T01:00:00.000Z',
    );
  });
});

describe('contactZone', () => {
  const policy = { timeZone: 'Europe/Berlin', contactTimeZoneField: 'data.home.zone' };

  it('is the text at the field if it is a zone', () => {
    expect(contactZone({ home: { zone: 'asia/tokyo' } }, policy)).toBe('asia/tokyo');
  });

  it.each([null, {}, { home: 'Asia/Tokyo' }, { home: { zone: 7 } }, { home: { zone: '+09:00' } }])(
    'is the project’s for %j',
    (data) => {
      expect(contactZone(data, policy)).toBe('Europe/Berlin');
    },
  );

  it('is the project’s for everybody without a field', () => {
    expect(contactZone({ timeZone: 'Asia/Tokyo' }, { ...policy, contactTimeZoneField: null })).toBe(
      'Europe/Berlin',
    );
  });
});

describe('against another implementation', () => {
  const named = fc.constantFrom(...Intl.supportedValuesOf('timeZone'));
  const changing = fc.constantFrom(
    'Australia/Lord_Howe',
    'Africa/Casablanca',
    'Antarctica/Troll',
    'America/Santiago',
    'Pacific/Chatham',
    'Europe/Dublin',
  );
  const hour = 3_600_000;

  /** Returns the local time at an instant, as text that sorts by time, from Intl. */
  function clockOf(zone: string): (instant: number) => string {
    const format = new Intl.DateTimeFormat('sv-SE', {
      timeZone: zone,
      dateStyle: 'short',
      timeStyle: 'medium',
    });
    return (instant) => format.format(instant).replace(' ', 'T');
  }

  /**
   * Returns the first instant at or after a wall time, by searching quarters of an hour, then
   * seconds.
   */
  function expected(zone: string, local: string): number {
    const clock = clockOf(zone);
    const isBehind = (instant: number) => clock(instant) < local;
    let at = Date.parse(`${local}Z`) - 27 * hour;
    while (isBehind(at + hour / 4)) at += hour / 4;
    let [low, high] = [at, at + hour / 4];
    while (high - low > 1000) {
      const middle = low + Math.floor((high - low) / 2000) * 1000;
      if (isBehind(middle)) low = middle;
      else high = middle;
    }
    return high;
  }

  /** Days on which a zone changes its clock, and others. */
  const changes = fc.oneof(
    fc.constantFrom('2027-03-28', '2027-10-31', '2027-03-14', '2027-11-07', '2027-04-04'),
    fc.constantFrom('2027-10-03', '2027-09-26', '2027-09-05', '2011-12-30', '2016-10-30'),
    fc
      .date({ min: new Date('1990-01-01'), max: new Date('2037-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString().slice(0, 10)),
  );

  it('makes the instants of wall times', () => {
    fc.assert(
      fc.property(
        fc.oneof(named, changing),
        changes,
        fc.integer({ min: 0, max: 24 * 60 - 1 }),
        (zone, day, minutes) => {
          const local = `${day}T${new Date(minutes * 60_000).toISOString().slice(11, 19)}`;
          expect(at(zone, local)).toBe(new Date(expected(zone, local)).toISOString());
        },
      ),
      { numRuns: 200 },
    );
  });

  it('shows the same clock', () => {
    const two = (number: number) => String(number).padStart(2, '0');
    fc.assert(
      fc.property(
        fc.oneof(named, changing),
        fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2040, 0) }),
        (zone, instant) => {
          const { year, month, day, ...time } = wallTimeAt(zone, new Date(instant));
          const clock = [time.hour, time.minute, time.second].map(two).join(':');
          expect(`${year}-${two(month)}-${two(day)}T${clock}`).toBe(clockOf(zone)(instant));
          const weekday = new Date(`${year}-${two(month)}-${two(day)}T00:00Z`).getUTCDay() || 7;
          expect(time.weekday).toBe(weekday);
        },
      ),
      { numRuns: 200 },
    );
  });
});
