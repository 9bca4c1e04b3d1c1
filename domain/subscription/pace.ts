/** Decides how long deliveries of events pause while mail and requests need the machine. */

export interface Demand {
  /** True if mail of a campaign is being given to the mail provider. */
  isMailLeaving: boolean;
  /** Number of statements of other work that PostgreSQL is executing. */
  statements: number;
  /** Processors of this machine, by which the demand is measured. */
  processors: number;
}

/** At full demand by other work, the deliveries of a process pause nine times as long as they work. */
const restMost = 9;
/**
 * Lag in milliseconds at which deliveries no longer pause, so that they are late but never stand
 * still.
 */
const fullyLateMs = 60_000;
/**
 * The longest single pause, in milliseconds: a change of the subscription is seen within a second.
 */
const restMaxMs = 1_000;

/**
 * Returns the demand of other work, from 0 (none) to 1 (full). Mail of a campaign, or one statement
 * per two processors, is full demand.
 */
export function pressureOf({ isMailLeaving, statements, processors }: Demand): number {
  return isMailLeaving ? 1 : Math.min(1, (2 * statements) / Math.max(1, processors));
}

/**
 * Returns how long a subscription pauses after its work, in milliseconds.
 * @param given.workedMs how long it has worked since its last pause
 * @param given.pressure from 0 to 1
 * @param given.sharing number of subscriptions of the process that are at work: they share the
 *   remaining capacity
 * @param given.lagMs how long its current work has waited
 */
export function restMs(given: {
  workedMs: number;
  pressure: number;
  sharing: number;
  lagMs: number;
}): number {
  const { workedMs, pressure, sharing, lagMs } = given;
  const isLate = Math.min(1, Math.max(0, lagMs) / fullyLateMs);
  const rest = workedMs * restMost * pressure * Math.max(1, sharing) * (1 - isLate);
  return Math.min(restMaxMs, rest);
}
