import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { pauseWorkflow, releaseExecutions } from '../../../db/workflows/executions/pausing.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const shop = await useShop();
const { db } = shop.api;

/** Inserts a held execution of a workflow. Returns its contact. */
async function insertHeld(workflowId: string): Promise<string> {
  const { body: contact } = await shop.call('POST', '/contacts', { email: newAddress() });
  await sql`
    with version as (
      insert into workflow_version (workflow_id, version, project_id, graph)
        values (${workflowId}, 1, ${shop.project.id}, '{"steps": [], "transitions": []}')
        on conflict do nothing
    )
    insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
        status, held_at)
      values (${shop.project.id}, ${workflowId}, 1, 'W', ${contact.id}, 'RUNNING', now())
    `.execute(db);
  return contact.id;
}

it('releases also what a second pause has held while the first was released', async () => {
  const { body } = await shop.call('POST', '/workflows', { name: 'W', eventName: 'e' });
  const setPaused = (isPaused: boolean) =>
    transact(db, async (tx) => {
      const workflow = await tx
        .selectFrom('workflow')
        .select(['id', 'project_id', 'paused_at'])
        .where('id', '=', body.id)
        .forUpdate()
        .executeTakeFirstOrThrow();
      await pauseWorkflow(tx, workflow, isPaused);
    });
  await setPaused(true);
  const contactId = await insertHeld(body.id);
  await setPaused(false);
  const first = await db.transaction().execute(async (tx) => {
    await sql`select from contact where id = ${contactId} for update`.execute(tx);
    const release = releaseExecutions(db, body.id, () => true);
    await waitFor('the release to wait', async () => {
      const { rows } = await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
      return rows.length > 0;
    });
    await setPaused(true);
    await insertHeld(body.id);
    await setPaused(false);
    return { release };
  });
  await first.release;
  await releaseExecutions(db, body.id, () => false);
  const { rows } = await sql`select from execution
    where workflow_id = ${body.id} and held_at is not null`.execute(db);
  expect(rows).toHaveLength(0);
});
