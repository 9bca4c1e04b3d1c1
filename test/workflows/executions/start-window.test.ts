import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { insertExecution } from '../../../db/transactions/executions/start-execution.ts';
import { useEngine } from '../../support/engine.ts';
import { createContact, createWorkflow } from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine({}, { worker: false });
const { db } = engine.api;

const started = async (workflowId: string) => {
  const { rows } = await sql<{ id: string }>`
    select id from execution where workflow_id = ${workflowId} and temporal_run_id is not null`.execute(
    db,
  );
  return rows.map(({ id }) => id);
};

it('a burst of starts waits in the outbox until the workers have begun the first ones', async () => {
  const steps = [{ type: 'EXIT', name: 'Out', config: {} }];
  const burst = await createWorkflow(engine, { eventName: randomUUID(), steps });
  const contacts = await Promise.all(
    Array.from({ length: 40 }, () => createContact(engine, newAddress())),
  );
  await transact(db, async (tx) => {
    for (const contactId of contacts) {
      const given = { workflowId: burst.id, contactId, context: null, causedBy: 'key:secret' };
      await insertExecution(tx, { projectId: engine.project.id, ...given });
    }
  });
  await waitFor('the first', async () => (await started(burst.id)).length === 16);

  const { api } = engine;
  const project = await api.createProject((await api.signUp()).cookie);
  const call: typeof engine.call = (method, path, body) =>
    api.request(method, path, { key: project.secretKey, body });
  const neighbour = { ...engine, project, call };
  const eventName = randomUUID();
  const single = await createWorkflow(neighbour, { eventName, steps });
  await call('POST', '/v1/track', { event: eventName, email: newAddress() });
  await waitFor('another project’s', async () => (await started(single.id)).length === 1);
  expect(await started(burst.id)).toHaveLength(16);

  // Sets the time as when a step begins.
  const begun = await started(burst.id);
  await sql`update execution set updated_at = now() where id = any(${begun})`.execute(db);
  await waitFor('the next', async () => (await started(burst.id)).length > 16);
  expect((await started(burst.id)).length).toBeLessThanOrEqual(32);

  await engine.startWorker();
  await waitFor('the end', async () => {
    const { rows } = await sql`
      select from execution where completed_at is null and project_id in
        (${engine.project.id}, ${project.id})`.execute(db);
    return rows.length === 0;
  });
});

it('what was left behind is sent to the end, however much it is', async () => {
  const projectId = randomUUID();
  await sql`
    insert into outbox (run_id, project_id, kind, action, due_at)
      select 'execution-' || gen_random_uuid(), ${projectId}::uuid, 'customerWorkflow', 'cancel',
          now() - interval '1 minute'
        from generate_series(1, 250)`.execute(db);
  await engine.services.dispatcher.dispatchOverdue();
  await waitFor('an empty outbox', async () => {
    const { rows } = await sql`select from outbox where project_id = ${projectId}`.execute(db);
    return rows.length === 0;
  });
});
