import { z } from 'zod';
import { invalidField, whenRight } from '../../domain/errors.ts';
import { unitMs } from '../../domain/filter/filter.ts';
import { instantOf, nextInterval, startOfInterval, wallTimeAt } from '../../domain/time/zones.ts';
import { fault, momentOf, textRead } from '../http/schemas.ts';
import { daysByDefault } from './date-range.ts';

/** Queries for a period. Its bounds are times, or days in a time zone. */

interface DayOrTime {
  /** The time; for a day, its start in UTC. */
  at: Date;
  isDay: boolean;
}

const DayOrTime = textRead(
  (text): DayOrTime | null => {
    const at = momentOf(text);
    return at && { at, isDay: !text.includes('T') };
  },
  'invalid_date',
  'Must be a date or a date-time with an offset, such as 2026-01-31 or 2026-01-31T09:00:00Z.',
)
  .optional()
  .meta({ description: 'A date-time with an offset, or a day of `timeZone`' });

interface Range {
  startDate?: DayOrTime | undefined;
  endDate?: DayOrTime | undefined;
}

const isAfterEnd = 'Must not be after `endDate`.';

/** Returns the schema of a query with `startDate` and `endDate`, in addition to its own fields. */
export function zonedRangeQuery<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object({ startDate: DayOrTime, endDate: DayOrTime, ...shape }).refine(
    (query) => {
      const { startDate, endDate } = query as Range;
      // A day and a time can be compared only when the time zone is known.
      const areAlike = startDate && endDate && startDate.isDay === endDate.isDay;
      return !areAlike || startDate.at <= endDate.at;
    },
    { path: ['startDate'], ...fault('custom', isAfterEnd), ...whenRight('startDate', 'endDate') },
  );
}

/**
 * Returns the bounds in a query, both included.
 * @throws Problem VALIDATION_ERROR if the start is after the end
 */
export function zonedBounds(
  { startDate, endDate }: Range,
  zone: string,
): { from: Date | undefined; to: Date | undefined } {
  const from = startDate && startOf(zone, startDate);
  const to = endDate && endOf(zone, endDate);
  if (from && to && from > to) {
    const start = `in ${zone} it begins at ${from.toISOString()}`;
    throw invalidField('startDate', 'custom', `Must not be after \`endDate\`: ${start}.`);
  }
  return { from, to };
}

/** Returns the start of the last 30 days. The day of `until` is the last of them. */
export function startOfLastDays(zone: string, until: Date): Date {
  // Days are subtracted from noon, so that a clock change cannot lead to another day.
  const noon = startOfInterval(zone, 'day', until).getTime() + unitMs.days / 2;
  return startOfInterval(zone, 'day', new Date(noon - (daysByDefault - 1) * unitMs.days));
}

function startOf(zone: string, { at, isDay }: DayOrTime): Date {
  return isDay ? instantOf(zone, wallTimeAt('UTC', at)) : at;
}

function endOf(zone: string, { at, isDay }: DayOrTime): Date {
  if (!isDay) return at;
  return lastOfDay(zone, startOf(zone, { at, isDay }));
}

/** Returns the last millisecond of the day of an instant. */
export function lastOfDay(zone: string, instant: Date): Date {
  return new Date(nextInterval(zone, 'day', instant).getTime() - 1);
}
