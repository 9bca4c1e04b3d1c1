import { instantOfText, readPath } from '../filter/value.ts';

/**
 * Time zones and wall times. Every instant that follows from a zone and a wall time is made here;
 * PostgreSQL and Temporal only store and compare instants. The rules of the zones are those of the
 * running Node.js (`process.versions.tz`); a stored instant is not made anew when they change.
 */

/** A time of day as a clock on the wall shows it. */
export interface WallTime {
  hour: number;
  minute: number;
  second: number;
}

/** A day and a wall time of it, without a zone. Months and days count from 1. */
export interface LocalDateTime extends WallTime {
  year: number;
  month: number;
  day: number;
}

/** The days of a week, Monday first: the order in which the API names them. */
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

export type Weekday = (typeof weekdays)[number];

/** Most characters of the name of a zone. */
const zoneChars = 64;

/** An IANA name has no other characters. */
const zoneName = /^[a-z][a-z0-9_+/-]*$/;

/** What ICU, which Node.js asks, knows beside the names of IANA. */
const icuName =
  /^(?:systemv\/.*|act|aet|agt|art|ast|bet|bst|cat|cnt|cst|ctt|eat|ect|iet|ist|jst|mit|net|nst|plt|pnt|prt|pst|sst|vst)$/;

/** A time in which a zone keeps one offset: `from` ≤ instant < `until`, all in milliseconds. */
interface Stretch {
  from: number;
  until: number;
  /** What to add to an instant to get the wall time as if it were UTC. */
  offset: number;
}

/**
 * What has been asked of each zone, by its name in lower case. Bounded, as there are about 600 names:
 * other texts are not kept.
 */
const known = new Map<string, Stretch[]>();

/** Stretches kept per zone. */
const stretchesMax = 32;

/** Formats kept: 50 KB each, and made in a fifth of a millisecond. */
const formatsMax = 100;
const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * True for an IANA name or link of the service's database, in any case: `Europe/Kyiv`, `utc`,
 * `EST5EDT`. Offsets (`+02:00`) and POSIX strings are none.
 */
export function isZone(text: string): boolean {
  return text.length <= zoneChars && stretchesOf(text.toLowerCase()) !== null;
}

function stretchesOf(name: string): Stretch[] | null {
  const stretches = known.get(name);
  if (stretches) return stretches;
  if (!zoneName.test(name) || icuName.test(name)) return null;
  try {
    formatOf(name);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
  const added: Stretch[] = [];
  known.set(name, added);
  return added;
}

/** @throws RangeError for a name that is unknown. */
function formatOf(name: string): Intl.DateTimeFormat {
  const kept = formats.get(name);
  if (kept) return kept;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const [oldest] = formats.keys();
  if (formats.size >= formatsMax && oldest !== undefined) formats.delete(oldest);
  formats.set(name, format);
  return format;
}

/** What the clock of a zone is ahead of UTC at an instant, in milliseconds. */
function offsetAt(name: string, instant: number): number {
  const shown: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const { type, value } of formatOf(name).formatToParts(instant)) shown[type] = value;
  const number = (type: Intl.DateTimeFormatPartTypes) => Number(shown[type]);
  const year = shown.era === 'AD' ? number('year') : 1 - number('year');
  const local = millisecondsOf({
    year,
    month: number('month'),
    day: number('day'),
    hour: number('hour'),
    minute: number('minute'),
    second: number('second'),
  });
  // The clock shows whole seconds.
  return local - Math.floor(instant / 1000) * 1000;
}

/**
 * Offsets are compared this far apart: 12 days. A zone that changed its clock twice in between, back to
 * where it was, would be misread; the shortest summer time of the world, around Ramadan, ends after a
 * month.
 */
const blockMs = 2 ** 30;

/** The time around an instant, of a block at most, in which a zone keeps one offset. */
function stretchOf(name: string, instant: number): Stretch {
  const start = Math.floor(instant / blockMs) * blockMs;
  const end = start + blockMs;
  const [before, after] = [offsetAt(name, start), offsetAt(name, end)];
  if (before === after) return { from: start, until: end, offset: before };
  let [low, high] = [start, end];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(name, middle) === before) low = middle;
    else high = middle;
  }
  return instant < high
    ? { from: start, until: high, offset: before }
    : { from: high, until: end, offset: after };
}

/** @throws RangeError for a zone that is none. */
function stretchAt(zone: string, instant: number): Stretch {
  const name = zone.toLowerCase();
  const stretches = stretchesOf(name);
  if (!stretches) throw new RangeError('Is no time zone.');
  const found = stretches.find(({ from, until }) => from <= instant && instant < until);
  if (found) return found;
  const added = stretchOf(name, instant);
  if (stretches.length >= stretchesMax) stretches.shift();
  stretches.push(added);
  return added;
}

/** More than any zone is ahead of UTC, or behind it. */
const offsetMax = 24 * 3_600_000;

/**
 * The instant of a wall time: the first one at which the clock of the zone is not behind it. So a time
 * that a change of the clock leaves out means the first instant after the gap, and a time that comes
 * twice means the first.
 * @throws RangeError for a zone that is none.
 */
export function instantOf(zone: string, local: LocalDateTime): Date {
  const wanted = millisecondsOf(local);
  let stretch = stretchAt(zone, wanted - offsetMax);
  while (wanted - stretch.offset >= stretch.until) stretch = stretchAt(zone, stretch.until);
  // Behind the beginning of the stretch: its clock was set past the wanted time there.
  return new Date(Math.max(stretch.from, wanted - stretch.offset));
}

/**
 * What calendar and clock of a zone show at an instant; `weekday` is 1 for Monday to 7 for Sunday.
 * @throws RangeError for a zone that is none.
 */
export function wallTimeAt(zone: string, instant: Date): LocalDateTime & { weekday: number } {
  const local = localDateTimeOf(instant.getTime() + stretchAt(zone, instant.getTime()).offset);
  return { ...local, weekday: weekdayOf(local) };
}

/** `HH:MM` or `HH:MM:SS`, 00:00 to 23:59:59; null for other text. */
export function parseWallTime(text: string): WallTime | null {
  const match = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(text);
  if (!match) return null;
  const [, hour, minute, second = 0] = match;
  return { hour: Number(hour), minute: Number(minute), second: Number(second) };
}

/**
 * `YYYY-MM-DDTHH:MM` or `…:SS`, of a day that exists, without an offset; null for other text.
 */
export function parseLocalDateTime(text: string): LocalDateTime | null {
  if (!/^[\d-]{10}T\d\d:\d\d(?::\d\d)?$/.test(text)) return null;
  const asUtc = instantOfText(text);
  return asUtc === null ? null : localDateTimeOf(asUtc);
}

/**
 * The next instant, after `after`, at which the clock of a zone comes to a wall time on one of some
 * days.
 * @param days at least one.
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

/** What says in which zone a contact is. */
export interface ZonePolicy {
  timeZone: string;
  /** `data.<path>`; null: everybody is in the project's zone. */
  contactTimeZoneField: string | null;
}

/** The zone of a contact: the text at the policy's field if it is a zone, else the project's. */
export function contactZone(data: unknown, { timeZone, contactTimeZoneField }: ZonePolicy): string {
  if (contactTimeZoneField === null) return timeZone;
  const value = readPath(data, contactTimeZoneField.split('.').slice(1));
  return typeof value === 'string' && isZone(value) ? value : timeZone;
}

/** The wall time as if it were UTC, in milliseconds since 1970. */
function millisecondsOf({ year, month, day, hour, minute, second }: LocalDateTime): number {
  // Not Date.UTC, for which the year 50 is 1950.
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

/** 1 for Monday to 7 for Sunday. */
function weekdayOf(local: LocalDateTime): number {
  return new Date(millisecondsOf(local)).getUTCDay() || 7;
}

function daysLater(local: LocalDateTime, days: number): LocalDateTime {
  return localDateTimeOf(millisecondsOf({ ...local, day: local.day + days }));
}
