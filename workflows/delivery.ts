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

/** Mail of the project has become due. */
export const mailDueSignal = defineSignal('mailDue');

/** How long a run without work stays open, so that the next mail finds it running. */
const idleMs = 60_000;

/**
 * Delivers the transactional and workflow mail of one project: batch after batch while mail is
 * due, asleep until the next retry, gone after an idle minute. The rows are the work; this run
 * only sees that somebody does it.
 */
export async function deliveryQueue(projectId: string): Promise<void> {
  const { DELIVER } = proxyActivities<DeliveryActivities>({
    taskQueue: `${workflowInfo().taskQueue}-mail`,
    startToCloseTimeout: '10 minutes',
    // How long mail stands still after its worker was killed.
    heartbeatTimeout: '15 seconds',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
    // Without it one project's backlog would stand in front of everybody else's mail.
    priority: { fairnessKey: projectId },
  });
  let signalled = false;
  setHandler(mailDueSignal, () => {
    signalled = true;
  });
  for (;;) {
    signalled = false;
    const { nextDueMs } = await DELIVER(projectId);
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      return await continueAsNew<typeof deliveryQueue>(projectId);
    }
    if (signalled || nextDueMs === 0) continue;
    const called = await condition(() => signalled, nextDueMs ?? idleMs, {
      summary: nextDueMs === null ? 'Idle' : 'Next try',
    });
    if (!called && nextDueMs === null) return;
  }
}
