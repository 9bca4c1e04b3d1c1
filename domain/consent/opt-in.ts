/** Decides when an opt-in request sends its mail and its reminder, and when it expires. */

/**
 * Maximum number of confirmation mails to one address since the address last confirmed, including
 * reminders.
 */
export const optInMailsMax = 5;
/**
 * Minimum number of milliseconds between two confirmation mails to one address, not counting
 * reminders.
 */
const apartMs = 3_600_000;

export interface OptInCounts {
  /** Confirmation mails since the address last confirmed, including reminders. */
  mails: number;
  /** When the last confirmation mail, reminders excepted, was requested; null: never. */
  counted_at: Date | null;
}

/** The columns of an open opt-in request that decide its next step. */
export interface OpenOptIn extends OptInCounts {
  mail_wanted: boolean;
  first_mail_at: Date | null;
  last_mail_at: Date | null;
  reminded_at: Date | null;
  /** Seconds from the first mail to the reminder; null: there is no reminder. */
  remind_after: number | null;
  /** Seconds from the last mail to the expiry of the request. */
  expire_after: number;
  created_at: Date;
}

/**
 * Returns true if a time is less than an hour ago, so another request or mail would come too soon.
 */
export function isLately(at: Date | null, now: Date): boolean {
  return at !== null && now.getTime() - at.getTime() < apartMs;
}

/** Returns true if an address may get another confirmation mail that is not a reminder. */
export function mayMail({ mails, counted_at: countedAt }: OptInCounts, now: Date): boolean {
  return mails < optInMailsMax && !isLately(countedAt, now);
}

export function expiryOf({ last_mail_at, created_at, expire_after }: OpenOptIn): Date {
  return new Date((last_mail_at ?? created_at).getTime() + expire_after * 1000);
}

export type OptInStep =
  | { kind: 'mail' | 'remind' | 'expire' }
  | { kind: 'wait'; until: Date; what: 'reminder' | 'end' };

export function nextOptInStep(request: OpenOptIn, now: Date): OptInStep {
  if (request.mail_wanted) return { kind: 'mail' };
  const expiresAt = expiryOf(request);
  if (expiresAt <= now) return { kind: 'expire' };
  const remindAt = reminderOf(request);
  if (!remindAt || remindAt > expiresAt) return { kind: 'wait', until: expiresAt, what: 'end' };
  if (remindAt <= now) return { kind: 'remind' };
  return { kind: 'wait', until: remindAt, what: 'reminder' };
}

function reminderOf(request: OpenOptIn): Date | null {
  const { remind_after: after, first_mail_at: first, reminded_at: reminded, mails } = request;
  if (after === null || !first || reminded || mails >= optInMailsMax) return null;
  return new Date(first.getTime() + after * 1000);
}
