/** Explains why a waiting message is not due yet. */

export const holdReasons = ['schedule', 'retry', 'quiet_hours', 'frequency_cap'] as const;
export type HoldReason = (typeof holdReasons)[number];

export interface Hold {
  reason: HoldReason;
  until: Date;
}

/** The columns of a message that decide until when it waits. */
export interface HeldMail {
  /** The shown status: `SENDING` for a message that is being given to the mail provider. */
  status: string;
  scheduled_for: Date | null;
  retry_at: Date | null;
  /** The rule of the send policy that has held it last, and until when. */
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
    [email.hold_reason === 'frequency_cap' ? 'frequency_cap' : 'quiet_hours', email.held_until],
  ];
  return holds.reduce<Hold | null>((last, [reason, until]) => {
    const isLater = until !== null && until > (last?.until ?? now);
    return isLater ? { reason, until } : last;
  }, null);
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
