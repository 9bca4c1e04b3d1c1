import { randomUUID } from 'node:crypto';
import { ScheduleNotFoundError, ServiceError } from '@temporalio/client';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { enqueue } from '../../../db/outbox/outbox.ts';
import {
  disableProject,
  enableProject,
} from '../../../db/transactions/projects/suspend-project.ts';
import { keepDueSchedules } from '../../../db/schedules/schedules.ts';
import { plannedInstants } from '../../../domain/time/cron.ts';
import { runIds } from '../../../domain/runs/runs.ts';
import { useEngine } from '../../support/engine.ts';
import { createContact, createWorkflow } from '../../support/histories/executions.ts';
import { insertContacts } from '../../support/projects/campaigns.ts';
import { newAddress, refusal } from '../../support/projects/shop.ts';
import { errorFields } from '../../support/projects/workflow-api.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Workflows that start by a schedule. */

const engine = await useEngine();
const { db } = engine.api;
const minute = 60_000;
const exit = { type: 'EXIT', name: 'Out', config: { reason: 'done' } };
const often = { cron: '*/15 * * * *', timeZone: 'UTC' };

/** Returns the last planned time of `often` before now. */
const lastPlanned = () =>
  plannedInstants(often, new Date(Date.now() - 15 * minute - 1), 1)[0] ?? new Date();

async function scheduled(triggerConfig: object = often, more: object = {}) {
  const workflow = await createWorkflow(engine, { eventName: randomUUID(), steps: [exit] });
  const path = `/workflows/${workflow.id}`;
  const change = (body: object) => engine.call('PATCH', path, body);
  const { status, body } = await change({ triggerType: 'SCHEDULE', triggerConfig, ...more });
  expect([status, body.error]).toEqual([200, undefined]);
  const firings = async () => (await engine.call('GET', `${path}/firings`)).body;
  return {
    id: workflow.id,
    path,
    change,
    firings,
    /**
     * Returns the schedule in Temporal; null: none. Asks again after a service error, because
     * Temporal may return one while it deletes a schedule.
     */
    schedule: async () => {
      const handle = engine.temporal.client.schedule.getHandle(`schedule-${workflow.id}`);
      const { held } = await waitFor('an answer about the schedule', () =>
        handle.describe().then(
          (found) => ({ held: found }),
          (error: unknown) => {
            if (error instanceof ScheduleNotFoundError) return { held: null };
            if (error instanceof ServiceError) return null;
            throw error;
          },
        ),
      );
      return held;
    },
    /** Moves the enabling before `next`. */
    since: (next: Date) =>
      db
        .updateTable('workflow_schedule')
        .set({ next_at: next, next_reconcile_at: new Date(Date.now() - 60_000) })
        .where('workflow_id', '=', workflow.id)
        .execute(),
    /** Begins the firing of `at`, as its run does. */
    async fire(at: Date) {
      const input = { projectId: engine.project.id, workflowId: workflow.id, at: at.toISOString() };
      await transact(db, (tx) => enqueue(tx, { kind: 'firing', input, summary: 'Firing' }));
      const handle = engine.temporal.client.workflow.getHandle(runIds.firing(input));
      await waitFor('the firing to be over', async () => {
        const run = await handle.describe().catch(() => null);
        return run !== null && run.status.name !== 'RUNNING';
      });
      return (await firings()).firings.find((one: { at: string }) => one.at === input.at);
    },
    firingOf: (at: Date, status: string) =>
      waitFor(`the firing to be ${status}`, async () => {
        const { firings: all } = await firings();
        return all.find(
          (one: { at: string; status: string }) =>
            one.at === at.toISOString() && one.status === status,
        );
      }),
    executions: async () => (await engine.call('GET', `${path}/executions`)).body.executions,
  };
}

async function segmentOf(count: number) {
  const { body } = await engine.call('POST', '/segments', { name: 'Some', type: 'STATIC' });
  const emails = Array.from({ length: count }, () => newAddress());
  const ids: string[] = [];
  for (const [index, email] of emails.entries()) {
    ids.push(await createContact(engine, email, { subscribed: index > 0 }));
  }
  await engine.call('POST', `/segments/${body.id}/members`, { emails });
  return { id: body.id as string, ids };
}

describe('a schedule', () => {
  it('fires at its time, for those who may enter', { timeout: 150_000 }, async () => {
    const segment = await segmentOf(3);
    const at = new Date(Math.ceil((Date.now() + 10_000) / minute) * minute);
    const cron = `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
    const workflow = await scheduled({ cron, timeZone: 'UTC', segmentId: segment.id });
    await engine.call('POST', `${workflow.path}/executions`, { contactId: segment.ids[0] });
    const firing = await waitFor(
      'the firing',
      async () => {
        const { firings } = await workflow.firings();
        return firings[0]?.status === 'COMPLETED' ? firings[0] : null;
      },
      110_000,
    );
    expect(firing).toMatchObject({ at: at.toISOString(), matched: 3, started: 2, skipped: 1 });
    const executions = await workflow.executions();
    expect(executions).toHaveLength(3);
    const contexts = executions.map((one: { context: unknown }) => one.context);
    expect(contexts).toContainEqual({ firedAt: at.toISOString() });
    const causes = executions.map((one: { causedBy: { name: string } }) => one.causedBy.name);
    expect(causes.toSorted()).toEqual(['Secret key', 'schedule', 'schedule']);
    const { body: whole } = await engine.call('GET', workflow.path);
    expect(whole.steps[0]).toMatchObject({ name: `Trigger: ${cron}`, config: whole.triggerConfig });

    const deletion = await engine.call('DELETE', `/segments/${segment.id}`);
    expect(refusal(deletion)).toContain('SEGMENT_IN_USE');
    expect(deletion.body.error.details.workflows).toMatchObject([{ id: workflow.id }]);
    await workflow.change({ enabled: false });
    await waitFor('Temporal to have no schedule', async () => !(await workflow.schedule()));
  });

  it('is in Temporal exactly while the workflow and its project are enabled', async () => {
    const workflow = await scheduled();
    const told = await waitFor('the schedule', () => workflow.schedule());
    expect(told.spec.calendars).toHaveLength(100);
    await workflow.change({ triggerType: 'MANUAL' });
    await waitFor('none', async () => !(await workflow.schedule()));
    await workflow.change({ triggerType: 'SCHEDULE', triggerConfig: often });
    await waitFor('the schedule again', () => workflow.schedule());
    await transact(db, (tx) => disableProject(tx, engine.project.id, 'MANUAL'));
    await keepDueSchedules(db, 100);
    await waitFor('none of a disabled project', async () => !(await workflow.schedule()));
    await transact(db, (tx) => enableProject(tx, engine.project.id, 'MANUAL'));
    await keepDueSchedules(db, 100);
    await waitFor('the schedule of an enabled one', () => workflow.schedule());
    // Firings planned while the project was disabled do not count as missed.
    expect((await workflow.firings()).firings).toEqual([]);
    await engine.call('DELETE', workflow.path);
    await waitFor('none of a deleted workflow', async () => !(await workflow.schedule()));
    await waitFor('no row', async () => {
      const rows =
        await sql`select from workflow_schedule where workflow_id = ${workflow.id}`.execute(db);
      return rows.rows.length === 0;
    });
  });

  it('lists missed firings, and begins late ones', async () => {
    const at = lastPlanned();
    const workflow = await scheduled({ ...often, segmentId: (await segmentOf(1)).id });
    // Later than a minute after the planned time.
    const since = new Date(at.getTime() - 120 * minute);
    await workflow.since(since);
    await keepDueSchedules(db, 100);
    await workflow.firingOf(since, 'MISSED');
    const late = new Date(at.getTime() - 15 * minute);
    await waitFor(
      'the late ones',
      async () => {
        await workflow.since(since);
        await keepDueSchedules(db, 100);
        const { firings } = await workflow.firings();
        return firings.some(
          (one: { at: string; status: string }) =>
            one.at === late.toISOString() && one.status === 'COMPLETED',
        );
      },
      60_000,
    );
    expect((await workflow.executions()).length).toBe(1);
  });
});

describe('a firing', () => {
  it(
    'goes through contacts in pages, and starts no contact twice',
    { timeout: 90_000 },
    async () => {
      const at = lastPlanned();
      const key = `k${Date.now()}`;
      const filter = {
        operator: 'AND',
        conditions: [{ field: `data.${key}`, operator: 'exists' }],
      };
      await insertContacts(engine, 1_200);
      await sql`update contact set data = jsonb_build_object(${key}::text, 1)
      where id in (select id from contact where project_id = ${engine.project.id}
        order by created_at, id limit 1100)`.execute(db);
      const workflow = await scheduled({ ...often, filter });
      await workflow.since(at);
      expect(await workflow.fire(at)).toMatchObject({
        status: 'COMPLETED',
        matched: 1100,
        started: 1100,
      });
      expect(await workflow.fire(at)).toMatchObject({ started: 1100 });
      const { body } = await engine.call('GET', `/contacts/fields/${key}/usage`);
      expect(body.usedInWorkflows).toMatchObject([{ id: workflow.id }]);
    },
  );

  it('starts executions as re-entry allows, and counts all others as skipped', async () => {
    const at = lastPlanned();
    const before = new Date(at.getTime() - 15 * minute);
    const earlier = new Date(before.getTime() - 15 * minute);
    const segment = await segmentOf(2);
    const parallel = { mode: 'parallel', minIntervalSeconds: 3_600 };
    const workflow = await scheduled(
      { ...often, segmentId: segment.id },
      { reentry: parallel, paused: true },
    );
    await workflow.since(earlier);
    expect(await workflow.fire(earlier)).toMatchObject({ started: 2, skipped: 0 });
    expect(await workflow.fire(before)).toMatchObject({ matched: 2, started: 0, skipped: 2 });

    await workflow.change({ reentry: { mode: 'parallel' } });
    await sql`insert into execution (project_id, workflow_id, workflow_version, workflow_name,
          contact_id, slot)
        select project_id, workflow_id, workflow_version, workflow_name, contact_id, n || ''
          from execution, generate_series(1, 99) n
          where workflow_id = ${workflow.id} and contact_id = ${segment.ids[0]}`.execute(db);
    expect(await workflow.fire(at)).toMatchObject({ matched: 2, started: 1, skipped: 1 });
    const { body: stats } = await engine.call('GET', `${workflow.path}/stats`);
    expect(stats.data.notStarted).toEqual({ no_key: 0, key_too_long: 0, too_many: 0 });
    await db.deleteFrom('execution').where('workflow_id', '=', workflow.id).execute();
  });

  it('is overlapped by one that is running, and stopped when the workflow is disabled', async () => {
    const at = lastPlanned();
    const before = new Date(at.getTime() - 15 * minute);
    const workflow = await scheduled({ ...often, segmentId: (await segmentOf(1)).id });
    await workflow.since(before);
    await sql`insert into firing (workflow_id, at, project_id, status, started_at)
      values (${workflow.id}, ${before}, ${engine.project.id}, 'RUNNING', ${before})`.execute(db);
    expect(await workflow.fire(at)).toMatchObject({ status: 'OVERLAPPED', startedAt: null });
    await workflow.change({ enabled: false });
    expect(await workflow.fire(before)).toMatchObject({ status: 'STOPPED', matched: 0 });
    expect(await workflow.executions()).toEqual([]);
  });
});

describe('the trigger SCHEDULE', () => {
  it('is checked', async () => {
    const workflow = await createWorkflow(engine, { eventName: randomUUID(), steps: [exit] });
    const path = `/workflows/${workflow.id}`;
    const change = (triggerConfig: object, more: object = {}) =>
      engine.call('PATCH', path, { triggerType: 'SCHEDULE', triggerConfig, ...more });
    const field = async (triggerConfig: object) => errorFields((await change(triggerConfig)).body);
    expect(await field({ cron: '*/10 * * * *' })).toEqual(['triggerConfig.cron too_small']);
    expect(await field({ cron: '@daily' })).toEqual(['triggerConfig.cron invalid_string']);
    expect(await field({ cron: '0 0 31 2 *' })).toEqual(['triggerConfig.cron custom']);
    expect(await field({ timeZone: '+02:00' })).toEqual(['triggerConfig.timeZone invalid_string']);
    expect(await field({ eventName: 'e' })).toEqual(['triggerConfig.eventName not_allowed']);
    expect(await field({ filter: { logic: 'AND', groups: [] } })).toEqual([
      expect.stringMatching(/^triggerConfig\.filter/),
    ]);
    expect(refusal(await change({ ...often, segmentId: randomUUID() }))).toContain(
      'SEGMENT_NOT_FOUND',
    );
    // The workflow is enabled.
    expect(refusal(await change({}))).toContain('WORKFLOW_INVALID');
    expect((await change({}, { enabled: false })).body.triggerConfig).toEqual({});
    const enabling = await engine.call('PATCH', path, { enabled: true });
    expect(errorFields(enabling.body)).toEqual(['triggerConfig required']);
    expect((await engine.call('GET', `${path}/firings`)).body).toEqual({ firings: [], next: [] });

    const { body } = await change({
      cron: ' 30 2 28 3 * ',
      timeZone: 'Europe/Berlin',
      filter: null,
    });
    expect(body.triggerConfig).toEqual({ cron: '30 2 28 3 *', timeZone: 'Europe/Berlin' });
    const { body: planned } = await engine.call('GET', `${path}/firings`);
    expect(planned.next).toHaveLength(5);
    expect(planned.next[0]).toMatch(/-03-28T/);
    expect((await engine.call('GET', `/workflows/${randomUUID()}/firings`)).status).toBe(404);
  });

  it('uses the events of its filter', async () => {
    const eventName = `e${Date.now()}`;
    const filter = {
      operator: 'AND',
      conditions: [{ field: `event.${eventName}`, operator: 'triggered' }],
    };
    const workflow = await scheduled({ ...often, filter });
    const { body } = await engine.call('GET', `/events/${eventName}/usage`);
    expect(body.usedInWorkflows).toMatchObject([{ id: workflow.id }]);
  });
});
