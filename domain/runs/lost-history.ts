/** Temporal's knowledge of the sweep. */
export interface KnownSweeps {
  /** When its schedule was created. */
  createdAt: Date;
  /** When the last ten or so were planned. */
  plannedAt: readonly Date[];
}

/**
 * From when on Temporal has forgotten what it was told: its data are lost (1970), or restored from a backup
 * (the last sweep before that). null: it has forgotten nothing.
 * @param last when the last sweep was planned that has run, by our own rows
 */
export function forgottenSince(last: Date, { createdAt, plannedAt }: KnownSweeps): Date | null {
  const times = plannedAt.map((at) => at.getTime());
  if (times.includes(last.getTime())) return null;
  const earlier = times.filter((at) => at < last.getTime());
  if (earlier.length > 0) return new Date(Math.max(...earlier));
  // Without a worker, more sweeps than Temporal lists may have been started in vain since then.
  return createdAt > last ? new Date(0) : null;
}
