/**
 * The state, in Temporal, of an execution's latest run. A run after continue-as-new is the same
 * run.
 */
export type RunState =
  /** The execution was not sent to Temporal yet. `tries`: number of attempts to send it. */
  | { kind: 'unsent'; tries: number }
  | { kind: 'missing' }
  | {
      kind: 'open';
      runId: string;
      /** Number of attempts of the pending workflow task; 0: no task is pending. */
      taskAttempts: number;
      /** Number of attempts of the pending activity; 0: no activity is pending. */
      activityAttempts: number;
      /** Milliseconds for which the workflow task has waited for a worker. */
      untakenMs: number;
      /** The last failure of the pending activity, for operators. */
      failure: string | null;
    }
  | {
      kind: 'closed';
      /** `ended`: the run was terminated, or has timed out. */
      end: 'completed' | 'cancelled' | 'failed' | 'ended';
      /** Number of the start by which the run began; null: the run does not contain this number. */
      generation: number | null;
    };

const runEndedError =
  'The run of the execution was terminated, failed or timed out in Temporal. Retry the execution ' +
  'to continue.';

export type Verdict =
  /** `stuck`: why the run cannot continue, for the customer; null: the run can continue. */
  | { do: 'keep'; runId: string | null; stuck: string | null }
  | { do: 'restart' }
  | { do: 'end'; as: RunEnd };

/** How an execution ends, because its run has ended. */
export type RunEnd = { cancelled: true } | { completed: true } | { error: string };

/** Milliseconds after which a step that is still being retried counts as stuck. */
const stuckStepMs = 10 * 60_000;
/**
 * Number of attempts to send an execution after which Temporal counts as refusing the execution,
 * and not as slow.
 */
const refusedTries = 10;
/**
 * Number of attempts after which a workflow task counts as failing permanently, because the code
 * has a bug or does not match the history.
 */
const taskAttemptsMax = 3;
export const noWorkerReason = 'No worker is running.';
const untakenReason =
  'No worker takes the next task of the execution: none is running, or all are overloaded.';
/** Why an execution is stuck if no sweep has compared it with its run for too long. */
export const noSweepReason = 'The sweep is not running, so a lost run is not restarted.';
/**
 * Milliseconds after which a workflow task that no worker has taken is stuck. Normally a worker
 * takes it within seconds.
 */
const untakenMaxMs = 60_000;

/**
 * Decides how to handle an active execution, from the state of its run.
 * @param execution.generation number of the execution's latest start
 * @param execution.stepMs milliseconds since its current step began
 * @param execution.isOfBefore true if the database was put back to an earlier moment since the
 * execution has started, so its run may be ahead of its row
 */
export function judgeRun(
  execution: { generation: number; stepMs: number; isOfBefore: boolean },
  run: RunState,
): Verdict {
  if (run.kind === 'unsent') {
    // In a large burst, an execution may only be waiting for its turn, so its age also counts.
    const isRefused = run.tries >= refusedTries && execution.stepMs > stuckStepMs;
    const stuck = isRefused
      ? 'The execution could not be started in Temporal. The log of the server has the reason.'
      : null;
    return { do: 'keep', runId: null, stuck };
  }
  if (run.kind === 'missing') return { do: 'restart' };
  if (run.kind === 'open')
    return { do: 'keep', runId: run.runId, stuck: stuckReason(execution, run) };
  // The run belongs to an earlier start, so the latest start never reached Temporal.
  if (run.generation !== null && run.generation < execution.generation) return { do: 'restart' };
  switch (run.end) {
    // The run has completed, but the row of the execution is still active.
    case 'completed':
      // If the database is older, the run has done the steps that the row lacks.
      return execution.isOfBefore ? { do: 'end', as: { completed: true } } : { do: 'restart' };
    case 'cancelled':
      return { do: 'end', as: { cancelled: true } };
    default:
      return { do: 'end', as: { error: runEndedError } };
  }
}

function stuckReason(
  { stepMs }: { stepMs: number },
  run: Extract<RunState, { kind: 'open' }>,
): string | null {
  if (run.taskAttempts >= taskAttemptsMax) {
    return 'The run of the execution fails repeatedly. The log of the workers has the reason.';
  }
  if (run.untakenMs > untakenMaxMs) return untakenReason;
  if (run.activityAttempts > 1 && stepMs > stuckStepMs) {
    return 'The current step has been retried for over ten minutes.';
  }
  return null;
}
