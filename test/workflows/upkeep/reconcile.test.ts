import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { judgeRun } from '../../../domain/runs/reconcile.ts';
import { useEngine } from '../../support/engine.ts';
import {
  beginExecution,
  createContact,
  createWorkflow,
  startByHand,
} from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Executions whose run in Temporal is lost, ended or stuck. */

const engine = await useEngine();
const { db } = engine.api;
const { client } = engine.temporal;

const waitStep = { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'go on' } };

async function waiting() {
  const begun = await beginExecution(engine, { steps: [waitStep] });
  await begun.until('WAITING');
  return { ...begun, run: client.workflow.getHandle(`execution-${begun.id}`) };
}

const rowOf = (id: string) =>
  db.selectFrom('execution').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

/** Makes the next check due. */
const becomeDue = (id: string) =>
  db
    .updateTable('execution')
    .set({ next_reconcile_at: sql<Date>`now() - interval '1 minute'` })
    .where('id', '=', id)
    .execute();

const goOn = async (contactId: string) =>
  expect((await engine.call('POST', '/events/track', { name: 'go on', contactId })).status).toBe(
    201,
  );

describe('an execution that waits', () => {
  it('is looked at every six hours, and soon after its timer', async () => {
    const { id } = await waiting();
    const hoursTo = async (row: string) =>
      ((await rowOf(row)).next_reconcile_at!.getTime() - Date.now()) / 3_600_000;
    expect(await hoursTo(id)).toBeCloseTo(6, 1);
    const config = { amount: 60, unit: 'minutes' };
    const delayed = await beginExecution(engine, {
      steps: [{ type: 'DELAY', name: 'Delay', config }],
    });
    await delayed.until('WAITING');
    expect(await hoursTo(delayed.id)).toBeCloseTo(61 / 60, 1);
  });

  it('goes on where it was when Temporal has lost its run', async () => {
    const { id, run, contactId, until } = await waiting();
    await client.workflowService.deleteWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: run.workflowId },
    });
    const isThere = () =>
      run.describe().then(
        ({ status }) => status.name === 'RUNNING',
        () => false,
      );
    await waitFor('the run to be gone', async () => !(await isThere()));
    await becomeDue(id);
    await sweepNow(engine);
    await waitFor('a new run', isThere);
    await until('WAITING');
    await goOn(contactId);
    const done = await until('COMPLETED');
    expect(done.stepExecutions).toHaveLength(2);
  });

  it('fails when its run is terminated, also after that continued as new', async () => {
    const { id, run, until } = await waiting();
    const first = await waitFor('its run', async () => (await rowOf(id)).temporal_run_id);
    expect(first).toBe((await run.describe()).runId);
    // A run that continues as new has another id; the row names the first.
    await db
      .updateTable('execution')
      .set({ temporal_run_id: 'the first' })
      .where('id', '=', id)
      .execute();
    await run.terminate('By an operator.');
    await waitFor('a sweep that finds it', async () => {
      await sweepNow(engine);
      return (await rowOf(id)).status === 'FAILED';
    });
    expect(await until('FAILED')).toMatchObject({
      error:
        'The run of the execution was terminated, failed or timed out in Temporal. Retry the execution to continue.',
      stepExecutions: [{ status: 'COMPLETED' }, { status: 'SKIPPED' }],
    });
  });

  it('is left alone while its run is open', async () => {
    const { id, contactId, until } = await waiting();
    const before = await rowOf(id);
    await becomeDue(id);
    await sweepNow(engine);
    expect(await rowOf(id)).toEqual({ ...before, next_reconcile_at: expect.any(Date) });
    await goOn(contactId);
    await until('COMPLETED');
  });
});

describe('an execution whose run cannot go on', () => {
  it('is stuck, for its reader and in the log, until it goes on', async () => {
    const eventName = randomUUID();
    const { id: workflowId } = await createWorkflow(engine, { eventName, steps: [waitStep] });
    // A step type of a later version, which this worker does not know.
    await sql`update workflow_version
      set graph = replace(graph::text, '"WAIT_FOR_EVENT"', '"LATER"')::jsonb
      where workflow_id = ${workflowId}`.execute(db);
    const contactId = await createContact(engine, newAddress());
    const id = await startByHand(engine, workflowId, contactId);
    const path = `/workflows/${workflowId}/executions/${id}`;
    expect((await engine.call('GET', path)).body.stuck).toBeNull();
    const stuck = await waitFor('a stuck execution', async () => {
      await becomeDue(id);
      await sweepNow(engine);
      return (await engine.call('GET', path)).body.stuck;
    });
    expect(stuck).toEqual({
      since: expect.stringMatching(/Z$/),
      reason: 'The run of the execution fails repeatedly. The log of the workers has the reason.',
    });
    expect((await engine.call('DELETE', path)).body).toMatchObject({
      status: 'CANCELLED',
      stuck: null,
    });
  });
});

describe('what is made of a run', () => {
  const open = {
    kind: 'open',
    runId: 'r',
    taskAttempts: 1,
    activityAttempts: 1,
    untakenMs: 0,
    failure: null,
  } as const;
  const execution = { generation: 2, stepMs: 20 * 60_000, isOfBefore: false };
  const closed = { kind: 'closed', generation: 2 } as const;
  const fails = {
    do: 'end',
    as: {
      error:
        'The run of the execution was terminated, failed or timed out in Temporal. Retry the execution to continue.',
    },
  };
  const keep = (stuck: string | null) => ({ do: 'keep', runId: 'r', stuck });

  it.each([
    ['missing', { kind: 'missing' }, { do: 'restart' }],
    [
      'refused',
      { kind: 'unsent', tries: 10 },
      { do: 'keep', runId: null, stuck: expect.any(String) },
    ],
    [
      'to be started in its turn',
      { kind: 'unsent', tries: 1 },
      { do: 'keep', runId: null, stuck: null },
    ],
    ['of an earlier start', { ...closed, end: 'failed', generation: 1 }, { do: 'restart' }],
    ['completed without a word', { ...closed, end: 'completed' }, { do: 'restart' }],
    ['failed', { ...closed, end: 'failed' }, fails],
    ['failed, not numbered', { ...closed, end: 'failed', generation: null }, fails],
    ['terminated', { ...closed, end: 'ended' }, fails],
    ['cancelled', { ...closed, end: 'cancelled' }, { do: 'end', as: { cancelled: true } }],
    ['open', open, keep(null)],
    ['with a failing workflow task', { ...open, taskAttempts: 3 }, keep(expect.any(String))],
    [
      'without a worker',
      { ...open, untakenMs: 61_000 },
      keep(
        'No worker takes the next task of the execution: none is running, or all are overloaded.',
      ),
    ],
    ['with a step tried again', { ...open, activityAttempts: 2 }, keep(expect.any(String))],
  ] as const)('%s', (_, run, verdict) => {
    expect(judgeRun(execution, run)).toEqual(verdict);
  });

  it('completed before the database was put back ends the execution', () => {
    const before = { ...execution, isOfBefore: true };
    const verdict = { do: 'end', as: { completed: true } };
    expect(judgeRun(before, { ...closed, end: 'completed' })).toEqual(verdict);
  });

  it('a step tried again is not stuck in its first ten minutes', () => {
    const early = { ...execution, stepMs: 9 * 60_000 };
    expect(judgeRun(early, { ...open, activityAttempts: 9 })).toEqual(keep(null));
  });
});
