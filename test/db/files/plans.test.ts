import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { deleteExpired } from '../../../db/expired.ts';
import {
  completePlan,
  findPlan,
  findPlanRequest,
  insertPlan,
  listPlans,
  lockPlan,
  lockPlans,
} from '../../../db/files/plans.ts';
import { transact } from '../../../db/database.ts';
import { limits } from '../../../domain/limits.ts';
import { useApi } from '../../support/api.ts';
import { useDatabase } from '../../support/servers.ts';

const { db, signUp, createProject } = await useApi();

let projectId = '';

beforeEach(async () => {
  const { cookie } = await signUp();
  projectId = (await createProject(cookie)).id;
});

const plan = (text = 'name: News\n') => ({
  projectId,
  createdBy: 'key:secret',
  files: { 'topics/news.yaml': text },
  variables: {},
  reads: [{ kind: 'topic' as const, key: 'news', id: null, hash: null }],
  summary: {},
  changes: [],
  warnings: [],
});

const insert = (text?: string) => transact(db, (tx) => insertPlan(tx, plan(text)));
const all = { state: undefined, after: undefined, limit: 2_000 };
const listed = async () => (await listPlans(db, projectId, all)).rows.map(({ id }) => id);

const applied = { appliedBy: 'key:secret', migrate: 'none' as const, note: null };
const result = { objects: [], jobs: [] };

describe('open plans', () => {
  it('are the last ten of a project', async () => {
    const made: string[] = [];
    for (let number = 0; number < 11; number += 1) made.push((await insert()).id);
    expect(await listed()).toEqual(made.slice(1).toReversed());
    expect(await findPlan(db, projectId, made[0]!)).toBeUndefined();
  });

  it('are at most 64 MB together, but the newest stays', async () => {
    const first = await insert();
    const second = await insert();
    await sql`update plan set bytes = ${limits.openPlanBytes} where id = ${second.id}`.execute(db);
    const third = await insert();
    expect(await listed()).toEqual([third.id]);
    expect([first.bytes, third.bytes].every((bytes) => bytes > 10)).toBe(true);
  });

  it('end after seven days, before the sweep deletes them', async () => {
    const { id, expires_at: expiresAt, created_at: createdAt } = await insert();
    expect(Number(expiresAt) - Number(createdAt)).toBe(7 * 86_400_000);
    const other = await insert();
    await sql`update plan set expires_at = now() - interval '1 minute' where id = ${id}`.execute(
      db,
    );
    expect(await findPlan(db, projectId, id)).toBeUndefined();
    expect(await listed()).toEqual([other.id]);
    await deleteExpired(db, 'plan');
    const { rows } = await sql`select id from plan where project_id = ${projectId}`.execute(db);
    expect(rows).toEqual([{ id: other.id }]);
  });

  it('are not shown to other projects', async () => {
    const { id } = await insert();
    const other = (await createProject((await signUp()).cookie)).id;
    expect(await findPlan(db, other, id)).toBeUndefined();
    expect(await transact(db, (tx) => lockPlan(tx, other, id))).toBeUndefined();
  });
});

describe('applied plans', () => {
  it('stay without their files, also when new plans are made', async () => {
    const { id } = await insert();
    await transact(db, async (tx) => {
      const locked = await lockPlan(tx, projectId, id);
      const request = await findPlanRequest(tx, id, ['topics/news.yaml']);
      expect(request?.files).toEqual({ 'topics/news.yaml': 'name: News\n' });
      await completePlan(tx, locked!, { ...applied, result });
    });
    for (let number = 0; number < 11; number += 1) await insert();
    const state = 'applied' as const;
    expect((await listPlans(db, projectId, { ...all, state })).rows.map((row) => row.id)).toEqual([
      id,
    ]);
    const { rows } = await sql`select files, variables, reads from plan where id = ${id}`.execute(
      db,
    );
    expect(rows).toEqual([{ files: null, variables: null, reads: null }]);
    await sql`update plan set created_at = now() - interval '1 year' where id = ${id}`.execute(db);
    await deleteExpired(db, 'plan');
    expect((await findPlan(db, projectId, id))?.result).toEqual(result);
  });

  it('are the last 1,000 of a project', async () => {
    await sql`insert into plan (project_id, state, summary, changes, warnings, bytes, created_by,
        expires_at, applied_by, applied_at, migrate, result, created_at)
      select ${projectId}, 'applied', '{}', '[]', '[]', 0, 'key:secret', null, 'key:secret', now(),
          'none', '{}', now() - n * interval '1 minute' from generate_series(1, 1000) n`.execute(
      db,
    );
    const { id } = await insert();
    await transact(db, async (tx) => {
      await completePlan(tx, { id, project_id: projectId }, { ...applied, result });
    });
    const ids = await listed();
    expect([ids.length, ids[0]]).toEqual([limits.appliedPlans, id]);
  });
});

it('makes the plans of a project wait for each other, not those of other projects', async () => {
  const other = (await createProject((await signUp()).cookie)).id;
  await transact(db, async (tx) => {
    await lockPlans(tx, projectId);
    await transact(db, (second) => lockPlans(second, other));
    const waits = transact(db, async (second) => {
      await sql`set local lock_timeout = 50`.execute(second);
      await lockPlans(second, projectId);
    });
    await expect(waits).rejects.toMatchObject({ code: '55P03' });
  });
});

it('waits for another plan longer than a statement may take, and then keeps the usual limits', async () => {
  const timeouts = { lockMs: 100, statementMs: 300, connectionMs: 5_000 };
  const limited = (await useDatabase({ timeouts })).db;
  await transact(limited, async (tx) => {
    await lockPlans(tx, projectId);
    const { rows } = await sql<{ lock: string; statement: string }>`
      select current_setting('lock_timeout') as lock,
        current_setting('statement_timeout') as statement`.execute(tx);
    expect(rows).toEqual([{ lock: '100ms', statement: '300ms' }]);
    const start = Date.now();
    await expect(
      transact(limited, (other) => lockPlans(other, projectId, 600)),
    ).rejects.toMatchObject({ code: '55P03' });
    expect(Date.now() - start).toBeGreaterThan(500);
  });
});
