/** Decides how long event deliveries pause while mail and API requests need the machine. */

export interface Demand {
  /** True if mail of a campaign is being sent. */
  isMailLeaving: boolean;
  /** Number of statements of other work that PostgreSQL is executing. */
  statements: number;
  /** Number of processors of this machine. */
  processors: number;
}

/** At full demand of other work, deliveries pause for nine times as long as they work. */
const restMost = 9;
/**
 * Lag in milliseconds from which on deliveries no longer pause. Without this limit, other work
 * could delay them forever.
 */
const fullyLateMs = 60_000;
/**
 * Longest single pause, in milliseconds. It is short, so that changes of the subscription soon take
 * effect.
 */
const restMaxMs = 1_000;

/**
 * Returns the demand of other work, from 0 (none) to 1 (full). Demand is full while mail of a
 * campaign is being sent, or while PostgreSQL runs a statement for every two processors.
 */
export function pressureOf({ isMailLeaving, statements, processors }: Demand): number {
  return isMailLeaving ? 1 : Math.min(1, (2 * statements) / Math.max(1, processors));
}

/**
 * Returns how long a subscription pauses after its work, in milliseconds.
 * @param given.workedMs how long the subscription has worked since its last pause
 * @param given.pressure demand of other work, from 0 to 1
 * @param given.sharing number of subscriptions at work in this process, which share the remaining
 * capacity
 * @param given.lagMs how long the current work of the subscription has waited
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
