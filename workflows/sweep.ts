import { isCancellation, proxyActivities, upsertMemo } from '@temporalio/workflow';
import type { SweepActivities } from '../activities/upkeep/sweep.ts';
import { priorities } from '../domain/runs/runs.ts';

/**
 * The sweep, which a schedule starts every half minute. The sweep continues work that a crash left
 * behind, and does work that has become due. The worker lists the tasks, so a new task does not
 * change the commands of open runs. A failed task does not stop the other tasks.
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
  const attempt = async (work: () => Promise<unknown>) => {
    try {
      await work();
    } catch (error) {
      if (isCancellation(error)) throw error;
      failures.push(error);
    }
  };
  const tasks = await activities.LIST_TASKS();
  // Temporal keeps the heartbeat. By its number, the next sweep notices if PostgreSQL is older.
  await attempt(async () => upsertMemo({ heartbeat: await activities.RECORD_HEARTBEAT() }));
  for (const task of tasks) await attempt(() => activities[task]());
  if (failures.length > 0) throw failures[0];
}
