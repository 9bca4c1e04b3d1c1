import { policyHolds } from './policy-holds.ts';

/** Explains why a waiting message is not due yet. */

export const holdReasons = [
  'schedule',
  'retry',
  'quiet_hours',
  'frequency_cap',
  'warm_up',
] as const;
export type HoldReason = (typeof holdReasons)[number];

export interface Hold {
  reason: HoldReason;
  /** null: until something else happens. */
  until: Date | null;
}

/**
 * The time that columns have for a hold without an end: that of a ramp, which makes its mail due as
 * its days allow.
 */
export const openEnd = new Date('9999-12-31T00:00:00.000Z');

/** The columns of a message that decide until when it waits. */
export interface HeldMail {
  /** The shown status: `SENDING` for a message that is being given to the mail provider. */
  status: string;
  scheduled_for: Date | null;
  retry_at: Date | null;
  /** The rule that has held it last, and until when. */
  hold_reason: string | null;
  held_until: Date | null;
}

/**
 * Returns the current hold of a message, or null. A message waits for all its holds. The one that
 * ends last is shown, because the message is due at its end.
 */
export function holdOf(email: HeldMail, now: Date): Hold | null {
  if (email.status !== 'PENDING') return null;
  const holds: [HoldReason, Date | null][] = [
    ['schedule', email.scheduled_for],
    ['retry', email.retry_at],
    [policyHolds.find((reason) => reason === email.hold_reason) ?? 'quiet_hours', email.held_until],
  ];
  const last = holds.reduce<{ reason: HoldReason; until: Date } | null>(
    (latest, [reason, until]) => {
      const isLater = until !== null && until > (latest?.until ?? now);
      return isLater ? { reason, until } : latest;
    },
    null,
  );
  return last && { ...last, until: endOf(last.until) };
}

/** Returns the end of a hold as it is shown; null: it has none. */
export function endOf(until: Date): Date | null {
  return until < openEnd ? until : null;
}

/**
 * Returns the header `Date` of a message: when it was created. Mail that was scheduled or held gets
 * the time at which it is given to the mail provider.
 */
export function dateOf(
  email: { created_at: Date; scheduled_for: Date | null; held_until: Date | null },
  now: Date,
): Date {
  return email.scheduled_for || email.held_until ? now : email.created_at;
}
