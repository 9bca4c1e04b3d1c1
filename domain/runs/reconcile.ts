/** The state in Temporal of an execution's latest run, also after continue-as-new. */
export type RunState =
  /** The execution was not sent to Temporal yet; `tries`: number of attempts to send it. */
  | { kind: 'unsent'; tries: number }
  | { kind: 'missing' }
  | {
      kind: 'open';
      runId: string;
      /** Number of attempts of its pending workflow task; 0: there is none. */
      taskAttempts: number;
      /** Number of attempts of the activity that it waits for; 0: there is none. */
      activityAttempts: number;
      /** Milliseconds for which its workflow task has waited for a worker. */
      untakenMs: number;
      /** The last failure of that activity, for operators. */
      failure: string | null;
    }
  | {
      kind: 'closed';
      /** `ended`: terminated, or timed out. */
      end: 'completed' | 'cancelled' | 'failed' | 'ended';
      /** Number of the start that it belongs to; null: the run does not name one. */
      generation: number | null;
    };

const runEndedError =
  'The run of the execution was terminated, failed or timed out in Temporal. Retry the execution ' +
  'to continue.';

export type Verdict =
  /** `stuck`: why it cannot continue, for the customer; null: it can. */
  | { do: 'keep'; runId: string | null; stuck: string | null }
  | { do: 'restart' }
  | { do: 'end'; as: { cancelled: true } | { error: string } };

/** Milliseconds since its beginning after which a step that is being retried counts as stuck. */
const stuckStepMs = 10 * 60_000;
/**
 * Number of attempts to send an execution to Temporal from which on Temporal counts as refusing it,
 * and not just as slow. Two attempts are at least 15 seconds apart.
 */
const refusedTries = 10;
/**
 * Number of attempts from which on a workflow task counts as failing for good: the code has a bug, or
 * does not match the history.
 */
const taskAttemptsMax = 3;
export const noWorkerReason = 'No worker is running.';
const untakenReason = 'No worker takes its next task: none is running, or all are overloaded.';
/** Why an execution is stuck that should have been reconciled with its run by now. */
export const noSweepReason = 'The sweep is not running, so a lost run is not restarted.';
/**
 * Milliseconds after which a task that no worker takes is stuck. Normally a worker takes it within
 * seconds.
 */
const untakenMaxMs = 60_000;

/**
 * Decides how to handle an active execution, given the state of its run.
 * @param execution.generation number of its latest start
 * @param execution.stepMs milliseconds since its current step began
 */
export function judgeRun(
  execution: { generation: number; stepMs: number },
  run: RunState,
): Verdict {
  if (run.kind === 'unsent') {
    // In a large burst, an execution may just wait for its turn.
    const isRefused = run.tries >= refusedTries && execution.stepMs > stuckStepMs;
    const stuck = isRefused
      ? 'The execution could not be started in Temporal. The log of the server has the reason.'
      : null;
    return { do: 'keep', runId: null, stuck };
  }
  if (run.kind === 'missing') return { do: 'restart' };
  if (run.kind === 'open')
    return { do: 'keep', runId: run.runId, stuck: stuckReason(execution, run) };
  // The run is that of an earlier start, so the latest start never reached Temporal.
  if (run.generation !== null && run.generation < execution.generation) return { do: 'restart' };
  switch (run.end) {
    // The run has completed, but the row of the execution is still active.
    case 'completed':
      return { do: 'restart' };
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
