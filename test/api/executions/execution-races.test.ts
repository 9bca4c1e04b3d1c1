import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../db/database.ts';
import { listExecutionStarts } from '../../../db/workflows/executions/starts.ts';
import { disableProject } from '../../../db/transactions/projects/suspend-project.ts';
import { lockWorkflows } from '../../../db/workflows/workflows.ts';
import { useApi } from '../../support/api.ts';
import { overtaken } from '../../support/overtaken.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { dropContacts } from '../../support/mail-tables.ts';

/** Executions that start while something they need is being deleted. */

/** The project of the current test. */
let project: { id: string; secretKey: string };
const api = await useApi();
beforeEach(async () => {
  project = await api.createProject((await api.signUp()).cookie);
});

const call = (method: string, path: string, body?: unknown) =>
  api.request(method, path, { key: project.secretKey, ...(body === undefined ? {} : { body }) });

/** Creates an enabled workflow with its own event. */
async function createWorkflow() {
  const eventName = randomUUID();
  const { body } = await call('POST', '/workflows', { name: 'W', eventName });
  const path = `/workflows/${body.id}`;
  await call('POST', `${path}/steps`, { type: 'EXIT', name: 'Out', config: {} });
  expect((await call('PATCH', path, { enabled: true })).status).toBe(200);
  return { id: body.id as string, path, eventName };
}

async function createContact(): Promise<string> {
  return (await call('POST', '/contacts', { email: newAddress() })).body.id;
}

const start = (path: string, contactId: string) =>
  call('POST', `${path}/executions`, { contactId });

const track = (event: string) => call('POST', '/v1/track', { email: newAddress(), event });

/** Creates a failed execution that can be retried. */
async function failed(path: string) {
  const contactId = await createContact();
  const { body } = await start(path, contactId);
  await api.db
    .updateTable('execution')
    .set({ status: 'FAILED' })
    .where('id', '=', body.id)
    .execute();
  return {
    id: body.id as string,
    contactId,
    retry: () => call('POST', `${path}/executions/${body.id}/retry`),
  };
}

const deletesContact = (id: string) => (tx: Database) =>
  dropContacts(tx, sql<boolean>`contact.id = ${id}`);
const deletesWorkflow = (id: string) => async (tx: Database) => {
  await lockWorkflows(tx, project.id, [id], { for: 'delete' });
  await tx.deleteFrom('workflow').where('id', '=', id).execute();
};
const disables = (tx: Database) => disableProject(tx, project.id, 'MANUAL');

const statusesOf = async (path: string) => {
  const { body } = await call('GET', `${path}/executions`);
  return body.executions.map((row: { status: string }) => row.status);
};

describe('a start by hand', () => {
  it('finds no contact that is deleted meanwhile', async () => {
    const { path } = await createWorkflow();
    const id = await createContact();
    const answer = await overtaken(api, deletesContact(id), () => start(path, id));
    expect(answer).toEqual([404, 'CONTACT_NOT_FOUND']);
  });

  it('finds no workflow that is deleted meanwhile', async () => {
    const { id, path } = await createWorkflow();
    const contact = await createContact();
    const answer = await overtaken(api, deletesWorkflow(id), () => start(path, contact));
    expect(answer).toEqual([404, 'WORKFLOW_NOT_FOUND']);
  });

  it('is refused in a project that is disabled meanwhile', async () => {
    const { path } = await createWorkflow();
    const contact = await createContact();
    const answer = await overtaken(api, disables, () => start(path, contact));
    expect(answer).toEqual([403, 'PROJECT_DISABLED']);
    expect(await statusesOf(path)).toEqual([]);
  });
});

describe('a retry', () => {
  it('finds no execution whose contact is deleted meanwhile', async () => {
    const { path } = await createWorkflow();
    const { contactId, retry } = await failed(path);
    const answer = await overtaken(api, deletesContact(contactId), retry);
    expect(answer).toEqual([404, 'EXECUTION_NOT_FOUND']);
  });

  it('finds no workflow that is deleted meanwhile', async () => {
    const { id, path } = await createWorkflow();
    const { retry } = await failed(path);
    const answer = await overtaken(api, deletesWorkflow(id), retry);
    expect(answer).toEqual([404, 'WORKFLOW_NOT_FOUND']);
  });

  it('is refused in a project that is disabled meanwhile', async () => {
    const { path } = await createWorkflow();
    const { retry } = await failed(path);
    expect(await overtaken(api, disables, retry)).toEqual([403, 'PROJECT_DISABLED']);
    expect(await statusesOf(path)).toEqual(['FAILED']);
  });

  it.each([
    ['the end of the step before', null, '2031-01-01 00:00:00.123456+00'],
    ['the end of the delay before', '2031-01-02T00:00:00Z', '2031-01-02 00:00:00+00'],
  ])('lets its step begin at %s', async (_, scheduledFor, since) => {
    const { path } = await createWorkflow();
    const { id, retry } = await failed(path);
    const step = (await call('GET', path)).body.steps.find(
      ({ type }: { type: string }) => type === 'EXIT',
    );
    const { db } = api;
    await sql`insert into step_execution
        (project_id, execution_id, step_id, status, scheduled_for, completed_at) values
      (${project.id}, ${id}, gen_random_uuid(), 'COMPLETED', null, '2031-01-01 00:00:00.123456Z'),
      (${project.id}, ${id}, ${step.id}, 'FAILED', ${scheduledFor}, '2031-01-03Z')`.execute(db);
    await db
      .updateTable('execution')
      .set({ current_step_id: step.id })
      .where('id', '=', id)
      .execute();
    expect((await retry()).status).toBe(200);
    const [due] = await listExecutionStarts(db, [id]);
    expect(due?.start.resume?.stepId).toBe(step.id);
    const at = sql<boolean>`${due?.start.resume?.since}::timestamptz = ${since}::timestamptz`;
    const { rows } = await sql<{ same: boolean }>`select ${at} as same`.execute(db);
    expect(rows).toEqual([{ same: true }]);
  });

  it('never succeeds on a workflow that goes, in 15 pairs at once', async () => {
    for (let round = 0; round < 15; round += 1) {
      const { path } = await createWorkflow();
      const { retry } = await failed(path);
      const [again, deleted] = await Promise.all([retry(), call('DELETE', path)]);
      expect([
        [200, 409],
        [404, 204],
      ]).toContainEqual([again.status, deleted.status]);
    }
  });
});

describe('an event', () => {
  it('is recorded, and starts nothing of a workflow that is deleted meanwhile', async () => {
    const { id, eventName } = await createWorkflow();
    const answer = await overtaken(api, deletesWorkflow(id), () => track(eventName));
    expect(answer).toEqual([200, undefined]);
    const { body } = await call('GET', `/events?eventName=${eventName}`);
    expect(body.events).toHaveLength(1);
  });

  it('is recorded by each of 6 requests beside one that deletes its workflow', async () => {
    for (let round = 0; round < 15; round += 1) {
      const { path, eventName } = await createWorkflow();
      const tracked = Array.from({ length: 6 }, () => track(eventName));
      const deleted = call('DELETE', path);
      const statuses = (await Promise.all(tracked)).map(({ status }) => status);
      expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
      expect([204, 409]).toContain((await deleted).status);
    }
  });

  it('starts nothing that stays in a project that is disabled meanwhile', async () => {
    const { path, eventName } = await createWorkflow();
    await api.db.transaction().execute(async (tx) => {
      await disables(tx);
      expect((await track(eventName)).status).toBe(200);
    });
    const handedBefore = api.dispatched.length;
    await tasksOf(api, {}).CANCEL_LATE_EXECUTIONS();
    const [execution] = (await call('GET', `${path}/executions`)).body.executions;
    expect(execution).toMatchObject({ status: 'CANCELLED', exitReason: 'project_disabled' });
    expect(api.dispatched.slice(handedBefore)).toEqual([`execution-${execution.id}`]);
  });
});
