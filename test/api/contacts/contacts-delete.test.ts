import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { createContact, createWorkflow } from '../../support/histories/executions.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();

it('a contact that waits in a workflow is deleted, and its run ends', async () => {
  const { call, api, temporal } = engine;
  await createWorkflow(engine, {
    eventName: 'started',
    steps: [
      { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'never' } },
      { type: 'EXIT', name: 'End' },
    ],
  });
  const email = 'ada@x.test';
  const contactId = await createContact(engine, email);
  await call('POST', '/v1/track', { email, event: 'started' });
  const execution = await waitFor('a waiting execution', async () => {
    const row = await api.db
      .selectFrom('execution')
      .select(['id', 'status'])
      .where('contact_id', '=', contactId)
      .executeTakeFirst();
    return row?.status === 'WAITING' ? row : null;
  });
  const run = temporal.client.workflow.getHandle(`execution-${execution.id}`);
  expect((await run.describe()).status.name).toBe('RUNNING');

  expect((await call('DELETE', `/contacts/${contactId}`)).status).toBe(204);
  await waitFor('the end of the run', async () => {
    const { status } = await run.describe();
    return status.name !== 'RUNNING';
  });
  await waitFor('an empty outbox', async () => {
    const left = api.db.selectFrom('outbox').select('run_id');
    return (await left.where('run_id', '=', `execution-${execution.id}`).execute()).length === 0;
  });
});
