import { instantOf, isZone, parseLocalDateTime } from '../time/zones.ts';

/** Campaigns that reach each contact at the same local time, in the zone of the contact. */

/** The handling of mail whose local time had passed when the campaign began. */
export const lateRules = ['send', 'skip'] as const;
export type LateRule = (typeof lateRules)[number];

/**
 * Returns the instant at which clocks in a zone show `localTime`.
 * @param zone text of a contact's zone field; for null or an invalid zone, `projectZone` applies.
 */
export function momentIn(zone: string | null, projectZone: string, localTime: string): Date {
  const local = parseLocalDateTime(localTime);
  if (!local) throw new RangeError(`"${localTime}" is not a day and time without an offset.`);
  return instantOf(zone !== null && isZone(zone) ? zone : projectZone, local);
}

/**
 * Returns when a campaign with these local moments begins, in milliseconds since 1970; null: all
 * moments have passed. If only some have passed and `late` is `send`, the campaign begins now,
 * otherwise at the earliest future moment.
 */
export function firstMoment(moments: Iterable<number>, late: LateRule, now: number): number | null {
  let first: number | null = null;
  let isLate = false;
  for (const at of moments) {
    if (at <= now) isLate = true;
    else if (first === null || at < first) first = at;
  }
  return first !== null && isLate && late === 'send' ? now : first;
}
