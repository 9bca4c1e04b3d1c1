import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleHandle,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { priorities, sweepIdOf } from '../../domain/runs.ts';

/**
 * Makes sure the sweep is scheduled every half minute, without overlap. Each task queue has its own
 * schedule: installations that share a namespace have different queues and different databases.
 */
export async function ensureSweep(client: Client, taskQueue: string): Promise<void> {
  const id = sweepIdOf(taskQueue);
  const priority = { priorityKey: priorities.upkeep };
  const action = {
    type: 'startWorkflow' as const,
    workflowType: 'sweep',
    workflowId: id,
    taskQueue,
    args: [],
    priority,
  };
  try {
    await client.schedule.create({
      scheduleId: id,
      spec: { intervals: [{ every: '30 seconds' }] },
      action,
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
    });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await updateSweep(client.schedule.getHandle(id), priority);
  }
}

/** Updates a schedule that an earlier version has created. */
async function updateSweep(
  schedule: ScheduleHandle,
  priority: { priorityKey: number },
): Promise<void> {
  const { action } = await schedule.describe();
  if (action.priority?.priorityKey === priority.priorityKey) return;
  await schedule.update((before) => ({ ...before, action: { ...before.action, priority } }));
}
