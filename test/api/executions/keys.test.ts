import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();
const { call } = shop;

const byOrder = { executionKey: 'event.orderId', reentry: { mode: 'after_end' } };
const parallel = { reentry: { mode: 'parallel' } };

/** Creates an enabled workflow; executions are started manually. */
async function createWorkflow(given: object = byOrder) {
  const eventName = randomUUID();
  const { body } = await call('POST', '/workflows', { name: 'Order', eventName, ...given });
  const path = `/workflows/${body.id}`;
  await call('POST', `${path}/steps`, { type: 'EXIT', name: 'Out', config: {} });
  expect((await call('PATCH', path, { enabled: true })).status).toBe(200);
  const start = (contactId: string, more: object = {}) =>
    call('POST', `${path}/executions`, { contactId, ...more });
  const list = async (query = '') => (await call('GET', `${path}/executions${query}`)).body;
  return { id: body.id as string, path, eventName, start, list };
}

async function createContact() {
  const email = newAddress();
  const { body } = await call('POST', '/contacts', { email });
  return { id: body.id as string, email };
}

/** Puts an execution into a state, as its run would. */
const put = (id: string, status: string) =>
  shop.api.db.updateTable('execution').set({ status }).where('id', '=', id).execute();

const exists = [409, 'EXECUTION_EXISTS'];

describe('the settings of a workflow', () => {
  it('have allowReentry for clients that know only that', async () => {
    const { path } = await createWorkflow({ allowReentry: true });
    const patch = async (change: object) => {
      const { body } = await call('PATCH', path, change);
      return [body.allowReentry, body.reentry.mode, body.reentry.minIntervalSeconds];
    };
    expect(await patch({})).toEqual([true, 'after_end', null]);
    expect(await patch({ allowReentry: false })).toEqual([false, 'once', null]);
    expect(await patch({ allowReentry: true })).toEqual([true, 'after_end', null]);
    const often = { mode: 'parallel', minIntervalSeconds: 60 };
    expect(await patch({ reentry: often })).toEqual([true, 'parallel', 60]);
    expect(await patch({ allowReentry: true })).toEqual([true, 'parallel', 60]);
    expect(await patch({ allowReentry: true, reentry: often })).toEqual([true, 'parallel', 60]);
    expect(await patch({ reentry: { mode: 'after_end' } })).toEqual([true, 'after_end', null]);
    expect(await patch({ allowReentry: false })).toEqual([false, 'once', null]);
  });

  it('are no part of a version, and a copy has them', async () => {
    const { path } = await createWorkflow();
    const { body: before } = await call('GET', path);
    const reentry = { mode: 'once', minIntervalSeconds: null };
    const { body } = await call('PATCH', path, { executionKey: 'event.order.id', reentry });
    expect(body).toMatchObject({ version: before.version, executionKey: 'event.order.id' });
    const { body: copy } = await call('POST', `${path}/duplicate`, {});
    expect(copy).toMatchObject({ executionKey: 'event.order.id', reentry, allowReentry: false });
  });

  it('go with the graph into another workflow and project', async () => {
    const { path } = await createWorkflow();
    const { body: graph } = await call('GET', `${path}/graph`);
    expect(graph).toMatchObject(byOrder);
    const { path: other } = await createWorkflow({});
    expect((await call('PUT', `${other}/graph`, graph)).status).toBe(200);
    expect((await call('GET', `${other}/graph`)).body).toEqual(graph);

    const inOther = (method: string, at: string, body?: object) =>
      shop.api.request(method, at, { key: shop.other.secretKey, ...(body && { body }) });
    const { body: made } = await inOther('POST', '/workflows', { name: 'Order', graph });
    expect(made).toMatchObject({ executionKey: 'event.orderId', allowReentry: true });
    expect((await inOther('GET', `/workflows/${made.id}/graph`)).body).toEqual(graph);
  });

  it.each([
    [{ executionKey: 'contact.id' }, 'executionKey unsupported_field'],
    [{ executionKey: 'event.' }, 'executionKey unsupported_field'],
    [{ executionKey: 'event.a..b' }, 'executionKey unsupported_field'],
    [{ executionKey: `event.${'x'.repeat(195)}` }, 'executionKey too_big'],
    [{ executionKey: 'event.orderId', ...parallel }, 'reentry.mode not_allowed'],
    [{ reentry: { mode: 'often' } }, 'reentry.mode invalid_enum_value'],
    [{ reentry: { minIntervalSeconds: 60 } }, 'reentry.minIntervalSeconds not_allowed'],
    [
      { reentry: { mode: 'parallel', minIntervalSeconds: 31_536_001 } },
      'reentry.minIntervalSeconds too_big',
    ],
    [{ allowReentry: false, ...parallel }, 'reentry.mode custom'],
    [{ allowReentry: true, reentry: { mode: 'once' } }, 'reentry.mode custom'],
  ])('refuse %j with 422', async (given, fault) => {
    const expected = [422, 'VALIDATION_ERROR', fault];
    expect(refusal(await call('POST', '/workflows', { name: 'W', ...given }))).toEqual(expected);
    const { path } = await createWorkflow({});
    expect(refusal(await call('PATCH', path, given))).toEqual(expected);
    const graph = { steps: [{ type: 'TRIGGER' }], transitions: [], ...given };
    expect(refusal(await call('PUT', `${path}/graph`, graph))).toEqual(expected);
    const [field, code] = fault.split(' ');
    expect(refusal(await call('POST', '/workflows', { name: 'W', graph }))).toEqual([
      422,
      'VALIDATION_ERROR',
      `graph.${field} ${code}`,
    ]);
  });

  it('have no key where a schedule starts the workflow', async () => {
    const { path } = await createWorkflow();
    const triggerConfig = { cron: '0 9 * * *', timeZone: 'UTC' };
    const change = { triggerType: 'SCHEDULE', triggerConfig };
    const expected = [422, 'VALIDATION_ERROR', 'executionKey not_allowed'];
    expect(refusal(await call('PATCH', path, change))).toEqual(expected);
    const { body } = await call('PATCH', path, { ...change, executionKey: null });
    expect(body).toMatchObject({ triggerType: 'SCHEDULE', executionKey: null });
    const key = { executionKey: 'event.orderId' };
    expect(refusal(await call('PATCH', path, key))).toEqual(expected);
    const back = { triggerType: 'EVENT', triggerConfig: { eventName: 'e' }, ...key };
    expect((await call('PATCH', path, back)).body).toMatchObject(key);
  });
});

describe('a start by hand', () => {
  it('takes its key from the request, else from the context', async () => {
    const { start, list } = await createWorkflow();
    const { id } = await createContact();
    const keys = [{ key: 'a' }, { key: 1 }, { key: true }, { context: { orderId: 2.5 } }];
    const answers = await Promise.all(keys.map((given) => start(id, given)));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(answers.map(({ body }) => body.key)).toEqual(['a', '1', 'true', '2.5']);
    const again = await start(id, { key: '1', context: { orderId: 'other' } });
    expect(refusal(again)).toEqual(exists);
    expect(again.body.error.details).toEqual({
      executionId: answers[1]!.body.id,
      status: 'RUNNING',
    });
    expect((await list()).total).toBe(4);
  });

  it.each([
    [{}, 'key required'],
    [{ context: { orderId: '' } }, 'key required'],
    [{ context: { orderId: ['1'] } }, 'key required'],
    [{ context: { orderId: 'x'.repeat(201) } }, 'key too_big'],
    [{ key: 'x'.repeat(201) }, 'key too_big'],
    [{ key: '' }, 'key too_small'],
    [{ key: null }, 'key invalid_union'],
    [{ key: ['1'] }, 'key invalid_union'],
  ])('refuses %j with 422', async (given, fault) => {
    const { start } = await createWorkflow();
    const { id } = await createContact();
    expect(refusal(await start(id, given))).toEqual([422, 'VALIDATION_ERROR', fault]);
  });

  it('takes no key where the workflow has none', async () => {
    const { start } = await createWorkflow({});
    const { id } = await createContact();
    expect(refusal(await start(id, { key: '1' }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'key not_allowed',
    ]);
    const { status, body } = await start(id, { context: { orderId: '1' } });
    expect([status, body.key]).toEqual([201, null]);
  });

  it('is made once for a key, or again when the one before has ended', async () => {
    const once = await createWorkflow({ executionKey: 'event.orderId' });
    const afterEnd = await createWorkflow();
    const { id } = await createContact();
    for (const { start } of [once, afterEnd]) {
      const { body } = await start(id, { key: '1' });
      expect(refusal(await start(id, { key: '1' }))).toEqual(exists);
      await put(body.id, 'COMPLETED');
    }
    expect(refusal(await once.start(id, { key: '1' }))).toEqual(exists);
    expect((await once.start(id, { key: '2' })).status).toBe(201);
    expect((await afterEnd.start(id, { key: '1' })).status).toBe(201);
  });

  it('is refused while the last one was less than minIntervalSeconds ago', async () => {
    const reentry = { mode: 'after_end', minIntervalSeconds: 3600 };
    const keyed = await createWorkflow({ executionKey: 'event.orderId', reentry });
    const { id } = await createContact();
    const { body: first } = await keyed.start(id, { key: '1' });
    await put(first.id, 'COMPLETED');
    expect(refusal(await keyed.start(id, { key: '1' }))).toEqual(exists);
    const { body: other } = await keyed.start(id, { key: '2' });
    await put(other.id, 'COMPLETED');
    // Without keys, the start of any key counts.
    await call('PATCH', keyed.path, { executionKey: null });
    const refused = await keyed.start(id);
    expect(refused.body.error.details).toEqual({ executionId: other.id, status: 'COMPLETED' });
    await shop.api.db
      .updateTable('execution')
      .set({ started_at: new Date(Date.now() - 3_601_000) })
      .where('workflow_id', '=', keyed.id)
      .execute();
    expect((await keyed.start(id)).status).toBe(201);
  });

  it('is refused while 100 executions of the contact run in parallel', async () => {
    const { start, list } = await createWorkflow(parallel);
    const [one, other] = [await createContact(), await createContact()];
    const answers = await Promise.all(Array.from({ length: 110 }, () => start(one.id)));
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(10);
    expect(refusal(refused[0]!)).toEqual(exists);
    expect((await list()).total).toBe(100);
    expect((await start(other.id)).status).toBe(201);
    await put(answers.find(({ status }) => status === 201)!.body.id, 'COMPLETED');
    expect((await start(one.id)).status).toBe(201);
  });

  it('is refused while 1,000 executions with other keys are active', async () => {
    const { id: workflowId, start } = await createWorkflow();
    const { id: contactId } = await createContact();
    const { body: first } = await start(contactId, { key: '0' });
    const row = await shop.api.db
      .selectFrom('execution')
      .select(['project_id', 'workflow_id', 'workflow_version', 'workflow_name', 'contact_id'])
      .where('id', '=', first.id)
      .executeTakeFirstOrThrow();
    const others = Array.from({ length: 999 }, (_, n) => ({ ...row, key: `${n}x`, slot: `${n}x` }));
    await shop.api.db.insertInto('execution').values(others).execute();
    expect(refusal(await start(contactId, { key: 'new' }))).toEqual(exists);
    await put(first.id, 'COMPLETED');
    expect((await start(contactId, { key: 'new' })).status).toBe(201);
    await shop.api.db.deleteFrom('execution').where('workflow_id', '=', workflowId).execute();
  });

  it('is refused after a change of the mode while any execution of the contact is active', async () => {
    const { path, start } = await createWorkflow(parallel);
    const { id } = await createContact();
    const ids = [(await start(id)).body.id, (await start(id)).body.id];
    await call('PATCH', path, { reentry: { mode: 'after_end' } });
    for (const one of ids) {
      expect(refusal(await start(id))).toEqual(exists);
      await put(one, 'COMPLETED');
    }
    expect((await start(id)).status).toBe(201);
  });
});

describe('the lists of executions', () => {
  it('find exactly one key, in a workflow and in all', async () => {
    const { id, path, start, list } = await createWorkflow();
    const other = await createWorkflow();
    const contact = await createContact();
    const { body: found } = await start(contact.id, { key: 'order-1' });
    await start(contact.id, { key: 'order-10' });
    const { body: elsewhere } = await other.start(contact.id, { key: 'order-1' });
    const { executions, total } = await list('?key=order-1');
    expect([total, executions[0].id, executions[0].key]).toEqual([1, found.id, 'order-1']);
    const idsOf = async (query: string) => {
      const { body } = await call('GET', `/executions?key=order-1${query}`);
      return [body.total, ...body.data.map((one: { id: string }) => one.id)];
    };
    expect(await idsOf('')).toEqual([2, elsewhere.id, found.id]);
    expect(await idsOf(`&workflowId=${id}`)).toEqual([1, found.id]);
    expect(await idsOf(`&contactId=${contact.id}&status=RUNNING`)).toEqual([
      2,
      elsewhere.id,
      found.id,
    ]);
    for (const [key, fault] of [
      ['x'.repeat(201), 'key too_big'],
      ['', 'key too_small'],
    ]) {
      for (const at of ['/executions', `${path}/executions`]) {
        const answer = await call('GET', `${at}?key=${key}`);
        expect(refusal(answer)).toEqual([422, 'VALIDATION_ERROR', fault]);
      }
    }
  });

  it('show the key, as the timeline, the activity and the export do', async () => {
    const keyed = await createWorkflow();
    const plain = await createWorkflow({});
    const contact = await createContact();
    await keyed.start(contact.id, { key: 'order-1' });
    await plain.start(contact.id);
    const { body: timeline } = await call(
      'GET',
      `/contacts/${contact.id}/timeline?types=execution`,
    );
    const details = timeline.data.map(({ detail }: { detail: object }) => detail);
    expect(details[1]).toMatchObject({ key: 'order-1' });
    expect(details[0]).not.toHaveProperty('key');
    const { body: activity } = await call(
      'GET',
      `/activity?contactId=${contact.id}&types=workflow.started`,
    );
    const items = activity.data.activities ?? activity.data;
    expect(items.map((item: { metadata: { key?: string } }) => item.metadata.key)).toEqual([
      undefined,
      'order-1',
    ]);
    const { body: exported } = await call('GET', `/contacts/${contact.id}/export`);
    expect(exported.executions.map((one: { key: string | null }) => one.key)).toEqual([
      'order-1',
      null,
    ]);
  });
});

describe('retrying a failed execution', () => {
  const retry = (path: string, id: string) => call('POST', `${path}/executions/${id}/retry`, {});

  it('is refused while another one of its key is active, whatever the mode', async () => {
    const { path, start } = await createWorkflow();
    const { id } = await createContact();
    const { body: failed } = await start(id, { key: '1' });
    await put(failed.id, 'FAILED');
    const { body: second } = await start(id, { key: '1' });
    await start(id, { key: '2' });
    await call('PATCH', path, { reentry: { mode: 'once' } });
    const refused = await retry(path, failed.id);
    expect(refusal(refused)).toEqual(exists);
    expect(refused.body.error.details).toEqual({ executionId: second.id, status: 'RUNNING' });
    await put(second.id, 'COMPLETED');
    const { status, body } = await retry(path, failed.id);
    expect([status, body.key]).toEqual([200, '1']);
  });

  it('is not refused for the interval, nor for others in parallel below 100', async () => {
    const { path, start } = await createWorkflow({
      reentry: { mode: 'after_end', minIntervalSeconds: 3600 },
    });
    const { id } = await createContact();
    const { body: failed } = await start(id);
    await put(failed.id, 'FAILED');
    await call('PATCH', path, parallel);
    const others = await Promise.all(Array.from({ length: 99 }, () => start(id)));
    expect((await retry(path, failed.id)).status).toBe(200);
    await put(failed.id, 'FAILED');
    await start(id);
    expect(refusal(await retry(path, failed.id))).toEqual(exists);
    await put(others[0]!.body.id, 'COMPLETED');
    expect((await retry(path, failed.id)).status).toBe(200);
  });
});

describe('skipping the step at which an execution has failed', () => {
  it('keeps the key, and is refused while another one of it is active', async () => {
    const { path, start } = await createWorkflow();
    const { id } = await createContact();
    const { body: failed } = await start(id, { key: '1' });
    const { steps } = (await call('GET', path)).body;
    const { db } = shop.api;
    const { project_id } = await db
      .updateTable('execution')
      .set({ status: 'FAILED', current_step_id: steps[1].id })
      .where('id', '=', failed.id)
      .returning('project_id')
      .executeTakeFirstOrThrow();
    const step = { project_id, execution_id: failed.id, step_id: steps[1].id, status: 'FAILED' };
    await db.insertInto('step_execution').values(step).execute();
    const { body: second } = await start(id, { key: '1' });
    const skip = () => call('POST', `${path}/executions/${failed.id}/skip`);
    expect(refusal(await skip())).toEqual(exists);
    await put(second.id, 'COMPLETED');
    const { status, body } = await skip();
    expect([status, body.key]).toEqual([200, '1']);
  });
});

describe('a simulation', () => {
  it('shows whether its context as an event would start the workflow', async () => {
    const { path } = await createWorkflow();
    const play = async (given: object) => {
      const contact = { email: newAddress() };
      const { body } = await call('POST', `${path}/simulate`, { contact, ...given });
      return body.data.start;
    };
    expect(await play({ context: { orderId: 7 } })).toEqual({
      starts: true,
      reason: null,
      key: '7',
    });
    expect(await play({})).toEqual({ starts: false, reason: 'no_key', key: null });
    const tooLong = { context: { orderId: 'x'.repeat(201) } };
    expect(await play(tooLong)).toEqual({ starts: false, reason: 'key_too_long', key: null });
  });

  it('refuses a key where the workflow has none', async () => {
    const { path } = await createWorkflow({});
    const given = { contact: { email: newAddress() }, key: '1' };
    expect(refusal(await call('POST', `${path}/simulate`, given))).toEqual([
      422,
      'VALIDATION_ERROR',
      'key not_allowed',
    ]);
    expect(
      (await call('POST', `${path}/simulate`, { ...given, key: undefined })).body.data,
    ).not.toHaveProperty('start');
  });
});
