/** The times at which the expiry of a named key is announced. */

const dayMs = 86_400_000;

/** Days before the expiry; 0: at the expiry itself. */
const noticeDays = [30, 7, 1, 0] as const;

/** Returns the time of the first expiry notice after `since`; null: no notice is left. */
export function nextNotice(expiresAt: Date | null, since: Date): Date | null {
  if (expiresAt === null) return null;
  const moments = noticeDays.map((days) => expiresAt.getTime() - days * dayMs);
  const next = moments.find((at) => at > since.getTime());
  return next === undefined ? null : new Date(next);
}

/** Returns how many days before the expiry a notice is sent: 30, 7, 1 or 0. */
export function daysLeft(expiresAt: Date, noticeAt: Date): number {
  return Math.round((expiresAt.getTime() - noticeAt.getTime()) / dayMs);
}
