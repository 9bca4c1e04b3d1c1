import { type FieldCode } from '../errors.ts';
import { instantOf, wallTimeAt } from './zones.ts';

/**
 * Computes the times of a recurring trigger, from a simplified form of cron, in the wall time of a
 * zone.
 */

export interface Cron {
  /** Times of day, in minutes since midnight, the earliest first. */
  minutes: number[];
  /** Days of the month; null: all. */
  days: Set<number> | null;
  months: Set<number>;
  /** From 1 (Monday) to 7 (Sunday); null: all. */
  weekdays: Set<number> | null;
}

/** Maximum number of characters of a cron expression. */
const charsMax = 100;

/** Minimum number of minutes between two times of day, also across midnight. */
const gapMin = 15;

const dayMinutes = 24 * 60;

const monthNames = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const weekdayNames = 'sun mon tue wed thu fri sat'.split(' ');

interface FieldRule {
  name: string;
  min: number;
  max: number;
  /** Names of the values, from `min` on. */
  names?: readonly string[];
}

const fieldRules: readonly FieldRule[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, names: monthNames },
  // Both 0 and 7 are Sunday.
  { name: 'day of week', min: 0, max: 7, names: weekdayNames },
];

export interface CronFault {
  code: Extract<FieldCode, 'too_big' | 'invalid_string' | 'custom' | 'too_small'>;
  message: string;
}

/**
 * Parses a cron text: minute, hour, day of month, month and day of week. Each field is `*`, `a` or
 * `a-b`, or a list of these; `*` and `a-b` may have a step, as in `a-b/n`. Names of months and
 * weekdays may be in any case.
 */
export function parseCron(given: string): Cron | CronFault {
  const text = given.trim();
  if (text.length > charsMax) {
    return {
      code: 'too_big',
      message: `Must have at most ${charsMax} characters, not ${text.length}.`,
    };
  }
  const parts = text.split(/ +/);
  const sets = parts.map((part, index) => parseField(part, fieldRules[index]));
  if (parts.length !== fieldRules.length) {
    const message =
      `Must have five parts, not ${text === '' ? 0 : parts.length}: minute, hour, day of month, month, day of week, ` +
      'such as 0 9 * * mon-fri.';
    return { code: 'invalid_string', message };
  }
  const [minutes, hours, days, months, weekdays] = sets;
  if (!minutes || !hours || !days || !months || !weekdays) {
    const wrong = sets.indexOf(null);
    return { code: 'invalid_string', message: partText(parts[wrong] ?? '', fieldRules[wrong]!) };
  }
  const [, , dayText, , weekdayText] = parts;
  if (dayText !== '*' && weekdayText !== '*') {
    const message = 'Set only one of day of month and day of week; the other must be *.';
    return { code: 'invalid_string', message };
  }
  const cron: Cron = {
    minutes: [...hours].flatMap((hour) => [...minutes].map((minute) => hour * 60 + minute)),
    days: dayText === '*' ? null : days,
    months,
    weekdays: weekdayText === '*' ? null : new Set([...weekdays].map((day) => day || 7)),
  };
  cron.minutes.sort((one, other) => one - other);
  if (!everMatches(cron))
    return { code: 'custom', message: 'Never matches: no year has such a day.' };
  if (smallestGap(cron.minutes) < gapMin) {
    return {
      code: 'too_small',
      message: `Must leave at least ${gapMin} minutes between two times, also across midnight.`,
    };
  }
  return cron;
}

function partText(part: string, { name, min, max, names }: FieldRule): string {
  const words = names ? `, or ${names[0]} to ${names.at(-1)}` : '';
  return (
    `The ${name} "${part}" is not valid. It can be ${min} to ${max}${words}; a range (${min}-${min + 4}), ` +
    `a list (${min},${min + 4}), every n-th (*/5), or all (*).`
  );
}

function parseField(text: string, rule: FieldRule | undefined): Set<number> | null {
  const values = new Set<number>();
  for (const item of text.split(',')) {
    const range = rule && parseItem(item, rule);
    if (!range) return null;
    for (let value = range.from; value <= range.to; value += range.step) values.add(value);
  }
  return values;
}

function parseItem(
  text: string,
  rule: FieldRule,
): { from: number; to: number; step: number } | null {
  const match = /^(?:(\*)|([a-z0-9]+)(?:-([a-z0-9]+))?)(?:\/(\d{1,4}))?$/i.exec(text);
  if (!match) return null;
  const [, all, first = '', last, every] = match;
  // A step is only allowed after a range.
  if (every !== undefined && (Number(every) === 0 || (!all && last === undefined))) return null;
  const step = Number(every ?? 1);
  // The weekday 7 is left out, because it is the same day as 0.
  if (all) return { from: rule.min, to: Math.min(rule.max, rule.max === 7 ? 6 : rule.max), step };
  const from = valueOf(first, rule);
  const to = last === undefined ? from : valueOf(last, rule);
  return from === null || to === null || from > to ? null : { from, to, step };
}

function valueOf(text: string, { min, max, names = [] }: FieldRule): number | null {
  const named = names.indexOf(text.toLowerCase());
  if (named >= 0) return min + named;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : null;
}

function everMatches({ days, months }: Cron): boolean {
  const lengths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return (
    days === null || [...months].some((month) => Math.min(...days) <= (lengths[month - 1] ?? 0))
  );
}

function smallestGap(minutes: readonly number[]): number {
  const gaps = minutes.map(
    (minute, index) => (minutes[index + 1] ?? minutes[0]! + dayMinutes) - minute,
  );
  return Math.min(...gaps);
}

/** Maximum number of days to search. The next 29th of February may be eight years away. */
const daysAheadMax = 9 * 366;

/**
 * Returns the next planned instants of a cron text in a zone, strictly after `after`. A wall time
 * that a clock change skips means the first instant after the gap, and a wall time that occurs
 * twice means the first occurrence. Wall times with the same instant count once.
 */
export function nextInstants(cron: Cron, zone: string, after: Date, count: number): Date[] {
  const found: Date[] = [];
  const today = wallTimeAt(zone, after);
  let last = after.getTime();
  // Starts at the day before, because a clock may be set back over midnight.
  for (let ahead = -1; ahead <= daysAheadMax && found.length < count; ahead++) {
    const date = new Date(Date.UTC(today.year, today.month - 1, today.day + ahead));
    if (!matches(cron, date)) continue;
    const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
    for (const minutes of cron.minutes) {
      const time = { hour: Math.floor(minutes / 60), minute: minutes % 60, second: 0 };
      const instant = instantOf(zone, { year, month, day, ...time });
      if (instant.getTime() <= last || found.length === count) continue;
      last = instant.getTime();
      found.push(instant);
    }
  }
  return found;
}

function matches({ days, months, weekdays }: Cron, date: Date): boolean {
  return (
    months.has(date.getUTCMonth() + 1) &&
    (days?.has(date.getUTCDate()) ?? true) &&
    (weekdays?.has(date.getUTCDay() || 7) ?? true)
  );
}

/** Returns the next planned instants of a trigger; none if the trigger has no cron or no zone. */
export function plannedInstants(
  { cron, timeZone }: { cron?: string | undefined; timeZone?: string | undefined },
  after: Date,
  count: number,
): Date[] {
  const parsed = cron === undefined ? null : parseCron(cron);
  if (!parsed || 'code' in parsed || timeZone === undefined) return [];
  return nextInstants(parsed, timeZone, after, count);
}
