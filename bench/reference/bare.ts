import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import type { BenchmarkRun } from '../measuring/benchmark.ts';
import type { BareStep, bareWorkflow } from './bare-workflow.ts';
import type { Stack } from '../measuring/stack.ts';

/** Temporal and PostgreSQL without Everpost, as a reference. */
export interface Bare {
  client: Client;
  workerPid: number;
  /** Starts a bare workflow. Returns its id. */
  start(steps: readonly BareStep[]): Promise<string>;
  /** Counts the statements that the step at this index has run. */
  countSteps(index: number): Promise<number>;
  /** Returns true if that step of a workflow has run its statement. */
  hasStep(execution: string, index: number): Promise<boolean>;
}

const taskQueue = 'bench-bare';

/** Starts a worker for bare workflows beside the stack. */
export async function startBare(run: BenchmarkRun, stack: Stack): Promise<Bare> {
  const { pool } = stack;
  await pool.query(
    'create table bare_step (execution uuid, step int, primary key (execution, step))',
  );
  const env = { BARE_TASK_QUEUE: taskQueue };
  const worker = await stack.startProgram('bare-worker', 'bench/reference/bare-worker.ts', env);
  const connection = await Connection.connect({ address: stack.temporalAddress });
  run.defer(() => connection.close());
  const client = new Client({ connection });
  return {
    client,
    workerPid: worker.pid ?? 0,
    async start(steps) {
      const workflowId = randomUUID();
      await client.workflow.start<typeof bareWorkflow>('bareWorkflow', {
        taskQueue,
        workflowId,
        args: [workflowId, steps],
      });
      return workflowId;
    },
    async countSteps(index) {
      const { rows } = await pool.query<{ count: number }>(
        'select count(*)::int as count from bare_step where step = $1',
        [index],
      );
      return rows[0]?.count ?? 0;
    },
    async hasStep(execution, index) {
      const { rowCount } = await pool.query(
        'select from bare_step where execution = $1 and step = $2',
        [execution, index],
      );
      return rowCount === 1;
    },
  };
}
