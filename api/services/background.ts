import { sweepAgeMax } from '../../domain/runs/runs.ts';

/** A process that is younger cannot tell a sweep that has not begun yet from a lost one, in milliseconds. */
const youngMs = 60_000;

/** `late`: no sweep has begun lately. `lost`: Temporal has no schedule of the sweep. */
export type BackgroundState = 'ok' | 'late' | 'lost';

/**
 * @param sweepAgeMs how long ago the newest sweep began; null: never.
 * @param uptimeMs how long this process has asked.
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
