import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';
import { RequestLog } from '../../../api/services/request-log.ts';
import {
  deleteProjectPage,
  deleteRemovedProject,
  removeProject,
  resetProject,
} from '../../../db/transactions/projects/delete-project.ts';
import { insertRequests, makeDays, type StoredRequest } from '../../../db/requests/store.ts';
import { transact } from '../../../db/database.ts';
import { useApi } from '../../support/api.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

const api = await useApi({
  REQUEST_LOG_DAYS: '30',
  DATABASE_LOCK_TIMEOUT_MS: '200',
  RATE_LIMIT_ENABLED: 'true',
  RATE_LIMIT_PROJECT_PER_MINUTE: '5',
  RATE_LIMIT_AUTH_PER_MINUTE: '1000',
});
const { db, services } = api;
// Each of a new user, because users have a limit, too.
const newProject = async () => api.createProject((await api.signUp()).cookie);

const dayMs = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * dayMs);
const requestOf = (ownerId: string, given: Partial<StoredRequest> = {}): StoredRequest => ({
  ownerId,
  at: new Date(),
  id: randomUUID(),
  requestId: randomUUID(),
  method: 'GET',
  route: '/topics',
  status: 200,
  ms: 1,
  errorCode: null,
  actor: 'key:secret',
  ip: '127.0.0.1',
  idempotency: null,
  sample: 1,
  errors: null,
  details: null,
  ...given,
});

async function store(requests: StoredRequest[]): Promise<string[]> {
  await makeDays(db, requests);
  return insertRequests(db, requests);
}

async function countOf(ownerId: string): Promise<{ rows: number; counted: number }> {
  const { rows } = await sql<{ rows: number; counted: number }>`
    select (select count(*)::int from request_log where owner_id = ${ownerId}) as rows,
      (select coalesce(sum(rows), 0)::int from request_log_count where owner_id = ${ownerId}) as counted
    `.execute(db);
  return rows[0]!;
}

async function partitions(): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select inhrelid::regclass::text as name from pg_inherits
      where inhparent = 'request_log'::regclass order by 1`.execute(db);
  return rows.map(({ name }) => name);
}
const partitionOf = (at: Date) =>
  `request_log_${at.toISOString().slice(0, 10).replaceAll('-', '')}`;

const sweepTasks = (days = 30) => tasksOf(api, { requestLogDays: days });

describe('storing requests', () => {
  it('makes the partition of a new day, although no worker runs', async () => {
    const { id } = await newProject();
    const request = requestOf(id, { at: daysAgo(-5) });
    services.requestLog!.add(request);
    await services.requestLog!.flush();
    expect(await partitions()).toContain(partitionOf(request.at));
    expect(await countOf(id)).toEqual({ rows: 1, counted: 1 });
  });

  it('stores each request once, also when the answer of the database was lost', async () => {
    const { id } = await newProject();
    const requests = [requestOf(id), requestOf(id)];
    await store(requests);
    await insertRequests(db, [...requests, requestOf(id)]);
    expect(await countOf(id)).toEqual({ rows: 3, counted: 3 });
  });

  it('waits while the database does not answer, and delays no request', async () => {
    const { id, secretKey: key } = await newProject();
    await store([requestOf(id)]);
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const held = db.transaction().execute(async (tx) => {
      await sql`lock table request_log in access exclusive mode`.execute(tx);
      await released;
    });
    for (let at = 0; at < 3; at += 1) {
      expect((await api.request('GET', '/segments', { key })).status).toBe(200);
    }
    await services.requestLog!.flush();
    release();
    await held;
    await services.requestLog!.flush();
    expect(await countOf(id)).toEqual({ rows: 4, counted: 4 });
  });

  it('drops what does not fit into its memory, first of the project that sends most', async () => {
    const metrics = { countUnloggedRequests: vi.fn() };
    const { db: away, metrics: _, ...rest } = services;
    const log = new RequestLog({ ...rest, db: away, metrics: metrics as never });
    const [busy, other] = [(await newProject()).id, (await newProject()).id];
    for (let at = 0; at < 3_000; at += 1) log.add(requestOf(busy));
    log.add(requestOf(other));
    expect(metrics.countUnloggedRequests).toHaveBeenCalledTimes(500);
    await log.close();
    expect((await countOf(busy)).rows).toBe(2_500);
    expect((await countOf(other)).rows).toBe(1);
  });

  it('stores what still waits when the process stops', async () => {
    const { id } = await newProject();
    const log = new RequestLog(services);
    log.add(requestOf(id));
    await log.close();
    expect((await countOf(id)).rows).toBe(1);
  });

  it('stores requests within seconds, without another request', async () => {
    const { id, secretKey: key } = await newProject();
    await api.request('GET', '/segments', { key });
    await waitFor('the entry', async () => (await countOf(id)).rows === 1, 10_000);
  });
});

describe('a project', () => {
  it('has the first 60 requests over its limit of a minute in the log', async () => {
    const { id, secretKey: key } = await newProject();
    for (let at = 0; at < 70; at += 1) await api.request('GET', '/segments', { key });
    await services.requestLog!.flush();
    expect((await countOf(id)).rows).toBe(65);
  });

  it('cannot be flooded with refused requests, which the rate limit does not count', async () => {
    const { id, publicKey: key } = await newProject();
    const dropped = vi.spyOn(services.metrics, 'countUnloggedRequests');
    for (let at = 0; at < 150; at += 10) {
      const ten = Array.from({ length: 10 }, () => api.request('GET', '/no-such-path', { key }));
      await Promise.all(ten);
    }
    const kept = await waitFor('the look-ups', async () => {
      await services.requestLog!.flush();
      const { rows } = await countOf(id);
      return rows + dropped.mock.calls.length === 150 && rows;
    });
    // A new minute may have begun meanwhile.
    expect(kept).toBeLessThanOrEqual(2 * 65);
    dropped.mockRestore();
  });

  it('loses its oldest requests when it has too many, and no other loses any', async () => {
    const [full, other] = [(await newProject()).id, (await newProject()).id];
    const old = Array.from({ length: 20 }, (_, at) => requestOf(full, { at: daysAgo(20 - at) }));
    await store([...old, requestOf(other, { at: daysAgo(20) })]);
    await db
      .updateTable('request_log_count')
      .set({ rows: 997_001 })
      .where('owner_id', '=', full)
      .where('day', '=', sql<Date>`${old[0]!.at.toISOString().slice(0, 10)}::date`)
      .execute();
    for (let at = 0; at < 1_010; at += 1) services.requestLog!.add(requestOf(full));
    await services.requestLog!.flush();
    const { rows } = await sql<{ oldest: Date; rows: number }>`
      select min(at) as oldest, count(*)::int as rows from request_log
        where owner_id = ${full}`.execute(db);
    expect(rows[0]!.oldest.getTime()).toBeGreaterThan(daysAgo(1).getTime());
    expect(rows[0]!.rows).toBe(1_010);
    expect((await countOf(other)).rows).toBe(1);
  });

  it('keeps its requests when it is reset, and takes them along when it is deleted', async () => {
    const { id } = await newProject();
    await store([requestOf(id), requestOf(id, { at: daysAgo(3) })]);
    await transact(db, (tx) => resetProject(tx, id));
    const { id: rowId } = await db
      .selectFrom('project')
      .select('id')
      .where('public_id', '=', id)
      .where('removal', 'is', null)
      .executeTakeFirstOrThrow();
    await empty(id);
    expect(await countOf(id)).toEqual({ rows: 2, counted: 2 });
    await transact(db, (tx) => removeProject(tx, rowId));
    await insertRequests(db, [requestOf(id)]);
    await empty(rowId);
    expect(await countOf(id)).toEqual({ rows: 0, counted: 0 });
    const left = db.selectFrom('request_log_count').selectAll().where('owner_id', '=', id);
    expect(await left.execute()).toEqual([]);
  });
});

/** Deletes the data of a removed project, as its run does. */
async function empty(id: string): Promise<void> {
  while (!(await deleteProjectPage(db, id)).isOver);
  await deleteRemovedProject(db, id);
}

describe('the sweep', () => {
  it('drops the days that are too old, and only those', async () => {
    const { id } = await newProject();
    const [kept, gone] = [daysAgo(30), daysAgo(31)];
    await store([requestOf(id), requestOf(id, { at: kept }), requestOf(id, { at: gone })]);
    await sweepTasks().CLEAR_REQUESTS();
    expect(await partitions()).toContain(partitionOf(kept));
    expect(await partitions()).not.toContain(partitionOf(gone));
    expect(await countOf(id)).toEqual({ rows: 2, counted: 2 });
  });

  it('leaves a day that is being read to the next sweep', async () => {
    const { id } = await newProject();
    const gone = daysAgo(40);
    await store([requestOf(id, { at: gone })]);
    await db.transaction().execute(async (tx) => {
      await sql`select 1 from request_log where owner_id = ${id}`.execute(tx);
      await sweepTasks().CLEAR_REQUESTS();
    });
    expect(await partitions()).toContain(partitionOf(gone));
    await sweepTasks().CLEAR_REQUESTS();
    expect(await partitions()).not.toContain(partitionOf(gone));
  });
});

it('has an empty list with REQUEST_LOG_DAYS=0', async () => {
  const silent = await useApi({ REQUEST_LOG_DAYS: '0' });
  const { secretKey: key } = await silent.createProject((await silent.signUp()).cookie);
  await silent.request('GET', '/segments', { key });
  const { body } = await silent.request('GET', '/requests', { key });
  expect([silent.services.requestLog, body.data, body.total]).toEqual([null, [], 0]);
});
