import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { findRequest, listRequests, type RequestSearch } from '../../../db/requests/requests.ts';
import { deleteOldest, insertRequests } from '../../../db/requests/store.ts';
import { useApi } from '../../support/api.ts';
import { readingsOf } from '../../support/rows-read.ts';
import { recordStatements, type Statement } from '../../support/statements.ts';

const { db } = await useApi();
const [ownerId, neighbour] = [randomUUID(), randomUUID()];
const days = 20;
const since = new Date(Date.now() - 30 * 86_400_000);

/** 40,000 requests over 20 days, half of each project; one of a thousand was refused. */
beforeAll(async () => {
  await sql`select make_request_day((now() at time zone 'utc')::date - day)
    from generate_series(0, ${days}::int) day`.execute(db);
  await sql`
    insert into request_log (owner_id, at, id, request_id, method, route, status, ms, actor, ip, sample)
      select case number % 2 when 0 then ${ownerId}::uuid else ${neighbour}::uuid end,
          now() - number * make_interval(days => ${days}) / 40000, gen_random_uuid(), 'id ' || number,
          'GET', '/topics', case when number % 1000 < 2 then 404 else 200 end, 1, 'key:secret',
          '127.0.0.1', 1
        from generate_series(1, 40000) number`.execute(db);
  await sql`analyze request_log`.execute(db);
});

async function statementsOf(ask: () => Promise<unknown>): Promise<Statement[]> {
  const statements = recordStatements();
  await ask();
  return statements.take().filter(({ text }) => text.includes('request_log'));
}

/** Returns the most rows that a plan of the statements reads. */
async function rowsOf(ask: () => Promise<unknown>): Promise<number> {
  const readings = [];
  for (const statement of await statementsOf(ask)) {
    readings.push(...(await readingsOf(db, statement)));
  }
  return Math.max(...readings.map(({ rows }) => rows));
}

const after = { value: new Date().toISOString(), id: randomUUID() };
const list = (search: Partial<RequestSearch>) =>
  listRequests(db, ownerId, { actors: [], ...search }, { since, after, limit: 21 });

describe('reading the requests of a project', () => {
  it('reads a page of the newest, and no request of another project', async () => {
    expect((await list({})).rows).toHaveLength(21);
    expect(await rowsOf(() => list({}))).toBeLessThanOrEqual(21);
  });

  it('reads only refused requests to list these', async () => {
    expect((await list({ status: [404, 404] })).rows.length).toBeGreaterThan(10);
    expect(await rowsOf(() => list({ status: [404, 404] }))).toBeLessThanOrEqual(21);
  });

  it('counts up to 10,000', async () => {
    const search = { actors: [] };
    expect((await listRequests(db, ownerId, search, { since, limit: 21 })).total).toBe(10_000);
  });

  it('finds one by its id', async () => {
    const find = () => findRequest(db, ownerId, { since, requestId: 'id 30000' });
    expect(await find()).toMatchObject({ request_id: 'id 30000' });
    expect(await rowsOf(find)).toBeLessThanOrEqual(1);
  });
});

it('reads only the oldest of a project to delete them', async () => {
  expect(await rowsOf(() => deleteOldest(db, ownerId, 50))).toBeLessThanOrEqual(50);
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from request_log where owner_id = ${neighbour}`.execute(db);
  expect(rows[0]!.count).toBe(20_000);
});

it('stores nothing for a project that is not there', async () => {
  const [row] = (await list({})).rows;
  const request = { ownerId: randomUUID(), at: row!.at, id: randomUUID(), requestId: 'x' };
  await insertRequests(db, [
    {
      ...request,
      method: 'GET',
      route: null,
      status: 404,
      ms: 1,
      errorCode: null,
      actor: 'key:secret',
      ip: '127.0.0.1',
      idempotency: null,
      sample: 1,
      errors: null,
      details: null,
    },
  ]);
  const found = findRequest(db, request.ownerId, { since, requestId: 'x' });
  expect(await found).toBeUndefined();
});
