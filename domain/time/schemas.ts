import { z } from 'zod';
import { fault, faultWithGiven } from '../errors.ts';
import { parseCron } from './cron.ts';
import { isZone, parseLocalDateTime, parseWallTime, weekdays } from './zones.ts';

/**
 * Schemas of zones and wall times in requests. Days are sorted and cron expressions are trimmed;
 * other values are stored and returned as sent.
 */

export const Zone = z
  .string()
  .refine(
    isZone,
    faultWithGiven('invalid_string', 'Must be the name of a time zone, such as Europe/Kyiv.'),
  )
  .meta({ examples: ['Europe/Kyiv'] });

export const WallTimeText = z
  .string()
  .refine(
    (text) => parseWallTime(text) !== null,
    faultWithGiven('invalid_string', 'Must be a time of day, such as 09:00 or 09:00:00.'),
  )
  .meta({ examples: ['09:00'] });

/** A wall time at which something ends, as text. 24:00 is the end of the day. */
export const WallTimeEndText = z
  .string()
  .refine(
    (text) => text === '24:00' || parseWallTime(text) !== null,
    faultWithGiven('invalid_string', 'Must be a time of day, such as 09:00, 09:00:00 or 24:00.'),
  )
  .meta({ examples: ['08:00'] });

export const LocalDateTimeText = z
  .string()
  .refine(
    (text) => parseLocalDateTime(text) !== null,
    faultWithGiven(
      'invalid_date',
      'Must be a day and time without an offset, such as 2027-03-28T09:00.',
    ),
  )
  .meta({ examples: ['2027-03-28T09:00'] });

/** A cron expression, without surrounding spaces. */
export const CronText = z
  .string()
  .transform((text, context) => {
    const cron = parseCron(text);
    if (!('code' in cron)) return text.trim();
    context.addIssue({ code: 'custom', ...fault(cron.code, cron.message) });
    return z.NEVER;
  })
  .meta({ examples: ['0 9 * * mon-fri'] });

/** Days of the week, each once; sorted, Monday first. */
export const Days = z
  .array(z.enum(weekdays))
  .min(1)
  .transform((days) => weekdays.filter((day) => days.includes(day)));
