import type { SendPolicy } from '../../../../client/everpost.ts';
import { counted } from '../numbers.ts';

type Policy = Omit<SendPolicy, 'updatedAt'>;
type Day = NonNullable<SendPolicy['quietHours']>['days'][number];

/** Days of the week in words. */
export const dayNames: Record<Day, string> = {
  mon: 'Monday',
  tue: 'Tuesday',
  wed: 'Wednesday',
  thu: 'Thursday',
  fri: 'Friday',
  sat: 'Saturday',
  sun: 'Sunday',
};

/** Treatment of mail over a limit. */
export const overLimits: Record<SendPolicy['onCap'], string> = {
  skip: 'It is not sent',
  delay: 'It is sent later, when there is room',
};

function listOf(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`;
}

function zoneText({ timeZone, contactTimeZoneField }: Policy): string {
  return contactTimeZoneField === null
    ? `in the time zone ${timeZone}`
    : `in the time zone of each contact (${contactTimeZoneField}; without it ${timeZone})`;
}

function quietText(policy: Policy): string {
  if (policy.quietHours === null) return 'is sent at any hour';
  const { from, to, days } = policy.quietHours;
  const on = days.length === 7 ? '' : ` on ${listOf(days.map((day) => dayNames[day]))}`;
  return `waits from ${from} to ${to}${on}, ${zoneText(policy)}`;
}

/** Explains a send policy in two sentences. */
export function sendPolicySentence(policy: Policy): string {
  const { caps, onCap } = policy;
  const quiet = `Marketing mail of campaigns and workflows ${quietText(policy)}.`;
  if (caps.length === 0) return `${quiet} A contact may get any number of mails.`;
  const limits = caps.map(
    ({ max, perDays }) => `${counted(max, 'mail')} in ${counted(perDays, 'day')}`,
  );
  const more = onCap === 'skip' ? 'more are not sent' : 'more are sent later';
  return `${quiet} A contact gets at most ${listOf(limits)}; ${more}.`;
}
