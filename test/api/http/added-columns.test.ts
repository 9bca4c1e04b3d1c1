import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { newAddress, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

/** Returns the process ids of the connections to the test's database. */
async function pids(): Promise<number[]> {
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_stat_activity where datname = current_database()
      and backend_type = 'client backend'`.execute(shop.api.db);
  return rows.map(({ pid }) => pid);
}

it('a migration that adds a column to every table breaks no process that is running', async () => {
  const { api, call } = shop;
  const template = await shop.createTemplate();
  const { body: workflow } = await call('POST', '/workflows', { name: 'W', eventName: 'joined' });
  await call('POST', `/workflows/${workflow.id}/steps`, { type: 'EXIT', name: 'Out', config: {} });
  await call('PATCH', `/workflows/${workflow.id}`, { enabled: true });
  const email = newAddress();
  const requests: [method: string, path: string, body?: unknown][] = [
    ['POST', '/v1/track', { email, event: 'joined', data: { plan: 'pro' } }],
    ['POST', '/v1/send', { to: email, template, from: `team@${shop.domain}` }],
    ['POST', '/contacts', { email, data: { plan: 'free' } }],
    ['GET', '/contacts'],
    ['GET', '/emails'],
    ['GET', '/events'],
    ['GET', '/activity'],
    ['GET', '/activity/upcoming'],
    ['GET', '/templates'],
    ['GET', '/campaigns'],
    ['GET', '/segments'],
    ['GET', `/domains/project/${shop.project.id}`],
    ['GET', '/workflows'],
    ['GET', `/workflows/${workflow.id}`],
    ['GET', `/workflows/${workflow.id}/executions`],
  ];
  const statuses = async () => {
    const answers: [path: string, status: number][] = [];
    for (const [method, path, body] of requests) {
      answers.push([path, (await call(method, path, body)).status]);
    }
    return answers;
  };
  // Often enough for every connection to have prepared the statements.
  for (let time = 0; time < 8; time += 1) await statuses();
  const before = await statuses();
  expect(before.filter(([, status]) => status !== 200)).toEqual([]);

  const { rows: tables } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = 'public'`.execute(api.db);
  for (const { name } of tables) {
    await sql`alter table ${sql.table(name)} add column added_later text`.execute(api.db);
  }
  const connections = await pids();
  expect(await statuses()).toEqual(before);
  // No statement had to be repeated on a new connection.
  expect((await pids()).filter((pid) => !connections.includes(pid))).toEqual([]);
});
