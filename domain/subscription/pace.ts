/** How deliveries of events give way to mail and requests while those need the machine. */

/** Current demand of other work. */
export interface Demand {
  /** Mail of a campaign is being handed over. */
  isMailLeaving: boolean;
  /** Statements of others that PostgreSQL is executing. */
  statements: number;
  /** Processors of this machine, the measure of what is much. */
  processors: number;
}

/** While others need all, the deliverers of a process rest nine times as long as they work. */
const restMost = 9;
/** Lag at which they give way no longer, in milliseconds: deliveries are late, and never stand still. */
const fullyLateMs = 60_000;
/** The longest rest at once: a change of the subscription is seen within a second. */
const restMaxMs = 1_000;

/** How much others need, from 0 (nothing) to 1 (all): a statement for every two processors is much. */
export function pressureOf({ isMailLeaving, statements, processors }: Demand): number {
  return isMailLeaving ? 1 : Math.min(1, (2 * statements) / Math.max(1, processors));
}

/**
 * How long a subscription rests after its work, in milliseconds.
 * @param given.workedMs how long it has worked since its last rest
 * @param given.pressure from 0 to 1
 * @param given.sharing subscriptions of the process at work: they share what is left for them
 * @param given.lagMs for how long what it works on has waited
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
