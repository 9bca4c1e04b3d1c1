import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { listMissedCampaigns } from '../../../db/reads/missed-campaigns.ts';
import { listTimeline, timelineTypes } from '../../../db/reads/timeline.ts';
import { type ExecutionSearch, searchExecutions } from '../../../db/workflows/search/executions.ts';
import { useShop } from '../../support/projects/shop.ts';
import { rowsRead } from '../../support/rows-read.ts';

/** Daily queries read few rows, however large the tables are. */

const shop = await useShop();
const { db } = shop.api;
const projectId = shop.project.id;
/** So many that PostgreSQL never prefers to read and sort all stuck ones. */
const many = 40_000;

const workflows: string[] = [];
for (const name of ['One', 'Two']) {
  const { body } = await shop.call('POST', '/workflows', { name, eventName: name });
  workflows.push(body.id);
  await sql`
    insert into workflow_version (workflow_id, version, project_id, graph)
      values (${body.id}, 1, ${projectId}, '{"steps": [], "transitions": []}')
      on conflict do nothing`.execute(db);
  await sql`
    with people as (
      insert into contact (project_id, email, subscribed)
        select ${projectId}, gen_random_uuid() || '@people.test', true
          from generate_series(1, ${many}::int)
        returning id
    )
    insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
        status, error, warnings, stuck_since, stuck_reason, started_at)
      select ${projectId}, ${body.id}, 1, ${name}, id,
          case when n % 100 = 0 then 'FAILED' when n % 10 = 1 then 'RUNNING' else 'COMPLETED' end,
          case when n % 100 = 0 then 'No. ' || n end, (n % 100 = 2)::int,
          case when n % 10 = 1 then now() end, case when n % 10 = 1 then 'Why' end,
          now() - n * interval '1 second'
        from (select id, row_number() over () as n from people) people`.execute(db);
}
const { body: person } = await shop.call('POST', '/contacts', { email: 'busy@people.test' });
await sql`
  insert into event (project_id, contact_id, name, recorded_at)
    select ${projectId}, ${person.id}, 'clicked-' || n % 3, now() - n * interval '1 second'
      from generate_series(1, ${many}::int) n`.execute(db);
await sql`vacuum analyze execution, contact, event`.execute(db);

/** Without the count of all matches, which the first page has. */
const rowsOfPage = (ask: () => Promise<unknown>) =>
  rowsRead(db, ask, (text) => /\bcount\(/.test(text));

const limit = 21;

it.each<ExecutionSearch>([
  {},
  { statuses: ['FAILED'] },
  { statuses: ['FAILED', 'CANCELLED'] },
  { hasWarnings: true },
  { paused: true },
  { workflowId: workflows[0] },
  { email: 'busy@people.test' },
])('reads about a page of executions by %j', async (search) => {
  const page = () => searchExecutions(db, projectId, search, { limit });
  expect(await rowsOfPage(page)).toBeLessThan(10 * limit);
  const after = { value: new Date(Date.now() - 5_000_000).toISOString(), id: person.id };
  const next = () => searchExecutions(db, projectId, search, { after, limit });
  expect(await rowsOfPage(next)).toBeLessThan(10 * limit);
});

it('reads about a page of those that are stuck', async () => {
  const page = () => searchExecutions(db, projectId, { isStuck: true }, { limit });
  expect(await rowsOfPage(page)).toBeLessThan(10 * limit);
});

it('reads about a page of the events of a contact', async () => {
  const contact = (await shop.contact('busy@people.test'))!;
  const query = { types: timelineTypes, limit };
  const after = { value: new Date(Date.now() - 5_000_000).toISOString(), id: person.id };
  expect(await rowsOfPage(() => listTimeline(db, contact, { ...query, after }))).toBeLessThan(
    10 * limit,
  );
  expect(await rowsOfPage(() => listMissedCampaigns(db, contact, { limit }))).toBeLessThan(limit);
});
