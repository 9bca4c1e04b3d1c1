import { isCancellation, proxyActivities } from '@temporalio/workflow';
import type { SweepActivities } from '../activities/upkeep/sweep.ts';
import { priorities } from '../domain/runs/runs.ts';

/**
 * The sweep, which a schedule starts every half minute. It continues work that a crash left behind,
 * and does work that has become due. The worker lists the tasks, so a new task does not change the
 * commands of open runs. A failed task does not stop the others.
 */
export async function sweep(): Promise<void> {
  const activities = proxyActivities<SweepActivities>({
    startToCloseTimeout: '5 minutes',
    // The death of the worker is noticed after this time.
    heartbeatTimeout: '15 seconds',
    // Few attempts, because the next sweep comes in half a minute.
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
