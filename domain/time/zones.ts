import { Temporal } from 'temporal-polyfill';
import { unitMs } from '../filter/filter.ts';
import { instantOfText, readPath } from '../filter/value.ts';
import { limits } from '../limits.ts';

/**
 * Time zones and wall times. Only this module computes instants from a zone and a wall time;
 * PostgreSQL and Temporal's server only store and compare instants. Zones follow the rules of the
 * running Node.js (`process.versions.tz`), read through the polyfill of JavaScript's Temporal. When
 * the rules change, stored instants are not recomputed.
 */

/** A time of day as a wall clock shows it. */
export interface WallTime {
  hour: number;
  minute: number;
  second: number;
}

/** A day and a time of day, without a zone. Months and days count from 1. */
export interface LocalDateTime extends WallTime {
  year: number;
  month: number;
  day: number;
}

/** The days of a week, Monday first: the order in which the API names them. */
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

export type Weekday = (typeof weekdays)[number];

/**
 * IANA names have only these characters. Names that begin with SystemV are left over from old
 * versions of the database.
 */
const zoneName = /^(?!systemv\/)[a-z][a-z0-9_+/-]*$/;

/**
 * A time span in which the offset of a zone does not change: `from` ≤ instant < `until`, all in
 * milliseconds.
 */
interface Stretch {
  from: number;
  until: number;
  /** Milliseconds to add to an instant to get the wall time, written as UTC. */
  offset: number;
}

/**
 * Cache of time spans by zone name in lower case. A lookup is a thousand times faster than the
 * library. The cache stays small, because only valid names, about 600, are stored.
 */
const known = new Map<string, Stretch[]>();

/** Maximum number of cached time spans per zone. */
const stretchesMax = 32;

/**
 * Cache of texts that are not a time zone, because the library is slow to reject them. The newest
 * text is last.
 */
const unknown = new Set<string>();

const unknownMax = 1_000;

/**
 * Returns true for an IANA name or link in the time zone database, in any case: `Europe/Kyiv`,
 * `utc`, `EST5EDT`. Offsets (`+02:00`) and POSIX strings are not valid.
 */
export function isZone(text: string): boolean {
  return text.length <= limits.zoneChars && stretchesOf(text.toLowerCase()) !== null;
}

function stretchesOf(name: string): Stretch[] | null {
  const stretches = known.get(name);
  if (stretches) return stretches;
  if (!zoneName.test(name) || unknown.has(name)) return null;
  try {
    zoned(name, 0);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const [oldest] = unknown;
    if (unknown.size >= unknownMax && oldest !== undefined) unknown.delete(oldest);
    unknown.add(name);
    return null;
  }
  const added: Stretch[] = [];
  known.set(name, added);
  return added;
}

/**
 * Returns an instant as a date and time in a zone.
 * @throws RangeError for an unknown name
 */
function zoned(name: string, instant: number): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(name);
}

/**
 * Returns the time span that contains an instant.
 * @throws RangeError for an unknown zone
 */
function stretchAt(zone: string, instant: number): Stretch {
  const name = zone.toLowerCase();
  const stretches = stretchesOf(name);
  if (!stretches) throw new RangeError(`"${zone}" is not a time zone.`);
  const found = stretches.find(({ from, until }) => from <= instant && instant < until);
  if (found) return found;
  const shown = zoned(name, instant);
  // Search from just after the instant, so that a clock change at the instant itself is found.
  const from = zoned(name, instant + 1).getTimeZoneTransition('previous');
  const until = shown.getTimeZoneTransition('next');
  const added = {
    from: from?.epochMilliseconds ?? -Infinity,
    until: until?.epochMilliseconds ?? Infinity,
    offset: shown.offsetNanoseconds / 1e6,
  };
  if (stretches.length >= stretchesMax) stretches.shift();
  stretches.push(added);
  return added;
}

/** Maximum offset of a zone from UTC, in milliseconds. */
const offsetMax = 24 * 3_600_000;

/**
 * Returns the first instant at which the clock of the zone shows a wall time or a later one. So a
 * time in a gap of the clock means the first instant after the gap, and a time that occurs twice
 * means the first occurrence.
 * @throws RangeError for an unknown zone.
 */
export function instantOf(zone: string, local: LocalDateTime): Date {
  const wanted = millisecondsOf(local);
  let stretch = stretchAt(zone, wanted - offsetMax);
  while (wanted - stretch.offset >= stretch.until) stretch = stretchAt(zone, stretch.until);
  // If the clock jumped over the wanted time, the span begins after that time, and the beginning of
  // the span counts.
  return new Date(Math.max(stretch.from, wanted - stretch.offset));
}

/**
 * Returns the date and time in a zone at an instant; `weekday` is 1 for Monday to 7 for Sunday.
 * @throws RangeError for an unknown zone.
 */
export function wallTimeAt(zone: string, instant: Date): LocalDateTime & { weekday: number } {
  const local = localDateTimeOf(instant.getTime() + stretchAt(zone, instant.getTime()).offset);
  return { ...local, weekday: weekdayOf(local) };
}

/** Parses `HH:MM` or `HH:MM:SS`, from 00:00 to 23:59:59; null for any other text. */
export function parseWallTime(text: string): WallTime | null {
  const match = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(text);
  if (!match) return null;
  const [, hour, minute, second = 0] = match;
  return { hour: Number(hour), minute: Number(minute), second: Number(second) };
}

/**
 * Parses `YYYY-MM-DDTHH:MM` or `…:SS` without an offset, on a day that exists; null for any other
 * text.
 */
export function parseLocalDateTime(text: string): LocalDateTime | null {
  if (!/^[\d-]{10}T\d\d:\d\d(?::\d\d)?$/.test(text)) return null;
  const asUtc = instantOfText(text);
  return asUtc === null ? null : localDateTimeOf(asUtc);
}

/**
 * Returns the first instant after `after` at which the clock of a zone shows a wall time on one of
 * `days`.
 * @param days at least one
 */
export function nextInstant(
  zone: string,
  { time, days }: { time: WallTime; days: readonly Weekday[] },
  after: Date,
): Date {
  const today = wallTimeAt(zone, after);
  for (let ahead = 0; ; ahead++) {
    const local = { ...daysLater(today, ahead), ...time };
    if (!days.includes(weekdays[weekdayOf(local) - 1]!)) continue;
    const instant = instantOf(zone, local);
    if (instant > after) return instant;
  }
}

/** The intervals by which events are counted, in the wall time of a zone. */
export const intervals = ['day', 'hour', 'minute'] as const;

export type Interval = (typeof intervals)[number];

/**
 * Returns the start of the day, hour or minute that contains an instant. A day may have 23 or 25
 * hours. If the clock changes within an hour, the change also starts a new hour.
 * @throws RangeError for an unknown zone.
 */
export function startOfInterval(zone: string, interval: Interval, instant: Date): Date {
  if (interval === 'day') {
    return instantOf(zone, { ...wallTimeAt(zone, instant), hour: 0, minute: 0, second: 0 });
  }
  const { from, offset } = stretchAt(zone, instant.getTime());
  const length = unitMs[`${interval}s`];
  const start = Math.floor((instant.getTime() + offset) / length) * length - offset;
  return new Date(Math.max(from, start));
}

/**
 * Returns the start of the day, hour or minute after the one that contains an instant.
 * @throws RangeError for an unknown zone.
 */
export function nextInterval(zone: string, interval: Interval, instant: Date): Date {
  if (interval === 'day') {
    const tomorrow = daysLater(wallTimeAt(zone, instant), 1);
    return instantOf(zone, { ...tomorrow, hour: 0, minute: 0, second: 0 });
  }
  const { offset, until } = stretchAt(zone, instant.getTime());
  const length = unitMs[`${interval}s`];
  const next = (Math.floor((instant.getTime() + offset) / length) + 1) * length - offset;
  return new Date(Math.min(until, next));
}

/**
 * Returns the starts of the days, hours or minutes of a zone from one instant to another, oldest
 * first; null: there are more than `max`.
 * @throws RangeError for an unknown zone.
 */
export function startsWithin(
  { zone, interval }: { zone: string; interval: Interval },
  { from, to }: { from: Date; to: Date },
  max: number,
): Date[] | null {
  const starts: Date[] = [];
  let start = startOfInterval(zone, interval, from);
  while (start <= to) {
    if (starts.length === max) return null;
    starts.push(start);
    start = nextInterval(zone, interval, start);
  }
  return starts;
}

export interface ZonePolicy {
  timeZone: string;
  /**
   * The contact field with the zone, as `data.<path>`; null: all contacts use the project's zone.
   */
  contactTimeZoneField: string | null;
}

/**
 * Returns the zone of a contact: the text in the policy's field if it is a valid zone, otherwise
 * the project's zone.
 */
export function contactZone(data: unknown, { timeZone, contactTimeZoneField }: ZonePolicy): string {
  if (contactTimeZoneField === null) return timeZone;
  const value = readPath(data, contactTimeZoneField.split('.').slice(1));
  return typeof value === 'string' && isZone(value) ? value : timeZone;
}

/** Returns a wall time in milliseconds since 1970, as if it were in UTC. */
function millisecondsOf({ year, month, day, hour, minute, second }: LocalDateTime): number {
  // Date.UTC would read the year 50 as 1950.
  return (
    new Date(0).setUTCFullYear(year, month - 1, day) + (hour * 60 + minute) * 60_000 + second * 1000
  );
}

function localDateTimeOf(milliseconds: number): LocalDateTime {
  const at = new Date(milliseconds);
  return {
    year: at.getUTCFullYear(),
    month: at.getUTCMonth() + 1,
    day: at.getUTCDate(),
    hour: at.getUTCHours(),
    minute: at.getUTCMinutes(),
    second: at.getUTCSeconds(),
  };
}

/** Returns the weekday, from 1 (Monday) to 7 (Sunday). */
function weekdayOf(local: LocalDateTime): number {
  return new Date(millisecondsOf(local)).getUTCDay() || 7;
}

function daysLater(local: LocalDateTime, days: number): LocalDateTime {
  return localDateTimeOf(millisecondsOf({ ...local, day: local.day + days }));
}
