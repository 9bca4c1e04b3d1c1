import { isCancellation, proxyActivities } from '@temporalio/workflow';
import type { SweepActivities } from '../activities/upkeep/sweep.ts';
import { priorities } from '../domain/runs/runs.ts';

/**
 * A schedule runs the sweep every half minute. It does work that a crash left behind and work that
 * has become due. The worker lists the tasks, so a new task does not change the commands of a run that
 * is open. A task that fails does not stop the others.
 */
export async function sweep(): Promise<void> {
  const activities = proxyActivities<SweepActivities>({
    startToCloseTimeout: '5 minutes',
    // How long a task pauses after its worker was killed.
    heartbeatTimeout: '15 seconds',
    // The next sweep comes in half a minute.
    retry: { maximumAttempts: 3 },
    priority: { priorityKey: priorities.upkeep },
  });
  const failures: unknown[] = [];
  for (const task of await activities.LIST_TASKS()) {
    try {
      await activities[task]();
    } catch (error) {
      if (isCancellation(error)) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
