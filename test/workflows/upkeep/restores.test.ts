import { randomUUID } from 'node:crypto';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { listLosses, listOpenRestores } from '../../../db/restores/restores.ts';
import { executionRunId } from '../../../domain/runs/execution.ts';
import { sweepIdOf } from '../../../domain/runs/runs.ts';
import {
  describeExecutionRun,
  listStartedExecutions,
  signalExecution,
} from '../../../workflows/client/runs.ts';
import { describeSweep, ensureSweep } from '../../../workflows/client/schedule.ts';
import { useEngine } from '../../support/engine.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

/** PostgreSQL or Temporal was restored: runs and rows agree again, and nothing is done twice. */

const engine = await useEngine();
const { db } = engine.api;
const { client } = engine.temporal;
const { REPAIR_RESTORES: repair } = tasksOf(engine.api, {});

async function heartbeatOf(): Promise<number> {
  const { rows } = await sql<{ heartbeat: number }>`
    select heartbeat::int as heartbeat from installation`.execute(db);
  return rows[0]!.heartbeat;
}

/** Starts a sweep by the schedule. A sweep that still runs would make the schedule skip this one. */
async function triggerSweep(): Promise<void> {
  const schedule = client.schedule.getHandle(sweepIdOf(engine.taskQueue));
  await schedule.trigger(ScheduleOverlapPolicy.BUFFER_ONE);
}

/** Starts a sweep by the schedule, and waits until Temporal has its heartbeat. */
async function scheduledSweep(): Promise<number> {
  const before = await heartbeatOf();
  await triggerSweep();
  return waitFor(
    'the heartbeat in Temporal',
    async () => {
      // A busy Temporal may not answer in time.
      const sweep = await describeSweep(client, engine.taskQueue).catch(() => null);
      const number = sweep?.heartbeat?.number ?? 0;
      return number > before && number === (await heartbeatOf()) ? number : null;
    },
    60_000,
  );
}

/** Deletes the run of an execution from Temporal, as if Temporal had lost its data. */
async function loseRun(executionId: string): Promise<void> {
  const workflowExecution = { workflowId: executionRunId(executionId) };
  await client.workflowService.deleteWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution,
  });
  await waitFor('the loss of the run', () => isLost(executionId));
}

const isLost = (executionId: string) =>
  client.workflow
    .getHandle(executionRunId(executionId))
    .describe()
    .then(
      () => false,
      (error: unknown) => {
        if (error instanceof WorkflowNotFoundError) return true;
        throw error;
      },
    );

async function insertRestore(kind: string): Promise<void> {
  await sql`insert into restore (kind, from_at, to_at) values (${kind}, null, now())`.execute(db);
}

describe('the heartbeat', () => {
  it('is in PostgreSQL and in Temporal, so an older PostgreSQL is noticed', async () => {
    await ensureSweep(client, engine.taskQueue);
    const first = await scheduledSweep();
    expect(await scheduledSweep()).toBeGreaterThan(first);
    expect(await listOpenRestores(db)).toEqual([]);
    await sql`update installation set heartbeat = heartbeat - 1`.execute(db);
    await triggerSweep();
    const noticed = async () => {
      const found = await sql<{ kind: string }>`select kind from restore`.execute(db);
      return found.rows.length > 0 ? found : null;
    };
    const { rows } = await waitFor('the restore', noticed, 60_000);
    expect(rows).toEqual([{ kind: 'database_older' }]);
    await client.schedule.getHandle(sweepIdOf(engine.taskQueue)).delete();
    await sql`delete from restore`.execute(db);
  });
});

describe('Temporal without its data', () => {
  it('gets all runs again, and ends the restore', async () => {
    const eventName = randomUUID();
    const workflow = await createWorkflow(engine, {
      eventName,
      steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: `${eventName} end` } }],
    });
    const email = newAddress();
    const contactId = await createContact(engine, email);
    const id = await startByHand(engine, workflow.id, contactId);
    await executionIn(engine, workflow.id, id, 'WAITING');
    await loseRun(id);
    await insertRestore('temporal_lost');
    await repair();
    await waitFor('the run', async () => !(await isLost(id)));
    expect(await listOpenRestores(db)).toEqual([]);
    const { rows } = await sql`select restarted, ended_at from restore`.execute(db);
    expect(rows).toEqual([{ restarted: 1, ended_at: expect.any(Date) }]);
    await engine.call('POST', '/v1/track', { email, event: `${eventName} end` });
    const done = await executionIn(engine, workflow.id, id, 'COMPLETED');
    expect(done.stepExecutions).toHaveLength(2);
  });

  it('starts a run that is gone when its event comes before the repair', async () => {
    const eventName = randomUUID();
    const workflow = await createWorkflow(engine, {
      eventName,
      steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: `${eventName} end` } }],
    });
    const email = newAddress();
    const contactId = await createContact(engine, email);
    const id = await startByHand(engine, workflow.id, contactId);
    await executionIn(engine, workflow.id, id, 'WAITING');
    await loseRun(id);
    await engine.call('POST', '/v1/track', { email, event: `${eventName} end` });
    const done = await executionIn(engine, workflow.id, id, 'COMPLETED');
    expect(done.stepExecutions).toHaveLength(2);
  });
});

describe('a PostgreSQL of an earlier moment', () => {
  it('ends an execution whose run has completed, and does none of its steps again', async () => {
    const workflow = await createWorkflow(engine, {
      eventName: randomUUID(),
      steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId: await createTemplate(engine) }],
    });
    const email = newAddress();
    const id = await startByHand(engine, workflow.id, await createContact(engine, email));
    await executionIn(engine, workflow.id, id, 'COMPLETED');
    await engine.mailsTo(email, 1);
    const handle = client.workflow.getHandle(executionRunId(id));
    await handle.result();
    // The rows are put back to a moment before the step.
    await sql`update execution set status = 'RUNNING', completed_at = null,
      next_reconcile_at = now() + interval '1 hour' where id = ${id}`.execute(db);
    await sql`delete from step_execution where execution_id = ${id} and step_id = (
      select current_step_id from execution where id = ${id})`.execute(db);
    await sql`insert into restore (kind, from_at, to_at, held_before)
      values ('database_older', now(), now(), now())`.execute(db);
    await repair();
    const { REPAIR_EXECUTIONS: reconcile } = tasksOf(engine.api, {
      describeExecutionRun: (executionId) => describeExecutionRun(client, executionId),
    });
    expect(await listOpenRestores(db)).toHaveLength(1);
    await reconcile();
    await executionIn(engine, workflow.id, id, 'COMPLETED');
    await repair();
    expect(await listOpenRestores(db)).toEqual([]);
    expect(await engine.mailsTo(email, 1)).toHaveLength(1);
  });

  it('ends the run of an execution that it does not have, and names the execution', async () => {
    const workflow = await createWorkflow(engine, {
      eventName: randomUUID(),
      steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: randomUUID() } }],
    });
    const since = new Date(Date.now() - 1_000);
    const id = await startByHand(engine, workflow.id, await createContact(engine, newAddress()));
    await executionIn(engine, workflow.id, id, 'WAITING');
    const list = async () => {
      const ids = [];
      for await (const one of listStartedExecutions(client, engine.taskQueue, since)) ids.push(one);
      return ids;
    };
    await waitFor('the run in the list', async () => (await list()).includes(id));
    await sql`delete from execution where id = ${id}`.execute(db);
    const { rows } = await sql<{ id: string }>`
      insert into restore (kind, from_at, to_at, held_before)
        values ('database_older', now(), now(), now()) returning id`.execute(db);
    await tasksOf(engine.api, {
      listStartedExecutions: () => listStartedExecutions(client, engine.taskQueue, since),
      signalExecution: (executionId) => signalExecution(client, executionId),
    }).REPAIR_RESTORES();
    expect(await listLosses(db, rows, 'execution')).toEqual({ count: 1, ids: [id] });
    const handle = client.workflow.getHandle(executionRunId(id));
    await waitFor(
      'the end of the run',
      async () => (await handle.describe()).status.name !== 'RUNNING',
    );
  });
});
