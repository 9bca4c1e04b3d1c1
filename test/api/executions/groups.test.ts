import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { updateWatermark } from '../../../db/watermarks.ts';
import { useShop } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const shop = await useShop();

/** Makes a project with a workflow, and puts executions into states as their runs would. */
async function withWorkflow() {
  const { cookie } = await shop.api.signUp();
  const { secretKey } = await shop.api.createProject(cookie);
  const call = (method: string, path: string, body?: unknown) =>
    shop.api.request(method, path, { key: secretKey, body });
  const makeWorkflow = async (name: string) => {
    const { body } = await call('POST', '/workflows', { name, eventName: randomUUID() });
    const path = `/workflows/${body.id}`;
    const { body: step } = await call('POST', `${path}/steps`, {
      type: 'EXIT',
      name: 'Out',
      config: {},
    });
    await call('PATCH', path, { enabled: true });
    return { id: body.id as string, path, step: step.id as string };
  };
  const make = async ({ path }: { path: string }, given: object): Promise<string> => {
    const { body: contact } = await call('POST', '/contacts', { email: `${randomUUID()}@x.test` });
    const { body } = await call('POST', `${path}/executions`, { contactId: contact.id });
    await shop.api.db.updateTable('execution').set(given).where('id', '=', body.id).execute();
    return body.id;
  };
  const groups = async (query = '') => (await call('GET', `/executions/groups${query}`)).body;
  return { call, makeWorkflow, make, groups };
}

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
const failed = (step: string, error: string, minute: number) => ({
  status: 'FAILED',
  current_step_id: step,
  error,
  completed_at: at(minute),
});

it('groups executions by workflow, step and error, the largest group first', async () => {
  const { makeWorkflow, make, groups } = await withWorkflow();
  const one = await makeWorkflow('One');
  const two = await makeWorkflow('Two');
  for (const minute of [5, 1, 3]) await make(one, failed(one.step, 'It answered 404.', minute));
  await make(one, failed(one.step, 'It answered 500.', 1));
  await make(two, failed(two.step, 'It answered 404.', 1));
  await make(two, failed(two.step, 'It answered 404.', 2));
  await make(one, { status: 'COMPLETED', completed_at: at(1) });
  const step = (id: string) => ({ id, name: 'Out', type: 'EXIT' });
  const first = {
    kind: 'failed',
    workflow: { id: one.id, name: 'One' },
    step: step(one.step),
    error: 'It answered 404.',
    count: 3,
    firstAt: at(1).toISOString(),
    lastAt: at(5).toISOString(),
  };
  expect(await groups()).toEqual([
    first,
    expect.objectContaining({ workflow: { id: two.id, name: 'Two' }, count: 2 }),
    expect.objectContaining({ error: 'It answered 500.', count: 1 }),
  ]);
  expect(await groups(`?workflowId=${two.id}`)).toHaveLength(1);
  expect(await groups('?kind=stuck')).toEqual([]);
});

it('returns the 200 largest of 250 groups, the largest first', async () => {
  const { makeWorkflow, groups } = await withWorkflow();
  const { id, step } = await makeWorkflow('One');
  // Errors 1 to 150 twice, all others once.
  await sql`
    with person as (
      insert into contact (project_id, email, subscribed)
        select project_id, gen_random_uuid() || '@x.test', true
          from workflow, generate_series(1, 400) where id = ${id}
        returning id, project_id
    )
    insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
        status, current_step_id, error, completed_at)
      select person.project_id, workflow.id, version, name, person.id, 'FAILED', ${step},
          'Error ' || row_number() over () % 250, now()
        from person, workflow where workflow.id = ${id}`.execute(shop.api.db);
  const found: { count: number; error: string }[] = await groups();
  const expected = Array.from({ length: 200 }, (_, index) => (index < 150 ? 2 : 1));
  expect(found.map(({ count }) => count)).toEqual(expected);
  expect(new Set(found.map(({ error }) => error)).size).toBe(200);
});

it('counts each execution once, in the first kind that fits', async () => {
  const { makeWorkflow, make, groups } = await withWorkflow();
  const one = await makeWorkflow('One');
  const stuck = { stuck_since: at(7), stuck_reason: 'Its run is missing.', warnings: 1 };
  await make(one, { ...failed(one.step, 'No.', 1), warnings: 2 });
  await make(one, { status: 'WAITING', ...stuck });
  // It was stuck once, and has ended.
  await make(one, { status: 'COMPLETED', completed_at: at(9), ...stuck });
  const of = (kind: string) => expect.objectContaining({ kind, count: 1 });
  const all = await groups();
  expect(all).toHaveLength(3);
  expect(all).toEqual(expect.arrayContaining([of('failed'), of('stuck'), of('warning')]));
  const [found] = await groups('?kind=stuck');
  expect(found).toMatchObject({ error: 'Its run is missing.', firstAt: at(7).toISOString() });
  const [warned] = await groups('?kind=warning');
  expect(warned).toMatchObject({ error: null, firstAt: at(9).toISOString() });
});

it('shows as stuck what a late sweep has not compared with its run', async () => {
  const { makeWorkflow, make, groups } = await withWorkflow();
  const one = await makeWorkflow('One');
  await make(one, {
    status: 'WAITING',
    warnings: 1,
    next_reconcile_at: sql<Date>`now() - interval '2 minutes'`,
  });
  expect(await groups('?kind=warning')).toHaveLength(1);
  await updateWatermark(shop.api.db, 'sweep', new Date(Date.now() - 150_000));
  await waitFor('the late sweep', async () => (await groups('?kind=stuck')).length > 0);
  const [group] = await groups();
  expect(group).toMatchObject({
    kind: 'stuck',
    error: 'The sweep is not running, so a lost run is not restarted.',
  });
  expect(await groups('?kind=warning')).toEqual([]);
  await updateWatermark(shop.api.db, 'sweep', new Date());
});

it('shows nothing of other projects, and refuses unknown kinds', async () => {
  const { makeWorkflow, make } = await withWorkflow();
  const one = await makeWorkflow('One');
  await make(one, failed(one.step, 'No.', 1));
  const other = await withWorkflow();
  expect(await other.groups()).toEqual([]);
  expect(await other.groups(`?workflowId=${one.id}`)).toEqual([]);
  const { status, body } = await other.call('GET', '/executions/groups?kind=lost&workflowId=x');
  expect(status).toBe(422);
  const fields = body.error.errors.map(({ field }: { field: string }) => field);
  expect(fields.toSorted()).toEqual(['kind', 'workflowId']);
});
