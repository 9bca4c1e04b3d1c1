import { once } from 'node:events';
import { join } from 'node:path';
import { bundleWorkflowCode, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import pg from 'pg';

/**
 * A worker for bare workflows, in its own process and with the settings of the product's worker.
 */

export interface BareActivities {
  STEP(execution: string, step: number): Promise<void>;
}

/** The task queue of the bare workflows. */
const { DATABASE_URL, TEMPORAL_ADDRESS, BARE_TASK_QUEUE, WORKFLOW_WORKER_CONCURRENCY } =
  process.env;
const concurrency = Number(WORKFLOW_WORKER_CONCURRENCY ?? 50);

const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 20 });
const activities: BareActivities = {
  async STEP(execution, step) {
    await pool.query('insert into bare_step (execution, step) values ($1, $2)', [execution, step]);
  },
};
Runtime.install({ shutdownSignals: [] });
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address: TEMPORAL_ADDRESS ?? '' }),
  taskQueue: BARE_TASK_QUEUE ?? '',
  workflowBundle: await bundleWorkflowCode({
    workflowsPath: join(import.meta.dirname, 'bare-workflow.ts'),
  }),
  activities,
  maxConcurrentActivityTaskExecutions: concurrency,
  maxConcurrentLocalActivityExecutions: concurrency,
});
const done = worker.run();
process.send?.({ ready: true });
await Promise.race([
  ...['SIGTERM', 'SIGINT', 'disconnect'].map((name) => once(process, name)),
  done,
]);
if (worker.getState() === 'RUNNING') worker.shutdown();
await done;
process.exit(0);
