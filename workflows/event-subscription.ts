import {
  ActivityCancellationType,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { SubscriptionActivities } from '../activities/subscriptions/subscription.ts';
import type { RunInputs } from '../domain/runs/runs.ts';

/**
 * Sends the events of one subscription while it exists, in time slices while deliveries are due.
 * Then the run sleeps until the next retry or signal. The state is in the database.
 */
export async function eventSubscription(input: RunInputs['eventSubscription']): Promise<void> {
  const { SEND_EVENTS } = proxyActivities<SubscriptionActivities>({
    taskQueue: `${workflowInfo().taskQueue}-events`,
    startToCloseTimeout: '15 minutes',
    // The death of the worker is noticed after this time, and the subscription continues on another
    // worker.
    heartbeatTimeout: '15 seconds',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '1 second', maximumInterval: '15 seconds' },
    // Projects take turns, so that the subscriptions of one project do not delay the subscriptions
    // of other projects.
    priority: { fairnessKey: input.projectId },
  });
  let changed = false;
  setHandler(defineSignal('changed'), () => {
    changed = true;
  });
  for (let requests = 0; ;) {
    changed = false;
    const rest = await SEND_EVENTS(input.subscriptionId);
    if (rest.state === null) return;
    requests += rest.requests;
    setCurrentDetails(
      `${rest.state}; ${requests} requests since ${workflowInfo().runStartTime.toISOString()}`,
    );
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      return await continueAsNew<typeof eventSubscription>(input);
    }
    if (changed || rest.nextDueMs === 0) continue;
    if (rest.nextDueMs === null) await condition(() => changed);
    else await condition(() => changed, rest.nextDueMs, { summary: 'Next attempt' });
  }
}
