import { z } from 'zod';
import { whenRight } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { secondOfDay, secondsOfDay } from '../../domain/mail/quiet-hours.ts';
import { Days, WallTimeEndText, WallTimeText, Zone } from '../../domain/time/schemas.ts';
import { weekdays } from '../../domain/time/zones.ts';
import { addFault } from '../http/schemas.ts';

/** The send policy in requests. */

const QuietHours = z
  .object({
    from: WallTimeText,
    to: WallTimeEndText.describe('Or 24:00; earlier than `from`: on the next day'),
    days: Days.default([...weekdays]).describe('Days on which it begins'),
  })
  .superRefine(
    ({ from, to, days }, context) => {
      const [start, end] = [secondOfDay(from), secondOfDay(to)];
      const isWholeWeek = start === 0 && end === secondsOfDay && days.length === weekdays.length;
      if (start === end) {
        addFault(context, 'custom', 'Must not be the same as `from`.', ['to']);
      } else if (isWholeWeek) {
        const message =
          'The quiet hours must not cover the whole week, because then no mail could be sent.';
        addFault(context, 'custom', message, ['to']);
      }
    },
    whenRight('from', 'to', 'days'),
  )
  .meta({ id: 'QuietHoursInput' });

/** `data.` with a path in contact data, such as `data.address.timeZone`. */
const ZoneField = z.string().superRefine((text, context) => {
  const isPath = text.length <= limits.zoneFieldChars && /^data(?:\.[^.]+)+$/.test(text);
  if (isPath) return;
  const message = `Must be a field of contact data such as data.timeZone, of at most ${limits.zoneFieldChars} characters.`;
  addFault(context, 'unsupported_field', message);
});

export const sendPolicyFields = {
  timeZone: Zone.describe("The project's time zone, for contacts without their own"),
  contactTimeZoneField: ZoneField.nullable().describe(
    "Contact field with its time zone; null: all contacts use the project's",
  ),
  quietHours: QuietHours.nullable().describe("In the contact's zone; null: none"),
  caps: z
    .array(
      z.object({
        max: z.int().min(1).max(limits.capMail),
        perDays: z.int().min(1).max(limits.capDays).describe('In units of 24 hours'),
      }),
    )
    .max(limits.caps)
    .describe('At most `max` mails to a contact within `perDays` days; every cap applies'),
  onCap: z.enum(['skip', 'delay']).describe('Mail over a cap is skipped, or delayed'),
};

export const SendPolicyChange = z.object(sendPolicyFields).partial();
