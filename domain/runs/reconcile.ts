/** The state in Temporal of an execution's latest run, also after continue-as-new. */
export type RunState =
  /** It is still to be told of the execution; `tries`: how often that was tried. */
  | { kind: 'untold'; tries: number }
  | { kind: 'missing' }
  | {
      kind: 'open';
      runId: string;
      /** How often its workflow task, and the activity it waits for, were tried; 0: none waits. */
      taskAttempts: number;
      activityAttempts: number;
      /** How long its workflow task has waited to be taken by a worker, in milliseconds. */
      untakenMs: number;
      /** The last failure of that activity, for operators. */
      failure: string | null;
    }
  | {
      kind: 'closed';
      /** `ended`: terminated, or timed out. */
      end: 'completed' | 'cancelled' | 'failed' | 'ended';
      /** Number of the start it belongs to; null: it has none. */
      generation: number | null;
    };

export type Verdict =
  /** `stuck`: why it cannot continue, for the customer; null: it can. */
  | { do: 'keep'; runId: string | null; stuck: string | null }
  | { do: 'restart' }
  | { do: 'end'; as: { cancelled: true } | { error: string } };

/** From when on a step that is tried again and again counts as stuck, in milliseconds. */
const stuckStepMs = 10 * 60_000;
/** Tries to tell Temporal of it after which it is not just slow; at least 15 seconds lie between two. */
const refusedTries = 10;
/** A workflow task that failed this often will fail again: its code has a bug, or does not fit. */
const taskAttemptsMax = 3;
/** The reason for a stuck execution whose task no worker takes. */
export const noWorkerReason = 'No worker is running.';
/** Why an execution is stuck whose run would have been compared with it by now. */
export const noSweepReason = 'The sweep is not running: if its run is lost, it does not go on.';
/** A worker takes a task within seconds. */
const untakenMaxMs = 60_000;

/**
 * Decides how to handle an active execution, given its run.
 * @param execution.generation number of its latest start
 * @param execution.stepMs how long its current step has been going on
 */
export function judgeRun(
  execution: { generation: number; stepMs: number },
  run: RunState,
): Verdict {
  if (run.kind === 'untold') {
    // In a burst of very many it may just be waiting for its turn.
    const isRefused = run.tries >= refusedTries && execution.stepMs > stuckStepMs;
    const stuck = isRefused ? 'Temporal does not take it.' : null;
    return { do: 'keep', runId: null, stuck };
  }
  if (run.kind === 'missing') return { do: 'restart' };
  if (run.kind === 'open')
    return { do: 'keep', runId: run.runId, stuck: stuckReason(execution, run) };
  // Its latest start never reached Temporal, or the run has left the row as it was.
  if (run.generation !== null && run.generation < execution.generation) return { do: 'restart' };
  switch (run.end) {
    case 'completed':
      return { do: 'restart' };
    case 'cancelled':
      return { do: 'end', as: { cancelled: true } };
    default:
      return { do: 'end', as: { error: 'Its run was ended in Temporal.' } };
  }
}

function stuckReason(
  { stepMs }: { stepMs: number },
  run: Extract<RunState, { kind: 'open' }>,
): string | null {
  if (run.taskAttempts >= taskAttemptsMax) {
    return 'The server cannot run this version of the workflow.';
  }
  if (run.untakenMs > untakenMaxMs) return noWorkerReason;
  if (run.activityAttempts > 1 && stepMs > stuckStepMs) {
    return 'Its step has been tried again for over ten minutes.';
  }
  return null;
}
