import { randomUUID } from 'node:crypto';
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { executionRunId } from '../../../domain/runs/execution.ts';
import { resetExecution } from '../../../worker/reset.ts';
import { bundleChanged } from '../../support/histories/changed-bundle.ts';
import { useEngine } from '../../support/engine.ts';
import {
  beginExecution,
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();

/** Starts an execution that waits after its first mail: mail, wait for `clicked`, mail, end. */
async function waitingExecution() {
  const email = `${randomUUID()}@people.test`;
  const workflow = await createWorkflow(engine, {
    eventName: randomUUID(),
    steps: [
      { type: 'SEND_EMAIL', name: 'Mail', templateId: await createTemplate(engine) },
      { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'clicked' } },
      { type: 'SEND_EMAIL', name: 'Thanks', templateId: await createTemplate(engine) },
    ],
    ways: [
      ['TRIGGER', 'Mail'],
      ['Mail', 'Wait'],
      ['Wait', 'Thanks', 'event'],
    ],
  });
  const id = await startByHand(engine, workflow.id, await createContact(engine, email));
  await executionIn(engine, workflow.id, id, 'WAITING');
  const handle = engine.temporal.client.workflow.getHandle(executionRunId(id));
  // The row has the state before Temporal has the run's first commands, because local activities
  // write it.
  await waitFor('the run to wait', async () =>
    (await handle.fetchHistory()).events?.some(
      (event) => event.workflowTaskCompletedEventAttributes,
    ),
  );
  return { id, email, workflow, handle };
}

function reset(id: string) {
  const bundle = { codePath: inject('workflowBundle') };
  return resetExecution({ db: engine.api.db, client: engine.temporal.client, bundle }, id);
}

/**
 * Tracks the event, and expects that the execution completes in this run, with each mail sent
 * once.
 */
async function expectToGoOn(
  { id, email, workflow }: Awaited<ReturnType<typeof waitingExecution>>,
  runId: string,
) {
  await engine.call('POST', '/v1/track', { email, event: 'clicked' });
  const execution = await executionIn(engine, workflow.id, id, 'COMPLETED');
  expect(execution.temporalRunId).toBe(runId);
  expect(await engine.mailsTo(email, 2)).toHaveLength(2);
}

describe('npm run reset', () => {
  it('lets an execution go on whose run was terminated by hand', async () => {
    const waiting = await waitingExecution();
    await waiting.handle.terminate('by hand');
    await expectToGoOn(waiting, (await reset(waiting.id)).runId);
  });

  it('lets an execution go on whose run was cancelled by hand', async () => {
    const waiting = await waitingExecution();
    await waiting.handle.cancel();
    await waiting.handle.result().catch(() => {});
    await expectToGoOn(waiting, (await reset(waiting.id)).runId);
  });

  it('leaves no run behind when the execution is cancelled meanwhile', async () => {
    const { id, workflow, handle } = await waitingExecution();
    await handle.terminate('by hand');
    const { workflowService } = engine.temporal.client;
    const given = workflowService.resetWorkflowExecution.bind(workflowService);
    const spy = vi.spyOn(workflowService, 'resetWorkflowExecution');
    onTestFinished(() => spy.mockRestore());
    spy.mockImplementation(async (...args: Parameters<typeof given>) => {
      const path = `/workflows/${workflow.id}/executions/${id}`;
      expect((await engine.call('DELETE', path)).status).toBe(200);
      return given(...args);
    });
    await expect(reset(id)).rejects.toThrow('has ended');
    await waitFor(
      'the end of the run',
      async () => (await handle.describe()).status.name === 'CANCELLED',
    );
  });

  it('leaves a run alone that goes on by itself', async () => {
    const waiting = await waitingExecution();
    const { runId } = await waiting.handle.describe();
    await expect(reset(waiting.id)).rejects.toThrow('it continues by itself');
    await expectToGoOn(waiting, runId);
    await expect(reset(waiting.id)).rejects.toThrow('is COMPLETED: there is nothing left to do');
  });

  it('suggests to retry a failed execution', async () => {
    const { id, path, until } = await beginExecution(engine, {
      steps: [
        { type: 'WEBHOOK', name: 'Call', config: { url: 'http://10.0.0.1/', onFailure: 'fail' } },
      ],
    });
    const { workflowVersion } = await until('FAILED');
    const told: unknown = await reset(id).catch((error: unknown) => error);
    expect(String(told)).toContain(`${path}/retry`);
    expect(String(told)).toContain(`continues on version ${workflowVersion} of the workflow`);
  });

  it('prints when a run ended before it did anything', async () => {
    await engine.stopWorker();
    const { id } = await beginExecution(engine, {
      steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'never' } }],
    });
    const handle = engine.temporal.client.workflow.getHandle(executionRunId(id));
    await waitFor('the run', () =>
      handle.terminate('by hand').then(
        () => true,
        () => false,
      ),
    );
    await expect(reset(id)).rejects.toThrow('there is no point to reset to');
    await engine.startWorker();
  });

  it('knows no execution of another id', async () => {
    const id = randomUUID();
    await expect(reset(id)).rejects.toThrow(`There is no execution ${id}.`);
  });

  it('goes back to before the way parted when the code was changed without a guard', async () => {
    await engine.stopWorker();
    const waiting = await withOtherCode(waitingExecution);
    await engine.startWorker();
    await engine.call('POST', '/v1/track', { email: waiting.email, event: 'clicked' });
    await waitFor('a workflow task to fail', async () => {
      const { events } = await waiting.handle.fetchHistory();
      return events?.some((event) => event.workflowTaskFailedEventAttributes);
    });
    const { runId } = await reset(waiting.id);
    const done = await executionIn(engine, waiting.workflow.id, waiting.id, 'COMPLETED', 30_000);
    expect(done.temporalRunId).toBe(runId);
    expect(await engine.mailsTo(waiting.email, 2)).toHaveLength(2);
  });
});

/** Runs `run` while the only worker has a timer before every step in its workflow code. */
async function withOtherCode<T>(run: () => Promise<T>): Promise<T> {
  const start = 'const { step } = command;\n  switch (command.do) {';
  await engine.startWorker(
    await bundleChanged([[start, start.replace('switch', 'await sleep(1);\n  switch')]]),
  );
  try {
    return await run();
  } finally {
    await engine.stopWorker();
  }
}
