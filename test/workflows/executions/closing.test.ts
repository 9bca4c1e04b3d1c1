import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { cancelExecutions } from '../../../db/transactions/executions/cancel-executions.ts';
import {
  completeExecution,
  completeStepAndEnd,
} from '../../../db/workflows/executions/executions.ts';
import { insertExecution } from '../../../db/transactions/executions/start-execution.ts';
import { closeSteps } from '../../../db/workflows/executions/closing.ts';
import type { Database } from '../../../db/database.ts';
import { exitExecutions } from '../../../db/transactions/executions/exit-executions.ts';
import {
  type ExecutionToReconcile,
  endAsItsRun,
} from '../../../db/workflows/executions/reconciliation.ts';
import { enterStep } from '../../../db/workflows/executions/steps.ts';
import { failStep } from '../../../db/transactions/executions/fail-step.ts';
import { useEngine } from '../../support/engine.ts';
import { createContact, createWorkflow } from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';

/** Steps and waits that are open when an execution ends, as after a restore. */

const engine = await useEngine({}, { worker: false });
const { db } = engine.api;
const workflow = await createWorkflow(engine, {
  eventName: 'to be closed',
  steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'never' } }],
});
const stepId = workflow.steps['Wait']!;

type OpenStatus = 'PENDING' | 'SCHEDULED' | 'WAITING' | 'RUNNING';

const { version } = await db
  .selectFrom('workflow')
  .select('version')
  .where('id', '=', workflow.id)
  .executeTakeFirstOrThrow();

/** Inserts an execution without a run, with steps of these states besides its own. */
async function leftOpen(statuses: readonly OpenStatus[]) {
  const contactId = await createContact(engine, newAddress());
  const project_id = engine.project.id;
  const given = {
    projectId: project_id,
    workflowId: workflow.id,
    contactId,
    context: null,
    causedBy: 'key:secret',
  };
  const { id } = await db.transaction().execute((tx) => insertExecution(tx, given));
  const open = statuses.map((status) => ({
    id: randomUUID(),
    status,
    project_id,
    execution_id: id,
    step_id: randomUUID(),
    started_at: status === 'SCHEDULED' ? null : new Date(),
  }));
  await db.insertInto('step_execution').values(open).execute();
  const waiting = open.find(({ status }) => status === 'WAITING');
  if (waiting) {
    const wait = { project_id, execution_id: id, contact_id: contactId, event_name: 'never' };
    await db
      .insertInto('wait')
      .values({ step_execution_id: waiting.id, ...wait })
      .execute();
  }
  return id;
}

/** Returns the states of the open steps of an execution, and the number of its waits. */
async function openOf(id: string) {
  const steps = await db
    .selectFrom('step_execution')
    .select('status')
    .where('execution_id', '=', id)
    .where('status', 'in', ['PENDING', 'SCHEDULED', 'WAITING', 'RUNNING'])
    .execute();
  const waits = await db.selectFrom('wait').selectAll().where('execution_id', '=', id).execute();
  return [...steps.map(({ status }) => status), ...waits.map(() => 'a wait')];
}

const all: readonly OpenStatus[] = ['PENDING', 'SCHEDULED', 'WAITING', 'RUNNING'];
const toReconcile = (id: string): ExecutionToReconcile => ({
  id,
  projectId: engine.project.id,
  workflowName: 'Journey',
  status: 'RUNNING',
  generation: 1,
  stepMs: 0,
  wasStuck: false,
  isOfBefore: false,
  tries: null,
});

async function failAt(tx: Database, executionId: string): Promise<void> {
  const visit = await enterStep(tx, { executionId, stepId, version }, randomUUID());
  await failStep(tx, visit!, 'It failed.', null);
}

async function endAt(
  tx: Database,
  executionId: string,
  end: Parameters<typeof completeStepAndEnd>[3],
): Promise<void> {
  const visit = await enterStep(tx, { executionId, stepId, version }, randomUUID());
  await completeStepAndEnd(tx, visit!, { at: 'end' }, end);
  const step = await tx
    .selectFrom('step_execution')
    .select(['status', 'output'])
    .where('id', '=', visit!.stepExecution.id)
    .executeTakeFirst();
  expect(step).toEqual({ status: 'COMPLETED', output: { at: 'end' } });
}

describe('an execution leaves no step open', () => {
  it.each<[string, (tx: Database, id: string) => Promise<unknown>, readonly OpenStatus[]]>([
    ['by its last step', (tx, id) => endAt(tx, id, { status: 'COMPLETED' }), all],
    ['without one left', (tx, id) => completeExecution(tx, id, version), all],
    ['by an exit', (tx, id) => endAt(tx, id, { status: 'EXITED', reason: 'out' }), all],
    [
      'by an exit rule',
      (tx, id) => exitExecutions(tx, [{ id, reason: 'rule' }]),
      ['SCHEDULED', 'WAITING'],
    ],
    ['by a failure', failAt, all],
    [
      'cancelled in Temporal',
      (tx, id) => endAsItsRun(tx, toReconcile(id), { cancelled: true }),
      all,
    ],
    [
      'terminated in Temporal',
      (tx, id) => endAsItsRun(tx, toReconcile(id), { error: 'Gone.' }),
      all,
    ],
  ])('when it ends %s', async (_, end, statuses) => {
    const id = await leftOpen(statuses);
    await db.transaction().execute((tx) => end(tx, id));
    const { completed_at } = await db
      .selectFrom('execution')
      .select('completed_at')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(completed_at).not.toBeNull();
    expect(await openOf(id)).toEqual([]);
  });

  it('when it is cancelled, but one at work until its run has ended', async () => {
    const id = await leftOpen(all);
    await db.transaction().execute((tx) => cancelExecutions(tx, [id], 'cancelled'));
    expect(await openOf(id)).toEqual(['RUNNING']);
    await closeSteps(db, [id]);
    expect(await openOf(id)).toEqual([]);
  });

  it('when its last step is skipped', async () => {
    const id = await leftOpen(['SCHEDULED']);
    const path = `/workflows/${workflow.id}/executions/${id}`;
    await db.transaction().execute(async (tx) => {
      const visit = await enterStep(tx, { executionId: id, stepId, version }, randomUUID());
      const wait = { status: 'WAITING' };
      await tx
        .updateTable('step_execution')
        .set(wait)
        .where('id', '=', visit!.stepExecution.id)
        .execute();
      await tx.updateTable('execution').set(wait).where('id', '=', id).execute();
    });
    expect((await engine.call('POST', `${path}/skip`)).body.status).toBe('COMPLETED');
    expect(await openOf(id)).toEqual([]);
  });

  it('and not those of one that goes on', async () => {
    const id = await leftOpen(all);
    await closeSteps(db, [id]);
    expect((await openOf(id)).toSorted()).toEqual([...all, 'a wait'].toSorted());
  });
});
