import {
  ActivityCancellationType,
  type ActivityOptions,
  allHandlersFinished,
  ApplicationFailure,
  condition,
  defineSignal,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { JobProgress } from '../domain/job.ts';

/**
 * Returns the options of a job's activity. A time slice takes seconds, and is retried after any
 * failure.
 */
export function sliceOptions(projectId: string): ActivityOptions {
  return {
    taskQueue: `${workflowInfo().taskQueue}-bulk`,
    startToCloseTimeout: '10 minutes',
    // The death of the worker is noticed after this time, and the job continues on another worker.
    heartbeatTimeout: '15 seconds',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
    // Projects take turns, so that one project's jobs do not delay the work of all others.
    priority: { fairnessKey: projectId },
  };
}

/**
 * Runs a job in time slices until the job has ended. The row of the job holds its progress, so a
 * run that finds an ended job does nothing. Returns true when the run must continue as new.
 * @param what unit of the progress, for operators.
 * @throws ApplicationFailure of type JOB_FAILED, not retryable, when the job has failed.
 */
export async function workInSlices(
  what: 'contacts' | 'executions' | 'percent',
  slice: () => Promise<JobProgress>,
): Promise<boolean> {
  // Each slice reads the row before each batch, so the signal needs no action.
  setHandler(defineSignal('changed'), () => {});
  for (;;) {
    const { state, done, total, failedReason, pauseMs } = await slice();
    setCurrentDetails(`${done} of ${total} ${what}`);
    if (state === 'failed') {
      throw ApplicationFailure.nonRetryable(failedReason ?? 'The job has failed.', 'JOB_FAILED');
    }
    if (state !== 'active' && state !== 'waiting') return false;
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      return true;
    }
    // Sleep outside the activity, so that a paused job does not occupy a worker slot that another
    // job needs.
    if (pauseMs) await sleep(pauseMs, { summary: 'Pause between batches' });
  }
}
