import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { continueRemovals } from '../../../db/removals/removals.ts';
import { useShop } from '../../support/projects/shop.ts';
import { tasksOf } from '../../support/sweep-now.ts';

/**
 * Rows of a deleted resource are deleted in pages; until then, the API hides those of a workflow
 * or segment.
 */

const shop = await useShop();
const { db } = shop.api;

const rowsIn = async (table: string, column: string, id: string) => {
  const { rows } = await sql<{ rows: number }>`
    select count(*)::int as rows from ${sql.table(table)} where ${sql.ref(column)} = ${id}`.execute(
    db,
  );
  return rows[0]!.rows;
};

/** Inserts contacts, and for each a row of another table by `insert`. */
const insertForContacts = (count: number, insert: ReturnType<typeof sql>) =>
  sql`
    with people as (
      insert into contact (project_id, email, subscribed)
        select ${shop.project.id}, gen_random_uuid() || '@people.test', true
          from generate_series(1, ${count}::int) returning id
    ) ${insert}`.execute(db);

const onePage = () => {
  let pages = 0;
  return () => (pages += 1) > 1;
};

it('executions of a workflow', async () => {
  const { body: made } = await shop.call('POST', '/workflows', { name: 'W', eventName: 'e' });
  const id = made.id as string;
  await insertForContacts(
    1_200,
    sql`insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
        status, completed_at)
      select ${shop.project.id}, ${id}, 1, 'W', id, 'COMPLETED', now() from people`,
  );
  const feed = async () => (await shop.call('GET', '/activity?types=workflow.completed')).body;
  const { body: before } = await shop.call('GET', '/activity/stats');
  expect((await feed()).data).toHaveLength(50);
  expect((await shop.call('DELETE', `/workflows/${id}`)).status).toBe(204);

  expect((await shop.call('GET', `/workflows/${id}/executions`)).status).toBe(404);
  expect((await feed()).data).toEqual([]);
  const { body: after } = await shop.call('GET', '/activity/stats');
  expect([before.totalWorkflowsStarted, after.totalWorkflowsStarted]).toEqual([1_200, 0]);
  expect(await rowsIn('execution', 'workflow_id', id)).toBe(1_200);

  await continueRemovals(db, onePage());
  expect(await rowsIn('execution', 'workflow_id', id)).toBe(700);
  await tasksOf(shop.api, {}).CONTINUE_REMOVALS();
  expect(await rowsIn('execution', 'workflow_id', id)).toBe(0);
  expect(await rowsIn('workflow_version', 'workflow_id', id)).toBe(0);
  expect(await rowsIn('removal', 'id', id)).toBe(0);
});

it('events that the digests of a workflow have taken, before the executions', async () => {
  const { body: made } = await shop.call('POST', '/workflows', { name: 'W', eventName: 'e' });
  const id = made.id as string;
  await insertForContacts(
    2,
    sql`, started as (
        insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
            status, completed_at)
          select ${shop.project.id}, ${id}, 1, 'W', id, 'COMPLETED', now() from people
          returning id, project_id, contact_id
      ), passed as (
        insert into step_execution (project_id, execution_id, step_id, status)
          select project_id, id, id, 'COMPLETED' from started
          returning id, project_id, execution_id, step_id
      )
      insert into digest_event (project_id, contact_id, event_id, step_id, step_execution_id,
          recorded_at)
        select passed.project_id, contact_id, gen_random_uuid(), step_id, passed.id, now()
          from passed join started on started.id = passed.execution_id
          cross join generate_series(1, 3000)`,
  );
  expect((await shop.call('DELETE', `/workflows/${id}`)).status).toBe(204);
  const taken = () => rowsIn('digest_event', 'project_id', shop.project.id);
  await continueRemovals(db, onePage());
  expect([await taken(), await rowsIn('execution', 'workflow_id', id)]).toEqual([1_000, 2]);
  await continueRemovals(db, () => false);
  expect([await taken(), await rowsIn('execution', 'workflow_id', id)]).toEqual([0, 0]);
});

it('the past of a contact with very many events, before the contact', async () => {
  const { body: contact } = await shop.call('POST', '/contacts', { email: 'busy@people.test' });
  await sql`
    insert into event (project_id, contact_id, name)
      select ${shop.project.id}, ${contact.id}, 'busy' from generate_series(1, 12000)`.execute(db);
  expect((await shop.call('DELETE', `/contacts/${contact.id}`)).status).toBe(204);
  expect(await rowsIn('event', 'contact_id', contact.id)).toBe(0);
  // Each statement records how many events it has deleted.
  const { rows } = await sql<{ count: number }>`
    select count::int from event_tally where name = 'busy' order by count`.execute(db);
  expect(rows.map(({ count }) => count)).toEqual([-5_000, -5_000, -2_000, 12_000]);
});

it('members of a segment', async () => {
  const { body: made } = await shop.call('POST', '/segments', { name: 'S', type: 'STATIC' });
  const id = made.id as string;
  await insertForContacts(
    6_000,
    sql`insert into segment_member (project_id, segment_id, contact_id)
      select ${shop.project.id}, ${id}, id from people`,
  );
  expect((await shop.call('DELETE', `/segments/${id}`)).status).toBe(204);
  expect((await shop.call('GET', `/segments/${id}/contacts`)).status).toBe(404);
  await continueRemovals(db, onePage());
  expect(await rowsIn('segment_member', 'segment_id', id)).toBe(1_000);
  await continueRemovals(db, () => false);
  expect(await rowsIn('segment_member', 'segment_id', id)).toBe(0);
  expect(await rowsIn('removal', 'id', id)).toBe(0);
});
