import type { Simulation } from '../../../domain/simulation/simulation.ts';
import { pathItemText, stepsOf } from '../journeys/judge.ts';
import type { RecordedExecution } from './recorded.ts';

/** The way of an execution through a workflow. */
export interface Way {
  path: { step: string; branch: string | null }[];
  status: string;
  exitReason: string | null;
  error: string | null;
}

/** The first step at which two ways part, counted from 1, and what each has there. */
export interface Difference {
  step: number;
  recorded: string;
  replayed: string;
}

export function wayOfRecorded({ path, status, exitReason, error }: RecordedExecution): Way {
  const steps = path.map(({ step, branch }) => ({ step, branch }));
  return { path: steps, status, exitReason, error };
}

export function wayOfPlayed(played: Simulation): Way {
  const { status, exitReason, error } = played;
  const path = stepsOf(played).map(({ stepId: step, branch }) => ({ step, branch }));
  return { path, status, exitReason, error };
}

/**
 * Returns where two ways part; null: nowhere. Ends are compared only if the execution has reached
 * the end of its own way.
 */
export function differenceOf(recorded: Way, replayed: Way): Difference | null {
  const [one, other] = [recorded, replayed].map(({ path }) => path.map(pathItemText)) as [
    string[],
    string[],
  ];
  const length = Math.max(one.length, other.length);
  for (let index = 0; index < length; index += 1) {
    const [before, after] = [one[index], other[index]];
    if (before === after) continue;
    return {
      step: index + 1,
      recorded: before ?? endText(recorded),
      replayed: after ?? endText(replayed),
    };
  }
  const isAtEnd = ['COMPLETED', 'EXITED', 'FAILED'].includes(recorded.status);
  const [before, after] = [endText(recorded), endText(replayed)];
  return isAtEnd && before !== after
    ? { step: length + 1, recorded: before, replayed: after }
    : null;
}

/** Returns an end as text: `the end: EXITED (done)`. The error of a failed one is not compared. */
export function endText({ status, exitReason }: Way): string {
  return exitReason === null ? `the end: ${status}` : `the end: ${status} (${exitReason})`;
}
