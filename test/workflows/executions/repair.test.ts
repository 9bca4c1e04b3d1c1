import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { beginExecution, executionIn } from '../../support/histories/executions.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();

/** Starts an execution that waits, and whose run is recorded. */
async function waiting() {
  const { workflow, id, path } = await beginExecution(engine, {
    steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'clicked' } }],
  });
  await waitFor('the run to be noted', async () => {
    const { body } = await engine.call('GET', path);
    return body.status === 'WAITING' && body.temporalRunId;
  });
  const run = engine.temporal.client.workflow.getHandle(`execution-${id}`);
  return { workflow, id, run };
}

/** Sweeps until the execution has the status, because Temporal lists runs a moment late. */
async function repaired(workflowId: string, id: string, status: string) {
  return waitFor(`execution ${status}`, async () => {
    await sweepNow(engine);
    const { body } = await engine.call('GET', `/workflows/${workflowId}/executions/${id}`);
    return body.status === status ? body : null;
  });
}

describe('a run that was ended in Temporal itself', () => {
  it('leaves a FAILED execution with a sentence when it was terminated', async () => {
    const { workflow, id, run } = await waiting();
    await run.terminate('by an operator');
    const row = await repaired(workflow.id, id, 'FAILED');
    expect(row).toMatchObject({
      error:
        'The run of the execution was terminated, failed or timed out in Temporal. Retry the execution to continue.',
      exitReason: null,
    });
    expect(row.stepExecutions[1].status).toBe('SKIPPED');

    // After the retry it waits at the same step.
    await engine.call('POST', `/workflows/${workflow.id}/executions/${id}/retry`);
    await executionIn(engine, workflow.id, id, 'WAITING');
    await engine.call('POST', '/v1/track', { email: row.contact.email, event: 'clicked' });
    await executionIn(engine, workflow.id, id, 'COMPLETED');
  });

  it('leaves a CANCELLED execution when it was cancelled', async () => {
    const { workflow, id, run } = await waiting();
    await run.cancel();
    const row = await repaired(workflow.id, id, 'CANCELLED');
    expect(row).toMatchObject({ error: null, exitReason: 'cancelled' });
  });

  it('is no matter of executions that go on', async () => {
    const { workflow, id } = await waiting();
    await sweepNow(engine);
    await executionIn(engine, workflow.id, id, 'WAITING');
  });
});
