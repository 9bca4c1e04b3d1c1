/** Temporal's data about the sweep. */
export interface KnownSweeps {
  /** When its schedule was created. */
  createdAt: Date;
  /** The planned times of about the last ten sweeps. */
  plannedAt: readonly Date[];
}

/**
 * Returns the time since which Temporal has lost its data: 1970 when all are lost; the last sweep that
 * it still knows when an older backup was restored; null: nothing was lost.
 * @param last planned time of the last sweep that has run, according to our own rows
 */
export function forgottenSince(last: Date, { createdAt, plannedAt }: KnownSweeps): Date | null {
  const times = plannedAt.map((at) => at.getTime());
  if (times.includes(last.getTime())) return null;
  const earlier = times.filter((at) => at < last.getTime());
  if (earlier.length > 0) return new Date(Math.max(...earlier));
  // Temporal knows no sweep up to `last`. If the schedule is older than `last`, too many sweeps have
  // followed, for example without a worker. If it is newer, it was created again.
  return createdAt > last ? new Date(0) : null;
}
