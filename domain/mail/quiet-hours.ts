import { wallTimeAt, weekdays } from '../time/zones.ts';
import type { QuietHours } from './send-policy.ts';

/** Computes when quiet hours end for a contact. */

export const secondsOfDay = 24 * 3600;

/** Returns a wall time as seconds since midnight; `24:00` is the end of the day. */
export function secondOfDay(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(':').map(Number);
  return (hours * 60 + minutes) * 60 + seconds;
}

/**
 * Maximum number of quiet windows and clock changes that can follow one another without a gap. A
 * week has fewer, and quiet hours cannot cover a whole week.
 */
const stretchesMax = 20;

/**
 * Returns the first instant after `now` that is in no quiet window; null: `now` is in no quiet
 * window. Each instant counts by the wall time in the zone, so an hour that occurs twice may be
 * quiet twice.
 */
export function quietUntil(quiet: QuietHours, zone: string, now: Date): Date | null {
  let at = now.getTime();
  for (let stretch = 0; stretch < stretchesMax; stretch++) {
    const left = quietLeft(quiet, zone, at);
    if (left === 0) break;
    // The clock changes before the window ends, so the rest is computed again from there.
    at = firstChange(zone, at, at + left) ?? at + left;
  }
  return at === now.getTime() ? null : new Date(at);
}

/**
 * Returns the milliseconds until the quiet window ends, assuming no clock change; 0: the instant is
 * in no quiet window.
 */
function quietLeft({ from, to, days }: QuietHours, zone: string, instant: number): number {
  const { weekday, hour, minute, second } = wallTimeAt(zone, new Date(instant));
  const now = (hour * 60 + minute) * 60 + second;
  const [start, end] = [secondOfDay(from), secondOfDay(to)];
  const begins = (day: number) =>
    days.includes(weekdays[(day + weekdays.length) % weekdays.length]!);
  const [today, yesterday] = [weekday - 1, weekday - 2];
  const isOvernight = start > end;
  const ends =
    begins(today) && now >= start && (isOvernight || now < end)
      ? end + (isOvernight ? secondsOfDay : 0)
      : begins(yesterday) && isOvernight && now < end
        ? end
        : now;
  const part = ((instant % 1000) + 1000) % 1000;
  return ends === now ? 0 : (ends - now) * 1000 - part;
}

/**
 * Returns the first instant in a span at which the clock of the zone changes; null: the zone has
 * the same offset at both ends.
 */
function firstChange(zone: string, from: number, to: number): number | null {
  const offset = offsetAt(zone, from);
  if (offsetAt(zone, to) === offset) return null;
  let [before, after] = [from, to];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetAt(zone, middle) === offset) before = middle;
    else after = middle;
  }
  return after;
}

/** Returns the zone's offset from UTC in milliseconds. */
function offsetAt(zone: string, instant: number): number {
  const { year, month, day, hour, minute, second } = wallTimeAt(zone, new Date(instant));
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instant / 1000) * 1000;
}
