import type { Client } from '@temporalio/client';

/** How many tasks wait on a queue, and for how long. */
export interface QueueLag {
  queue: string;
  kind: 'workflow' | 'activity';
  /** Approximate number of tasks that wait for a worker. */
  tasks: number;
  /** Seconds for which the oldest of these tasks has waited. */
  age: number;
  /**
   * Number of workers that poll for tasks. A worker that died is counted for a few more minutes.
   */
  workers: number;
}

/** `TASK_QUEUE_TYPE_…` of Temporal's API. */
const kinds = { workflow: 1, activity: 2 } as const;

/**
 * Reads from Temporal how many tasks wait on each of the queues of `taskQueue`
 * (`worker/workers.ts`).
 */
export function readQueueLags(client: Client, taskQueue: string): Promise<QueueLag[]> {
  const queues = [
    [taskQueue, 'workflow'],
    [taskQueue, 'activity'],
    [`${taskQueue}-mail`, 'activity'],
    [`${taskQueue}-bulk`, 'activity'],
    [`${taskQueue}-webhook`, 'activity'],
    [`${taskQueue}-events`, 'activity'],
  ] as const;
  return Promise.all(
    queues.map(async ([queue, kind]) => {
      const { stats, pollers } = await client.workflowService.describeTaskQueue({
        namespace: client.options.namespace,
        taskQueue: { name: queue },
        taskQueueType: kinds[kind],
        reportStats: true,
      });
      const { seconds = 0, nanos = 0 } = stats?.approximateBacklogAge ?? {};
      return {
        queue,
        kind,
        tasks: Number(stats?.approximateBacklogCount ?? 0),
        age: Number(seconds) + Number(nanos) / 1e9,
        workers: new Set(pollers?.map(({ identity }) => identity)).size,
      };
    }),
  );
}

/** Reads for how many seconds Temporal keeps the histories of ended runs. */
export async function readRetention(client: Client): Promise<number> {
  const { config } = await client.workflowService.describeNamespace({
    namespace: client.options.namespace,
  });
  return Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
}
