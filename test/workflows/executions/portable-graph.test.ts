import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { createContact } from '../../support/histories/executions.ts';
import { nineSteps } from '../../support/projects/portable-graph.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();

/** Starts an execution. Returns it with the names of its steps, once it has ended. */
async function play(workflowId: string, plan: string) {
  const contactId = await createContact(engine, `${randomUUID()}@people.test`);
  await engine.call('PATCH', `/contacts/${contactId}`, { data: { plan } });
  const path = `/workflows/${workflowId}/executions`;
  const { body } = await engine.call('POST', path, { contactId });
  return waitFor('the execution to rest', async () => {
    const { body: execution } = await engine.call('GET', `${path}/${body.id}`);
    if (execution.status === 'RUNNING') return null;
    const steps = execution.stepExecutions as { step: { name: string } }[];
    return { execution, names: steps.map(({ step }) => step.name) };
  });
}

it('a graph that is put runs, and a wait goes on in the next one that is put', async () => {
  const { body: workflow } = await engine.call('POST', '/workflows', { name: 'W' });
  const path = `/workflows/${workflow.id}`;
  expect((await engine.call('PUT', `${path}/graph`, nineSteps)).status).toBe(200);
  expect((await engine.call('PATCH', path, { enabled: true })).status).toBe(200);

  const pro = await play(workflow.id, 'pro');
  expect(pro.execution).toMatchObject({ status: 'EXITED', exitReason: 'end' });
  expect(pro.names).toEqual(['Start', 'which step', 'pro step', 'end step']);

  const free = await play(workflow.id, 'free');
  expect(free.execution).toMatchObject({ status: 'WAITING', workflowVersion: 2 });
  const steps = nineSteps.steps.map((step) =>
    step.key === 'paid' ? { ...step, config: { updates: { paid: 'yes' } } } : step,
  );
  const changed = await engine.call('PUT', `${path}/graph`, { ...nineSteps, steps });
  expect(changed.body.version).toBe(3);
  const dryRun = await engine.call('POST', `${path}/dry-run`, {});
  expect(dryRun.body.data.versions).toEqual([
    { version: 2, active: 1, same: 0, differs: 1, unmappable: 0 },
  ]);
  expect(dryRun.body.data.steps).toMatchObject([{ name: 'wait step', reason: 'same_id' }]);
});
