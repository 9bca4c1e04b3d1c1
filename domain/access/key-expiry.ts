/** When the end of a named key is announced. */

const dayMs = 86_400_000;

/** Days before the end; 0: the end itself. */
const noticeDays = [30, 7, 1, 0] as const;

/**
 * Returns the next moment at which the end of a key is announced: the first one after `since`; null:
 * there is none.
 */
export function nextNotice(expiresAt: Date | null, since: Date): Date | null {
  if (expiresAt === null) return null;
  const moments = noticeDays.map((days) => expiresAt.getTime() - days * dayMs);
  const next = moments.find((at) => at > since.getTime());
  return next === undefined ? null : new Date(next);
}

/** Returns the days that a key has left at the moment of a notice: 30, 7, 1 or 0. */
export function daysLeft(expiresAt: Date, noticeAt: Date): number {
  return Math.round((expiresAt.getTime() - noticeAt.getTime()) / dayMs);
}
