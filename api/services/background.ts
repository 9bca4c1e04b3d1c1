import type { BackgroundRows } from '../../db/watch.ts';
import { sweepAgeMax } from '../../domain/runs/runs.ts';

/**
 * Milliseconds for which a new process reports `ok`, because the first sweep may not have begun
 * yet.
 */
const youngMs = 60_000;

export const backgroundStates = ['ok', 'late', 'lost', 'restoring', 'held'] as const;

/**
 * `late`: the periodic sweep has not begun lately. `lost`: Temporal has no schedule for the sweep.
 * `restoring`: runs and rows are made to agree after a restore. `held`: mail waits for an operator.
 */
export type BackgroundState = (typeof backgroundStates)[number];

/**
 * Returns the state of background work.
 * @param known.hasSchedule true if Temporal has the schedule of the sweep
 * @param known.uptimeMs age of this process
 */
export function backgroundState(
  known: BackgroundRows & { hasSchedule: boolean; uptimeMs: number },
): BackgroundState {
  if (known.isHolding) return 'held';
  if (known.isRestoring) return 'restoring';
  if (known.uptimeMs < youngMs) return 'ok';
  if (!known.hasSchedule) return 'lost';
  return known.sweepAgeMs === null || known.sweepAgeMs > sweepAgeMax ? 'late' : 'ok';
}
