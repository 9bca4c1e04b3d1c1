import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { updateWatermark } from '../../../db/watermarks.ts';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const shop = await useShop();

/** Creates an enabled workflow with its own event. Returns its path and the event. */
async function createWorkflow(given: object = {}) {
  const eventName = randomUUID();
  const { body } = await shop.call('POST', '/workflows', { name: 'W', eventName, ...given });
  const path = `/workflows/${body.id}`;
  await shop.call('POST', `${path}/steps`, { type: 'EXIT', name: 'Out', config: {} });
  expect((await shop.call('PATCH', path, { enabled: true })).status).toBe(200);
  return { id: body.id as string, path, eventName };
}

async function createContact() {
  const email = newAddress();
  const { body } = await shop.call('POST', '/contacts', { email });
  return { id: body.id as string, email };
}

const start = (path: string, contactId: string, more: object = {}) =>
  shop.call('POST', `${path}/executions`, { contactId, ...more });

/** Puts an execution into a state, as its run would. */
const put = (id: string, status: string) =>
  shop.api.db.updateTable('execution').set({ status }).where('id', '=', id).execute();

const list = async (path: string, query = '') =>
  (await shop.call('GET', `${path}/executions${query}`)).body;

describe('POST /workflows/{id}/executions', () => {
  it('returns the running execution; its start is sent to Temporal right after', async () => {
    const { id: workflowId, path } = await createWorkflow();
    const contact = await createContact();
    const handedBefore = shop.api.dispatched.length;
    const { status, body } = await start(path, contact.id, { context: { source: 'ad' } });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      workflowId,
      workflowVersion: expect.any(Number),
      key: null,
      contactId: contact.id,
      status: 'RUNNING',
      currentStepId: expect.any(String),
      exitReason: null,
      error: null,
      context: { source: 'ad' },
      warnings: 0,
      stuck: null,
      causedBy: { type: 'key', id: 'secret', name: 'Secret key' },
      startedAt: expect.any(String),
      completedAt: null,
      pausedAt: null,
      pauseReason: null,
      temporalWorkflowId: `execution-${body.id}`,
      temporalRunId: null,
      projectId: shop.project.id,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect(shop.api.dispatched.slice(handedBefore)).toEqual([`execution-${body.id}`]);
    const { body: whole } = await shop.call('GET', `${path}/executions/${body.id}`);
    expect(whole).toMatchObject({
      ...body,
      workflow: { id: workflowId, name: 'W' },
      contact: { id: contact.id, email: contact.email },
      currentStep: { type: 'TRIGGER' },
      stepExecutions: [
        {
          status: 'COMPLETED',
          output: { triggered: true, eventName: 'manual', timestamp: body.startedAt },
          step: { type: 'TRIGGER' },
        },
      ],
    });
  });

  it('refuses a workflow that is not enabled', async () => {
    const { path } = await createWorkflow();
    await shop.call('PATCH', path, { enabled: false });
    const answer = await start(path, (await createContact()).id);
    expect(refusal(answer)).toEqual([400, 'WORKFLOW_NOT_ENABLED']);
  });

  it('refuses a workflow and a contact that do not exist, or belong to others', async () => {
    const { path } = await createWorkflow();
    const contact = await createContact();
    const { body: foreign } = await shop.api.request('POST', '/contacts', {
      key: shop.other.secretKey,
      body: { email: newAddress() },
    });
    for (const contactId of [randomUUID(), foreign.id as string]) {
      expect(refusal(await start(path, contactId))).toEqual([404, 'CONTACT_NOT_FOUND']);
    }
    const unknown = await start(`/workflows/${randomUUID()}`, contact.id);
    expect(refusal(unknown)).toEqual([404, 'WORKFLOW_NOT_FOUND']);
    const strange = await shop.api.request('POST', `${path}/executions`, {
      key: shop.other.secretKey,
      body: { contactId: foreign.id },
    });
    expect(refusal(strange)).toEqual([404, 'WORKFLOW_NOT_FOUND']);
  });

  it.each([
    [{ contactId: 'x' }, 'contactId invalid_string'],
    [{ contactId: undefined }, 'contactId invalid_type'],
    [{ context: [] }, 'context invalid_type'],
    [{ context: 'x' }, 'context invalid_type'],
    [{ context: { k: 'x'.repeat(65_536) } }, 'context too_big'],
  ])('refuses %j', async (given, fault) => {
    const { path } = await createWorkflow();
    const answer = await start(path, randomUUID(), given);
    expect(refusal(answer)).toEqual([422, 'VALIDATION_ERROR', fault]);
  });

  it('starts one of 20 requests at once', async () => {
    const { path } = await createWorkflow({ allowReentry: true });
    const contact = await createContact();
    const answers = await Promise.all(Array.from({ length: 20 }, () => start(path, contact.id)));
    const started = answers.filter(({ status }) => status === 201);
    expect(started).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status === 201) continue;
      expect(refusal(answer)).toEqual([409, 'EXECUTION_EXISTS']);
      const details = { executionId: started[0]!.body.id, status: 'RUNNING' };
      expect(answer.body.error.details).toEqual(details);
    }
    expect((await list(path)).total).toBe(1);
  });

  it('starts one of a request and an event at once', async () => {
    const { path, eventName } = await createWorkflow({ allowReentry: true });
    const contact = await createContact();
    const both = Array.from({ length: 10 }, () => [
      start(path, contact.id),
      shop.track({ email: contact.email, event: eventName }),
    ]);
    const answers = await Promise.all(both.flat());
    expect(answers.every(({ status }) => [200, 201, 409].includes(status))).toBe(true);
    expect((await list(path)).total).toBe(1);
  });
});

describe('a second start for a contact', () => {
  const ended = ['COMPLETED', 'EXITED', 'FAILED', 'CANCELLED'];

  it.each(['RUNNING', 'WAITING', ...ended])(
    'without re-entry is blocked by one that is %s; an event is ignored silently',
    async (status) => {
      const { path, eventName } = await createWorkflow();
      const { id, email } = await createContact();
      const { body: first } = await start(path, id);
      await put(first.id, status);
      const again = await start(path, id);
      expect(refusal(again)).toEqual([409, 'EXECUTION_EXISTS']);
      expect(again.body.error.details).toEqual({ executionId: first.id, status });
      expect((await shop.track({ email, event: eventName })).status).toBe(200);
      expect((await list(path)).total).toBe(1);
    },
  );

  it.each(['RUNNING', 'WAITING'])('with re-entry is blocked while one is %s', async (status) => {
    const { path, eventName } = await createWorkflow({ allowReentry: true });
    const { id, email } = await createContact();
    const { body: first } = await start(path, id);
    await put(first.id, status);
    expect(refusal(await start(path, id))).toEqual([409, 'EXECUTION_EXISTS']);
    expect((await shop.track({ email, event: eventName })).status).toBe(200);
    expect((await list(path)).total).toBe(1);
  });

  it.each(ended)('with re-entry is free after one that is %s', async (status) => {
    const { path, eventName } = await createWorkflow({ allowReentry: true });
    const { id, email } = await createContact();
    await put((await start(path, id)).body.id, status);
    const second = await start(path, id);
    expect(second.status).toBe(201);
    await put(second.body.id, status);
    await shop.track({ email, event: eventName });
    expect((await list(path)).total).toBe(3);
  });
});

describe('GET /workflows/{id}/executions', () => {
  it('answers pages under the key executions, newest start first, by status', async () => {
    const { path } = await createWorkflow();
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1)
      ids.push((await start(path, (await createContact()).id)).body.id);
    await put(ids[1]!, 'WAITING');
    await put(ids[3]!, 'WAITING');
    const waiting = await list(path, '?status=WAITING');
    expect(Object.keys(waiting).toSorted()).toEqual([
      'executions',
      'page',
      'pageSize',
      'total',
      'totalPages',
    ]);
    expect(waiting.executions).toMatchObject([
      { id: ids[3], status: 'WAITING', currentStep: { type: 'TRIGGER' } },
      { id: ids[1], status: 'WAITING', contact: { email: expect.any(String) } },
    ]);
    const idsOf = ({ executions }: { executions: { id: string }[] }) =>
      executions.map(({ id }) => id);
    expect(idsOf(await list(path))).toEqual(ids.toReversed());
    const second = await list(path, '?page=2&pageSize=2');
    expect(idsOf(second)).toEqual([ids[2], ids[1]]);
    expect(second).toMatchObject({ total: 5, page: 2, pageSize: 2, totalPages: 3 });
    expect(await list(path, '?page=4&pageSize=2')).toMatchObject({ executions: [], total: 5 });
    expect(await list(path, '?status=FAILED')).toMatchObject({ total: 0, totalPages: 0 });
  });

  it.each([
    ['status=FOO', 'status invalid_enum_value'],
    ['page=0', 'page too_small'],
    ['pageSize=101', 'pageSize too_big'],
  ])('refuses %s', async (query, fault) => {
    const { path } = await createWorkflow();
    const answer = await shop.call('GET', `${path}/executions?${query}`);
    expect(refusal(answer)).toEqual([422, 'VALIDATION_ERROR', fault]);
  });

  it('finds an execution only under its own workflow', async () => {
    const [mine, yours] = [await createWorkflow(), await createWorkflow()];
    const { body } = await start(mine.path, (await createContact()).id);
    for (const method of ['GET', 'DELETE']) {
      const answer = await shop.call(method, `${yours.path}/executions/${body.id}`);
      expect(refusal(answer)).toEqual([404, 'EXECUTION_NOT_FOUND']);
    }
  });
});

describe('a cancel', () => {
  it('ends what is active at once, and nothing twice', async () => {
    const { path } = await createWorkflow();
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1)
      ids.push((await start(path, (await createContact()).id)).body.id);
    await put(ids[0]!, 'COMPLETED');
    await put(ids[1]!, 'FAILED');
    await put(ids[2]!, 'WAITING');
    const deleted = await shop.call('DELETE', path);
    expect(refusal(deleted)).toEqual([409, 'WORKFLOW_HAS_ACTIVE_EXECUTIONS']);
    const handedBefore = shop.api.dispatched.length;
    const all = await shop.call('POST', `${path}/executions/cancel-all`);
    expect([all.status, all.body]).toEqual([200, { cancelled: 3 }]);
    const handed = shop.api.dispatched.slice(handedBefore);
    expect(new Set(handed)).toEqual(new Set(ids.slice(2).map((id) => `execution-${id}`)));
    const { executions } = await list(path, '?status=CANCELLED');
    for (const execution of executions) {
      expect(execution.exitReason).toBe('cancelled');
      expect(execution.completedAt).not.toBeNull();
    }
    for (const id of ids) {
      const again = await shop.call('DELETE', `${path}/executions/${id}`);
      expect(refusal(again)).toEqual([409, 'EXECUTION_NOT_ACTIVE']);
    }
    expect((await shop.call('POST', `${path}/executions/cancel-all`)).body).toEqual({
      cancelled: 0,
    });
    expect((await shop.call('DELETE', path)).status).toBe(204);
  });
});

it('says that executions are stuck which a late sweep would have compared with their runs', async () => {
  const { path } = await createWorkflow();
  const { db } = shop.api;
  const ids: string[] = [];
  for (const due of ['2 minutes ago', '2 minutes ago', '5 minutes']) {
    const { body } = await start(path, (await createContact()).id);
    await db
      .updateTable('execution')
      .set({ status: 'WAITING', next_reconcile_at: sql<Date>`now() + ${due}::interval` })
      .where('id', '=', body.id)
      .execute();
    ids.push(body.id);
  }
  await shop.call('POST', `${path}/executions/${ids[1]}/pause`);
  const stuckIds = async () =>
    (await shop.call('GET', '/executions?stuck=true')).body.data.map(
      ({ id }: { id: string }) => id,
    );
  expect(await stuckIds()).toEqual([]);
  await updateWatermark(db, 'sweep', new Date(Date.now() - 150_000));
  await waitFor('the late sweep', async () => (await stuckIds()).length > 0);
  expect(await stuckIds()).toEqual([ids[0]]);
  const { body } = await shop.call('GET', `${path}/executions/${ids[0]}`);
  expect(body.stuck).toEqual({
    since: expect.any(String),
    reason: 'The sweep is not running, so a lost run is not restarted.',
  });
  const listed = (await list(path)).executions as { id: string; stuck: unknown }[];
  expect(listed.filter(({ stuck }) => stuck !== null).map(({ id }) => id)).toEqual([ids[0]]);
  await updateWatermark(db, 'sweep', new Date());
  await waitFor('the sweep', async () => (await stuckIds()).length === 0);
});
