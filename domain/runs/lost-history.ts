/** The number and the time of a sweep. Each sweep records them in PostgreSQL and in Temporal. */
export interface Heartbeat {
  number: number;
  /** In ISO 8601. */
  at: string;
}

/** Facts about the sweep that Temporal knows. */
export interface KnownSweeps {
  /** When the schedule of the sweep was created. */
  createdAt: Date;
  /** The planned times of the last sweeps, about ten. */
  plannedAt: readonly Date[];
  /**
   * The newest heartbeat that one of these sweeps has recorded; null: no sweep has recorded one.
   */
  heartbeat: Heartbeat | null;
}

/**
 * Returns the time since which Temporal has lost data; null: nothing was lost. If all data are
 * lost, the time is 1970. If an older backup was restored, the time is that of the last sweep that
 * Temporal knows.
 * @param last planned time of the last sweep according to our own rows
 */
export function forgottenSince(last: Date, { createdAt, plannedAt }: KnownSweeps): Date | null {
  const times = plannedAt.map((at) => at.getTime());
  if (times.includes(last.getTime())) return null;
  const earlier = times.filter((at) => at < last.getTime());
  if (earlier.length > 0) return new Date(Math.max(...earlier));
  // Temporal knows no sweep up to `last`. Either the schedule is older than `last`, and too many
  // sweeps have followed, for example without a worker. Or the schedule is newer than `last`,
  // because it was created again after a loss.
  return createdAt > last ? new Date(0) : null;
}
