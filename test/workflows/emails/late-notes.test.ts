import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { dispatchStore } from '../../../workflows/client/dispatch-store.ts';
import { listPending } from '../../../db/outbox/outbox.ts';
import { listExecutionStarts } from '../../../db/workflows/executions/starts.ts';
import { retryExecution } from '../../../db/transactions/executions/retry-execution.ts';
import { insertExecution } from '../../../db/transactions/executions/start-execution.ts';
import {
  endAsItsRun,
  type ExecutionToReconcile,
} from '../../../db/workflows/executions/reconciliation.ts';
import { executionRunId } from '../../../domain/runs/execution.ts';
import { startExecution } from '../../../workflows/client/runs.ts';
import { createDispatcher } from '../../../workflows/client/dispatcher.ts';
import { useEngine } from '../../support/engine.ts';
import {
  beginExecution,
  createContact,
  createWorkflow,
  executionIn,
} from '../../support/histories/executions.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Temporal gets a signal or a start, or still has a run, after the row has changed. */

const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });

const rowOf = (id: string) =>
  engine.api.db
    .selectFrom('execution')
    .select(['id', 'project_id', 'workflow_id', 'contact_id', 'status'])
    .select(['temporal_run_id as runId', 'start_generation as generation'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

/** Returns the action of the outbox for the execution's run; null: none. */
async function dueOf(id: string) {
  const [entry] = await listPending(engine.api.db, [executionRunId(id)]);
  return entry?.action ?? null;
}

/** A sweep that looks at every active execution. */
async function sweepAll() {
  await engine.api.db
    .updateTable('execution')
    .set({ next_reconcile_at: new Date(0) })
    .execute();
  await sweepNow(engine);
}

/** Returns the current run of the execution's id. */
const runOf = (id: string) => engine.temporal.client.workflow.getHandle(executionRunId(id));

/** Creates a workflow with a webhook and a wait; its receiver responds with these statuses. */
async function createCalling(...statuses: number[]) {
  const path = `/${randomUUID()}`;
  receiver.answer(path, ...statuses.map((status) => ({ status })));
  const config = { url: `${receiver.url}${path}`, onFailure: 'fail' };
  return createWorkflow(engine, {
    eventName: randomUUID(),
    steps: [
      { type: 'WEBHOOK', name: 'Call', config },
      { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'never' } },
    ],
  });
}

/** Starts an execution that waits, and whose run is recorded. */
async function waiting() {
  const { workflow, id, until } = await beginExecution(engine, {
    steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'never' } }],
  });
  await until('WAITING');
  const runId = await waitFor('the note of its start', async () => (await rowOf(id)).runId);
  return { workflow, id, runId };
}

/** Retries it, as a request that dies before it can tell Temporal. */
async function retryQuietly(id: string): Promise<void> {
  const { db } = engine.api;
  const row = await db.selectFrom('execution').selectAll().where('id', '=', id).executeTakeFirst();
  await db.transaction().execute((tx) => retryExecution(tx, row!));
}

describe('a start whose note is held up until its execution has failed', () => {
  /**
   * Returns an execution that the sweep recorded as FAILED, and a function that releases the
   * first record.
   */
  async function failedWithHeldNote() {
    const { db } = engine.api;
    const workflow = await createCalling(404, 200);
    const contactId = await createContact(engine, newAddress());
    const { id } = await db.transaction().execute((tx) =>
      insertExecution(tx, {
        projectId: engine.project.id,
        workflowId: workflow.id,
        contactId,
        context: null,
        causedBy: 'key:secret',
      }),
    );
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const store = dispatchStore(db);
    const slow = createDispatcher({
      client: engine.temporal.client,
      taskQueue: engine.taskQueue,
      store: {
        ...store,
        async markSent(sent) {
          await held;
          await store.markSent(sent);
        },
      },
      log: engine.api.services.log,
    });
    slow.dispatch([{ runId: executionRunId(id), projectId: engine.project.id }]);
    await executionIn(engine, workflow.id, id, 'FAILED');
    await sweepNow(engine);
    await waitFor('the note of another', async () => (await dueOf(id)) === null);
    const noteLate = async () => {
      release();
      await slow.close();
    };
    return { workflow, id, noteLate };
  }

  it('does not put the first run in the place of the retry’s', async () => {
    const { workflow, id, noteLate } = await failedWithHeldNote();
    const path = `/workflows/${workflow.id}/executions/${id}/retry`;
    const { temporalRunId } = (await engine.call('POST', path)).body;
    expect(temporalRunId).toBe((await runOf(id).describe()).runId);
    await executionIn(engine, workflow.id, id, 'WAITING');
    await noteLate();
    expect((await rowOf(id)).runId).toBe(temporalRunId);
    // With the state of the first run, which failed, it would be ended.
    await sweepAll();
    expect((await rowOf(id)).status).toBe('WAITING');
  });

  it('does not keep the start of a retry from being sent', async () => {
    const { workflow, id, noteLate } = await failedWithHeldNote();
    await retryQuietly(id);
    await noteLate();
    expect(await dueOf(id)).toBe('start');
    await sweepNow(engine);
    await executionIn(engine, workflow.id, id, 'WAITING');
  });
});

describe('a start that finds a run of before', () => {
  /** Returns a client that counts its requests to start a run. */
  function countingClient() {
    const { connection, options } = engine.temporal.client;
    const count = { starts: 0, looks: 0 };
    const client = new Client({
      connection,
      namespace: options.namespace,
      interceptors: {
        workflow: [
          {
            startWithDetails(input, next) {
              count.starts += 1;
              return next(input);
            },
            async describe(input, next) {
              const description = await next(input);
              count.looks += 1;
              return description;
            },
          },
        ],
      },
    });
    return { client, count };
  }

  it('begins a new one when that has completed, after two requests', async () => {
    const { workflow, id, runId } = await waiting();
    // The run was taken for lost while it continued: it finds its execution ended, and completes.
    const { generation } = await rowOf(id);
    const look = { id, generation } as ExecutionToReconcile;
    await endAsItsRun(engine.api.db, look, {
      error:
        'The run of the execution was terminated, failed or timed out in Temporal. Retry the execution to continue.',
    });
    expect((await rowOf(id)).status).toBe('FAILED');
    await runOf(id).signal('event', { stepId: workflow.steps['Wait'] });
    expect(await runOf(id).result()).toBe('CANCELLED');

    await retryQuietly(id);
    const [due] = await listExecutionStarts(engine.api.db, [id]);
    const { client, count } = countingClient();
    const newRun = await startExecution(client, engine.taskQueue, due!);
    expect(newRun).not.toBe(runId);
    expect(newRun).toBe((await runOf(id).describe()).runId);
    expect(count.starts).toBe(2);
    await executionIn(engine, workflow.id, id, 'WAITING');
  });

  it('takes it when the execution has ended, after one request', async () => {
    const { id, runId } = await waiting();
    await runOf(id).cancel();
    await runOf(id)
      .result()
      .catch(() => {});
    const [start] = await startsOf(id);
    const { client, count } = countingClient();
    const due = { ...start!, hasEnded: true };
    expect(await startExecution(client, engine.taskQueue, due)).toBe(runId);
    expect(count.starts).toBe(1);
  });

  it('waits for its end when that run has failed but is not closed yet', async () => {
    const { workflow, id, runId } = await waiting();
    const { db } = engine.api;
    // The id of that run was never recorded.
    await db
      .updateTable('execution')
      .set({ status: 'FAILED', temporal_run_id: null })
      .where('id', '=', id)
      .execute();
    await retryQuietly(id);
    const [due] = await listExecutionStarts(db, [id]);
    const { client, count } = countingClient();
    const starting = startExecution(client, engine.taskQueue, due!);
    await waitFor('a look at the open run', () => count.looks > 0);
    await runOf(id).terminate('It has failed.');
    expect(await starting).not.toBe(runId);
    await executionIn(engine, workflow.id, id, 'WAITING');
  });

  /** Returns the starts of the execution as it was first due. */
  async function startsOf(id: string) {
    return listExecutionStarts(engine.api.db, [id]);
  }
});
