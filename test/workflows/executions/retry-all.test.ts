import { bySecretKey } from '../../support/actors.ts';
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  askForJob,
  countStatuses,
  endOfExecutionJob,
  insertFailed,
} from '../../support/histories/execution-jobs.ts';
import {
  createContact,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import { newAddress, refusal } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const { db } = engine.api;

/** Creates a contact update, a webhook that fails until `mend` is called, and an end. */
async function brokenWorkflow(more: { allowReentry?: boolean } = {}) {
  const path = `/${randomUUID()}`;
  receiver.answer(path, { status: 404 });
  const workflow = await createWorkflow(engine, {
    eventName: randomUUID(),
    ...more,
    steps: [
      { type: 'UPDATE_CONTACT', name: 'Mark', config: { updates: { marked: true } } },
      {
        type: 'WEBHOOK',
        name: 'Call',
        config: { url: `${receiver.url}${path}`, onFailure: 'fail' },
      },
    ],
  });
  return {
    ...workflow,
    calls: () => receiver.requests(path).length,
    mend: () => receiver.answer(path, { status: 200 }),
    async fail(count: number) {
      const contacts: string[] = [];
      for (let made = 0; made < count; made++) {
        contacts.push(await createContact(engine, newAddress()));
        await startByHand(engine, workflow.id, contacts.at(-1)!);
      }
      await settled(workflow.id, { FAILED: count });
      return contacts;
    },
  };
}

/** Creates workflows whose failed executions end as soon as they are retried. */
const exiting = () =>
  createWorkflow(engine, {
    eventName: randomUUID(),
    steps: [{ type: 'EXIT', name: 'Out', config: { reason: 'done' } }],
  });

const settled = (workflowId: string, counts: Record<string, number>) =>
  waitFor(
    `${workflowId} to have ${JSON.stringify(counts)}`,
    async () => JSON.stringify(await countStatuses(engine, workflowId)) === JSON.stringify(counts),
    60_000,
  );

const retryAll = async (workflowId: string, body: object = {}) => {
  const jobId = await askForJob(engine, workflowId, 'executions/retry-all', body);
  return endOfExecutionJob(engine, workflowId, jobId, 60_000);
};

describe('retry-all', () => {
  it('tries every failed execution again from its failed step, once the receiver is mended', async () => {
    const workflow = await brokenWorkflow();
    await workflow.fail(40);
    workflow.mend();
    const nothing = await retryAll(workflow.id, { errorContains: 'nothing' });
    expect([nothing.state, nothing.result]).toEqual(['completed', { retried: 0, refused: 0 }]);

    const job = await retryAll(workflow.id);
    expect(job).toEqual({
      id: expect.stringMatching(`^retry-all-${engine.project.id}-[0-9a-f-]{36}$`),
      state: 'completed',
      progress: 100,
      data: {
        projectId: engine.project.id,
        workflowId: workflow.id,
        operation: 'retry-all',
        stepId: null,
        totalRequested: 40,
      },
      result: { retried: 40, refused: 0 },
      failedReason: null,
      causedBy: bySecretKey,
      createdAt: expect.any(String),
      startedAt: expect.any(String),
      finishedAt: expect.any(String),
    });
    await settled(workflow.id, { COMPLETED: 40 });
    expect(workflow.calls()).toBe(80);
    const { rows } = await sql<{ changes: number }>`
      select jsonb_array_length(step.history) as changes from step_execution step
        join execution on execution.id = step.execution_id
        where execution.workflow_id = ${workflow.id}
          and step.step_id = ${workflow.steps['Mark']}`.execute(db);
    // Each step began and completed once.
    expect(rows).toEqual(Array.from({ length: 40 }, () => ({ changes: 2 })));
  }, 60_000);

  it('refuses one whose contact has another active execution, and goes on with the others', async () => {
    const workflow = await createWorkflow(engine, {
      eventName: randomUUID(),
      allowReentry: true,
      steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'never' } }],
    });
    await insertFailed(engine, workflow, { step: 'Wait', count: 3 });
    const { contact_id: contactId } = await db
      .selectFrom('execution')
      .select('contact_id')
      .where('workflow_id', '=', workflow.id)
      .executeTakeFirstOrThrow();
    const other = await startByHand(engine, workflow.id, contactId);
    await executionIn(engine, workflow.id, other, 'WAITING');
    expect((await retryAll(workflow.id)).result).toEqual({ retried: 2, refused: 1 });
    await settled(workflow.id, { FAILED: 1, WAITING: 3 });
  });

  it('comes to each once, also when it fails again', async () => {
    const workflow = await brokenWorkflow();
    await workflow.fail(3);
    expect((await retryAll(workflow.id)).result).toEqual({ retried: 3, refused: 0 });
    await settled(workflow.id, { FAILED: 3 });
    expect(workflow.calls()).toBe(6);
  });

  it('takes those of a step, of a time and with an error, in any case; % and _ are plain', async () => {
    const workflow = await createWorkflow(engine, {
      eventName: randomUUID(),
      steps: [
        { type: 'EXIT', name: 'Out', config: { reason: 'done' } },
        { type: 'EXIT', name: 'Other', config: { reason: 'other' } },
      ],
      ways: [['TRIGGER', 'Out']],
    });
    const result = async (body: object) => (await retryAll(workflow.id, body)).result.retried;
    await insertFailed(engine, workflow, { step: 'Out', count: 2, error: 'Too BUSY, 50% left' });
    const [half, day] = [1, 24].map((hours) =>
      new Date(Date.now() - hours * 3_600_000).toISOString(),
    );
    expect(await result({ errorContains: '_' })).toBe(0);
    expect(await result({ stepId: workflow.steps['Other'] })).toBe(0);
    expect(await result({ stepId: randomUUID() })).toBe(0);
    expect(await result({ failedBefore: half })).toBe(0);
    expect(await result({ failedAfter: new Date().toISOString() })).toBe(0);
    const all = { stepId: workflow.steps['Out'], failedAfter: day, errorContains: 'busy, 50%' };
    expect(await result({ ...all, failedBefore: new Date().toISOString() })).toBe(2);
  });

  it('retries exactly those with one error, even a long one with % and _', async () => {
    const workflow = await exiting();
    const error = `The template failed: 50%_${'x'.repeat(400)}`;
    const others = [`${error}!`, error.toUpperCase(), error.replace('%_', 'ab'), 'x'];
    await insertFailed(engine, workflow, { step: 'Out', count: 2, error });
    for (const other of others) {
      await insertFailed(engine, workflow, { step: 'Out', count: 1, error: other });
    }
    const query = new URLSearchParams({ workflowId: workflow.id, errorEquals: error });
    const { body: found } = await engine.call('GET', `/executions?${query.toString()}`);
    expect([found.total, found.data.length]).toEqual([2, 2]);
    const { body: groups } = await engine.call(
      'GET',
      `/executions/groups?workflowId=${workflow.id}`,
    );
    expect(groups).toHaveLength(5);
    const job = await retryAll(workflow.id, {
      stepId: workflow.steps['Out'],
      errorEquals: groups[0].error,
    });
    expect(job.result).toEqual({ retried: 2, refused: 0 });
    await settled(workflow.id, { EXITED: 2, FAILED: 4 });
    const { body: left } = await engine.call(
      'GET',
      `/executions?workflowId=${workflow.id}&error=x`,
    );
    expect(left.data.map((one: { error: string }) => one.error).toSorted()).toEqual(
      others.toSorted(),
    );
  });

  it('moves them to a version, and refuses those that it has no step for', async () => {
    const workflow = await createWorkflow(engine, {
      eventName: randomUUID(),
      steps: [
        { type: 'EXIT', name: 'Out', config: { reason: 'done' } },
        { type: 'DELAY', name: 'Gone', config: { amount: 1, unit: 'days' } },
      ],
      ways: [['TRIGGER', 'Out']],
    });
    await insertFailed(engine, workflow, { step: 'Out', count: 2 });
    await insertFailed(engine, workflow, { step: 'Gone', count: 3 });
    const path = `/workflows/${workflow.id}`;
    await engine.call('DELETE', `${path}/steps/${workflow.steps['Gone']}`);
    const { version } = (await engine.call('GET', path)).body;
    const job = await retryAll(workflow.id, { version });
    expect(job.result).toEqual({ retried: 2, refused: 3 });
    await settled(workflow.id, { EXITED: 2, FAILED: 3 });
    const moved = await db
      .selectFrom('execution')
      .select(['status', 'workflow_version as version'])
      .distinct()
      .where('workflow_id', '=', workflow.id)
      .orderBy('status')
      .execute();
    expect(moved).toEqual([
      { status: 'EXITED', version },
      { status: 'FAILED', version: version - 1 },
    ]);
  });

  it('looks at many page by page, and retries at most 100 a second', async () => {
    const workflow = await exiting();
    await insertFailed(engine, workflow, { step: 'Out', count: 2_100, error: 'other' });
    await insertFailed(engine, workflow, { step: 'Out', count: 160 });
    await db
      .updateTable('execution')
      .set({ started_at: sql<Date>`started_at - interval '1 hour'` })
      .where('error', '<>', 'other')
      .where('workflow_id', '=', workflow.id)
      .execute();
    const job = await retryAll(workflow.id, { errorContains: '503' });
    expect(job.result).toEqual({ retried: 160, refused: 0 });
    expect(job.data.totalRequested).toBe(160);
    const took = Date.parse(job.finishedAt) - Date.parse(job.startedAt);
    expect(took).toBeGreaterThan(1_490);
    await settled(workflow.id, { EXITED: 160, FAILED: 2_100 });
  }, 60_000);

  it('does not hold up the jobs of others while it pauses', async () => {
    const workflows = [await exiting(), await exiting(), await exiting(), await exiting()];
    for (const workflow of workflows) {
      await insertFailed(engine, workflow, { step: 'Out', count: 1_500 });
    }
    const jobs = await Promise.all(
      workflows.map(({ id }) => askForJob(engine, id, 'executions/retry-all')),
    );
    const states = db.selectFrom('job').select('state').where('id', 'in', jobs);
    const stand = async () => (await states.execute()).map(({ state }) => state);
    await waitFor('all to be active', async () => !(await stand()).includes('waiting'));
    const { body } = await engine.call('POST', '/contacts/bulk-unsubscribe', {
      contactIds: [await createContact(engine, newAddress())],
    });
    const ended = async () => {
      const { body: job } = await engine.call('GET', `/contacts/bulk/${body.jobId}`);
      return job.finishedAt;
    };
    await waitFor('the other job to end', ended, 10_000);
    expect(await stand()).toEqual(jobs.map(() => 'active'));
    // Deleting its workflow ends a job, which then retries no further execution.
    for (const { id } of workflows) {
      await engine.call('POST', `/workflows/${id}/executions/cancel-all`);
      await waitFor('the workflow to be deleted', async () => {
        await engine.call('POST', `/workflows/${id}/executions/cancel-all`);
        return (await engine.call('DELETE', `/workflows/${id}`)).status === 204;
      });
    }
    expect(await stand()).toEqual(jobs.map(() => 'cancelled'));
    const gone = await engine.call('GET', `/workflows/${workflows[0]!.id}/jobs/${jobs[0]}`);
    expect(refusal(gone)).toEqual([404, 'WORKFLOW_NOT_FOUND']);
  }, 60_000);
});
