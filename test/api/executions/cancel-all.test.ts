import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { holdBackAt } from '../../support/held-insert.ts';
import { useShop } from '../../support/projects/shop.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

/** All executions of a workflow are cancelled, however many there are. */

const shop = await useShop();
const { db } = shop.api;

/** Creates a workflow with so many waiting executions. */
async function busyWorkflow(count: number) {
  const { body } = await shop.call('POST', '/workflows', { name: 'W', eventName: 'e' });
  await beginExecutions(body.id, count);
  return { id: body.id as string, path: `/workflows/${body.id}` };
}

async function beginExecutions(id: string, count: number): Promise<void> {
  await sql`
    with version as (
      insert into workflow_version (workflow_id, version, project_id, graph)
        values (${id}, 1, ${shop.project.id}, '{"steps": [], "transitions": []}')
        on conflict do nothing
    ), people as (
      insert into contact (project_id, email, subscribed)
        select ${shop.project.id}, gen_random_uuid() || '@people.test', true
          from generate_series(1, ${count}) returning id
    )
    insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
        status)
      select ${shop.project.id}, ${id}, 1, 'W', id, 'WAITING' from people`.execute(db);
}

const activeIn = async (id: string) => {
  const { rows } = await sql<{ active: number }>`
    select count(*)::int as active from execution
      where workflow_id = ${id} and status in ('RUNNING', 'WAITING')`.execute(db);
  return rows[0]!.active;
};

it('in pages, so that no request waits for the whole', async () => {
  const { id, path } = await busyWorkflow(1_200);
  const commit = shop.api.dispatched.length;
  const { status, body } = await shop.call('POST', `${path}/executions/cancel-all`);
  expect([status, body]).toEqual([200, { cancelled: 1_200 }]);
  expect(await activeIn(id)).toBe(0);
  expect(shop.api.dispatched.length - commit).toBe(1_200);
  const { rows } = await sql<{ rows: number }>`
    select count(*)::int as rows from execution where workflow_id = ${id}
      group by xmin`.execute(db);
  expect(rows.every((page) => page.rows <= 500)).toBe(true);
  expect(rows).toHaveLength(3);
});

it('also what a request that died has left; not those that began since', async () => {
  const { id } = await busyWorkflow(3);
  await sql`insert into workflow_cancellation (workflow_id, project_id, until)
    values (${id}, ${shop.project.id}, clock_timestamp())`.execute(db);
  await sql`update execution set started_at = clock_timestamp() + interval '1 hour'
    where id = (select id from execution where workflow_id = ${id} limit 1)`.execute(db);
  await tasksOf(shop.api, {}).CANCEL_LATE_EXECUTIONS();
  expect(await activeIn(id)).toBe(1);
  expect(await db.selectFrom('workflow_cancellation').selectAll().execute()).toEqual([]);
});

it('also those that began while the sweep was ending an earlier request', async () => {
  const { id, path } = await busyWorkflow(0);
  await sql`insert into workflow_cancellation (workflow_id, project_id, until)
    values (${id}, ${shop.project.id}, '2026-01-01')`.execute(db);
  const hold = await holdBackAt(db, sql`delete on workflow_cancellation for each statement`);
  const sweep = tasksOf(shop.api, {}).CANCEL_LATE_EXECUTIONS();
  await hold.isReached();
  await beginExecutions(id, 1_200);
  const later = shop.call('POST', `${path}/executions/cancel-all`);
  await waitFor('the later request to wait, or to be recorded', async () => {
    const { rows } = await sql`
      select from workflow_cancellation where workflow_id = ${id} and until > '2026-01-01'
      union all
      select from pg_stat_activity where datname = current_database()
        and wait_event_type = 'Lock' and query like '%insert into "workflow_cancellation"%'`.execute(
      db,
    );
    return rows.length > 0;
  });
  await hold.release();
  await sweep;
  expect((await later).body).toEqual({ cancelled: 1_200 });
  expect(await activeIn(id)).toBe(0);
});
