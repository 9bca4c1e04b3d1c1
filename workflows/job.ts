import {
  ActivityCancellationType,
  type ActivityOptions,
  allHandlersFinished,
  ApplicationFailure,
  condition,
  defineSignal,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { JobProgress } from '../domain/contact/job.ts';

/** How the time slices of a job's work are called; one lasts seconds, and goes on after any failure. */
export function sliceOptions(projectId: string): ActivityOptions {
  return {
    taskQueue: `${workflowInfo().taskQueue}-bulk`,
    startToCloseTimeout: '10 minutes',
    // How long a job stands still after its worker was killed.
    heartbeatTimeout: '15 seconds',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
    // Without it one project's jobs would stand in front of everybody else's work.
    priority: { fairnessKey: projectId },
  };
}

/**
 * Has a job's work done, one time slice after the other, until the job has ended. The job's row says what is
 * left, so a run that finds it ended does nothing. Returns true when the run must go on as a new
 * one.
 * @throws ApplicationFailure of type JOB_FAILED, not retryable, when the job has failed.
 */
export async function workInSlices(slice: () => Promise<JobProgress>): Promise<boolean> {
  // Every slice looks at the row before each batch: being told adds nothing.
  setHandler(defineSignal('changed'), () => {});
  for (;;) {
    const { state, done, total, failedReason } = await slice();
    setCurrentDetails(`${done} of ${total} contacts`);
    if (state === 'failed') {
      throw ApplicationFailure.nonRetryable(failedReason ?? 'The job has failed.', 'JOB_FAILED');
    }
    if (state !== 'active' && state !== 'waiting') return false;
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      return true;
    }
  }
}
