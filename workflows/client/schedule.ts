import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { priorities, sweepIdOf } from '../../domain/runs.ts';

const everyMs = 30_000;
/** Several times as long as a sweep that has much to do. */
const runTimeoutMs = 15 * 60_000;

/**
 * Makes sure the sweep is scheduled every half minute, without overlap. Each task queue has its own
 * schedule: installations that share a namespace have different queues and different databases.
 */
export async function ensureSweep(client: Client, taskQueue: string): Promise<void> {
  const id = sweepIdOf(taskQueue);
  const action = {
    type: 'startWorkflow' as const,
    workflowType: 'sweep',
    workflowId: id,
    taskQueue,
    args: [],
    priority: { priorityKey: priorities.upkeep },
    // The next one is skipped while it is open: a run that hangs must not stay for ever.
    workflowRunTimeout: runTimeoutMs,
  };
  const schedule = {
    spec: { intervals: [{ every: everyMs }] },
    action,
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' as const },
  };
  try {
    await client.schedule.create({ scheduleId: id, ...schedule });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    // An earlier version may have created it, otherwise.
    await client.schedule.getHandle(id).update(({ state }) => ({ ...schedule, state }));
  }
}
