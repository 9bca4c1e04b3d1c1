import { expect, it } from 'vitest';
import {
  changeSchedule,
  markSchedulesDue,
  prepareSchedule,
  recordScheduleUpdate,
} from '../../../db/schedules/schedules.ts';
import { type Database, transact } from '../../../db/database.ts';
import { useApi } from '../../support/api.ts';
import { waitFor } from '../../support/wait-for.ts';
import { sql } from 'kysely';

/** A workflow or its project changes while its schedule is being sent to Temporal. */

const api = await useApi();
const { db } = api;
const { id: projectId, secretKey: key } = await api.createProject((await api.signUp()).cookie);

async function scheduled() {
  const call = async (method: string, path: string, body: object) => {
    const answer = await api.request(method, path, { key, body });
    expect([answer.status, answer.body.error]).toEqual([expect.any(Number), undefined]);
    return answer.body;
  };
  const { id } = await call('POST', '/workflows', { name: 'Digest', eventName: 'ordered' });
  await call('POST', `/workflows/${id}/steps`, {
    type: 'EXIT',
    name: 'Out',
    config: { reason: 'done' },
  });
  const enable = (enabled: boolean) => call('PATCH', `/workflows/${id}`, { enabled });
  await call('PATCH', `/workflows/${id}`, {
    triggerType: 'SCHEDULE',
    triggerConfig: { cron: '0 9 * * *', timeZone: 'UTC' },
  });
  await enable(true);
  return { id: id as string, enable };
}

const rowOf = (id: string) =>
  db
    .selectFrom('workflow_schedule')
    .select(['next_at', 'next_reconcile_at'])
    .where('workflow_id', '=', id)
    .executeTakeFirst();

it('keeps the schedule of a workflow that was enabled again meanwhile', async () => {
  const { id, enable } = await scheduled();
  await enable(false);
  const off = (await prepareSchedule(db, id))!;
  expect(off.instants).toEqual([]);
  await enable(true);
  await recordScheduleUpdate(db, off);
  expect((await prepareSchedule(db, id))?.instants).toHaveLength(100);
});

it('keeps it if the workflow is being enabled at that moment', async () => {
  const { id, enable } = await scheduled();
  await enable(false);
  const off = (await prepareSchedule(db, id))!;
  const recorded = await transact(db, async (tx: Database) => {
    const workflow = await tx
      .updateTable('workflow')
      .set({ enabled: true })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    await changeSchedule(tx, workflow);
    const record = recordScheduleUpdate(db, off);
    await waitFor('the record to wait', async () => {
      const { rows } = await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
      return rows.length > 0;
    });
    return { record };
  });
  await recorded.record;
  expect((await prepareSchedule(db, id))?.instants).toHaveLength(100);
});

it('looks again at the schedules of a project that was enabled meanwhile', async () => {
  const { id } = await scheduled();
  await db
    .updateTable('project')
    .set({ disabled_reason: 'MANUAL' })
    .where('id', '=', projectId)
    .execute();
  const off = (await prepareSchedule(db, id))!;
  await db
    .updateTable('project')
    .set({ disabled_reason: null })
    .where('id', '=', projectId)
    .execute();
  await markSchedulesDue(db, projectId);
  await recordScheduleUpdate(db, off);
  expect((await rowOf(id))?.next_reconcile_at).not.toBeNull();
});

it('forgets the schedule of a workflow that stays disabled', async () => {
  const { id, enable } = await scheduled();
  await enable(false);
  await recordScheduleUpdate(db, (await prepareSchedule(db, id))!);
  expect(await rowOf(id)).toBeUndefined();
});
