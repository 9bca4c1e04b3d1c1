import { isCancellation, patched, proxyActivities } from '@temporalio/workflow';
import type { SweepActivities } from '../activities/upkeep/sweep.ts';
import { priorities } from '../domain/runs.ts';

/**
 * Started by the only schedule: finds what a crash forgot and what time has settled. The worker
 * names the tasks, so that a new one is no new shape of this run. One that fails does not keep
 * the others from being done.
 */
export async function sweep(): Promise<void> {
  const activities = proxyActivities<SweepActivities>({
    startToCloseTimeout: '5 minutes',
    // The next sweep comes in half a minute anyway.
    retry: { maximumAttempts: 3 },
    priority: { priorityKey: priorities.upkeep },
  });
  // A run that began under a former name goes on with it.
  const tasks = patched('task-list')
    ? await activities.LIST_TASKS()
    : patched('chore-list')
      ? await activities.LIST_CHORES()
      : ([
          'DISPATCH_FORGOTTEN',
          'REPAIR_EXECUTIONS',
          'SETTLE_UNCERTAIN',
          'CLEAR_IDEMPOTENCY_KEYS',
        ] as const);
  const failures: unknown[] = [];
  for (const task of tasks) {
    try {
      await activities[task]();
    } catch (error) {
      if (isCancellation(error)) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
