import { policyHolds } from './policy-holds.ts';

/** Explains why a waiting message is not due yet. */

export const holdReasons = [
  'schedule',
  'retry',
  'quiet_hours',
  'frequency_cap',
  'warm_up',
  'operator',
] as const;
export type HoldReason = (typeof holdReasons)[number];

export interface Hold {
  reason: HoldReason;
  /** When the hold ends; null: at another event, not at a time. */
  until: Date | null;
}

/**
 * The end that columns store for a hold by a ramp. Such a hold has no fixed end, because the ramp
 * itself makes its mail due.
 */
export const openEnd = new Date('9999-12-31T00:00:00.000Z');

/** The columns of a message that determine its holds. */
export interface HeldMail {
  /**
   * The status as the API shows it: `SENDING` while the message is being given to the mail
   * provider.
   */
  status: string;
  scheduled_for: Date | null;
  retry_at: Date | null;
  /** The rule of the project that held the message last. `held_until` is the end of this hold. */
  hold_reason: string | null;
  held_until: Date | null;
}

/**
 * Returns the current hold of a message, or null. If there are several, returns the hold that ends
 * last, because only then is the message due.
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

/** Returns the end of a hold for the API; null: it has no fixed end. */
export function endOf(until: Date): Date | null {
  return until < openEnd ? until : null;
}

/**
 * Returns the header `Date` of a message: the time at which it was created. For mail that was
 * scheduled or held, it is the time of sending.
 */
export function dateOf(
  email: { created_at: Date; scheduled_for: Date | null; held_until: Date | null },
  now: Date,
): Date {
  return email.scheduled_for || email.held_until ? now : email.created_at;
}
