import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { beginExecution } from '../../support/histories/executions.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();

/** Returns the runs that Temporal lists for a query of an operator. */
async function found(query: string) {
  const runs = [];
  for await (const run of engine.temporal.client.workflow.list({ query })) runs.push(run);
  return runs.map(({ workflowId, runId }) => ({ workflowId, runId }));
}

it('finds a failed run by the names of its project, workflow and step, and each retry as a run of its own', async () => {
  const { path, until } = await beginExecution(engine, {
    steps: [
      { type: 'WEBHOOK', name: 'Call', config: { url: 'http://10.0.0.1/', onFailure: 'fail' } },
    ],
  });
  const { temporalWorkflowId: workflowId, temporalRunId: failed } = await until('FAILED');
  const own = `WorkflowId = "${workflowId}" AND ProjectName = "My shop" AND WorkflowName = "Journey"`;
  const query = `${own} AND FailedStep = "Call"`;
  const run = await waitFor('the failed run to be listed', async () => (await found(query))[0]);
  expect(run).toEqual({ workflowId, runId: failed });

  await engine.call('POST', `${path}/retry`, {});
  const again = await waitFor('the second run to fail', async () => {
    const runs = await found(query);
    return runs.length === 2 ? runs : null;
  });
  expect(new Set(again.map(({ runId }) => runId)).size).toBe(2);
  expect(new Set(again.map((one) => one.workflowId))).toEqual(new Set([workflowId]));
});
