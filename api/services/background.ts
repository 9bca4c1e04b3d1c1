import { sweepAgeMax } from '../../domain/runs/runs.ts';

/**
 * Milliseconds for which a new process reports `ok`, because the first sweep may not have begun
 * yet.
 */
const youngMs = 60_000;

/** `late`: the periodic sweep has not begun lately. `lost`: Temporal has no schedule of it. */
export type BackgroundState = 'ok' | 'late' | 'lost';

/**
 * Returns the state of background work.
 * @param sweepAgeMs age of the newest sweep; null: none ever began.
 * @param uptimeMs age of this process
 */
export function backgroundState(known: {
  hasSchedule: boolean;
  sweepAgeMs: number | null;
  uptimeMs: number;
}): BackgroundState {
  if (known.uptimeMs < youngMs) return 'ok';
  if (!known.hasSchedule) return 'lost';
  return known.sweepAgeMs === null || known.sweepAgeMs > sweepAgeMax ? 'late' : 'ok';
}
