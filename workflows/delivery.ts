import {
  ActivityCancellationType,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { DeliveryActivities } from '../activities/mail/delivery.ts';
import { allSettled } from './all-settled.ts';

/** Signals that mail of the project has become due. */
export const mailDueSignal = defineSignal('mailDue');

/** Milliseconds for which an idle run stays open, so that the next mail needs no new run. */
const idleMs = 60_000;

/**
 * Delivers the transactional and workflow mail of one project, batch after batch while mail is due.
 * Then the run sleeps until the next mail is due, and closes after an idle minute. If much mail
 * waits, several activities deliver it in parallel, on any free workers. The state is in the
 * database; the run only schedules the activities.
 */
export async function deliveryQueue(projectId: string): Promise<void> {
  const { DELIVER } = proxyActivities<DeliveryActivities>({
    taskQueue: `${workflowInfo().taskQueue}-mail`,
    startToCloseTimeout: '10 minutes',
    // The death of the worker is noticed after this time, and the mail continues on another worker.
    heartbeatTimeout: '15 seconds',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
    // Projects take turns, so that one project's backlog does not delay the mail of all others.
    priority: { fairnessKey: projectId },
  });
  let signalled = false;
  setHandler(mailDueSignal, () => {
    signalled = true;
  });
  for (;;) {
    signalled = false;
    const { nextDueMs, parallelism = 0 } = await DELIVER(projectId, true);
    if (parallelism > 0)
      await allSettled(Array.from({ length: parallelism }, () => DELIVER(projectId)));
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      return await continueAsNew<typeof deliveryQueue>(projectId);
    }
    if (signalled || nextDueMs === 0) continue;
    const called = await condition(() => signalled, nextDueMs ?? idleMs, {
      summary: nextDueMs === null ? 'Idle' : 'Until mail is due',
    });
    if (!called && nextDueMs === null) return;
  }
}
