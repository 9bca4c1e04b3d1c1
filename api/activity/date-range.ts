import { z } from 'zod';
import { unitMs } from '../../domain/filter/filter.ts';
import { startOfDay } from '../../domain/filter/value.ts';
import { fault, momentOf, textRead } from '../http/schemas.ts';
import { whenRight } from '../../domain/errors.ts';

/** Number of days before the end of a range at which it starts by default. */
export const daysByDefault = 30;

const QueryTime = textRead(
  momentOf,
  'invalid_date',
  'Must be a date or a date-time with an offset, such as 2026-01-31 or 2026-01-31T09:00:00Z.',
)
  .optional()
  .meta({ description: 'A date-time with an offset, or a date: its first moment' });

interface DateRange {
  startDate?: Date | undefined;
  endDate?: Date | undefined;
}

/**
 * Returns the schema of a query with `startDate` and `endDate`, in addition to its own fields. The
 * start must not be after the end.
 */
export function rangeQuery<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object({ startDate: QueryTime, endDate: QueryTime, ...shape }).refine(
    (query) => {
      const { startDate, endDate } = query as DateRange;
      return !startDate || !endDate || startDate <= endDate;
    },
    {
      path: ['startDate'],
      ...fault('custom', 'Must not be after `endDate`.'),
      ...whenRight('startDate', 'endDate'),
    },
  );
}

/**
 * Returns the period of a query, both ends included. By default it starts 30 days before its end.
 * `to` is null if the query has no end.
 */
export function periodOf({ startDate, endDate }: DateRange, now: Date) {
  const end = endDate ?? now;
  const from = startDate ?? new Date(end.getTime() - daysByDefault * unitMs.days);
  return { from, to: endDate ?? null };
}

/**
 * Returns the first day of a query, and the number of days: whole UTC days, both ends included, by
 * default the last 30.
 */
export function daysOf({ startDate, endDate }: DateRange, now: Date) {
  const lastDay = startOfDay((endDate ?? now).getTime());
  const firstDay = startDate
    ? startOfDay(startDate.getTime())
    : lastDay - (daysByDefault - 1) * unitMs.days;
  const days = Math.max(1, (lastDay - firstDay) / unitMs.days + 1);
  return { from: new Date(firstDay), days };
}
