import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { recordEvents } from '../../../db/transactions/events/record-events.ts';
import { deleteExpired } from '../../../db/expired.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { readingsOf } from '../../support/rows-read.ts';
import { recordStatements } from '../../support/statements.ts';

const shop = await useShop();
const { call } = shop;
const { db } = shop.api;

const byOrder = { executionKey: 'event.orderId', reentry: { mode: 'after_end' } };
const parallel = { reentry: { mode: 'parallel' } };

async function createWorkflow(given: object = byOrder) {
  const eventName = `placed ${randomUUID()}`;
  const { body } = await call('POST', '/workflows', { name: 'Order', eventName, ...given });
  const path = `/workflows/${body.id}`;
  await call('POST', `${path}/steps`, { type: 'EXIT', name: 'Out', config: {} });
  expect((await call('PATCH', path, { enabled: true })).status).toBe(200);
  const keys = async () => {
    const { executions } = (await call('GET', `${path}/executions?pageSize=100`)).body;
    return executions.map(({ key }: { key: string | null }) => key).toSorted() as (string | null)[];
  };
  const notStarted = async () => (await call('GET', `${path}/stats`)).body.data.notStarted;
  return { id: body.id as string, path, eventName, keys, notStarted };
}

async function createContact() {
  const email = newAddress();
  const { body } = await call('POST', '/contacts', { email });
  return { id: body.id as string, email };
}

async function track(email: string, event: string, data: object = {}) {
  const { status } = await shop.track({ email, event, data });
  expect(status).toBe(200);
}

const timelineOf = async (contactId: string) =>
  (await call('GET', `/contacts/${contactId}/timeline?types=not_started`)).body.data;

describe('events of a workflow with an executionKey', () => {
  it('start one execution for each key, however many come at once', async () => {
    const { eventName, keys } = await createWorkflow();
    const { email } = await createContact();
    await Promise.all(Array.from({ length: 20 }, () => track(email, eventName, { orderId: 'A' })));
    expect(await keys()).toEqual(['A']);
    const orders = Array.from({ length: 20 }, (_, index) => ({ orderId: index % 5 }));
    await Promise.all(orders.map((data) => track(email, eventName, data)));
    await track(email, eventName, { orderId: '1' });
    expect(await keys()).toEqual(['0', '1', '2', '3', '4', 'A']);
  });

  it('start one for each key also when they are recorded together', async () => {
    const { id, eventName, keys } = await createWorkflow({ executionKey: 'event.orderId' });
    const { id: contactId } = await createContact();
    const { project_id: projectId } = await db
      .selectFrom('workflow')
      .select('project_id')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    const events = ['A', 'B', 'A', 'A', 'B'].map((orderId) => ({
      contactId,
      name: eventName,
      data: { orderId },
    }));
    await transact(db, (tx) => recordEvents(tx, projectId, events));
    expect(await keys()).toEqual(['A', 'B']);
  });

  it('read the key on a path, or under the whole name', async () => {
    const { eventName, keys } = await createWorkflow({ executionKey: 'event.order.id' });
    const { email } = await createContact();
    await track(email, eventName, { order: { id: true } });
    await track(email, eventName, { 'order.id': 'whole' });
    await track(email, eventName, { order: [{ id: 'in a list' }] });
    expect(await keys()).toEqual(['true', 'whole']);
  });

  it('follow the mode and the interval of each key, silently', async () => {
    const { id, eventName, keys, notStarted } = await createWorkflow({
      executionKey: 'event.orderId',
      reentry: { mode: 'after_end', minIntervalSeconds: 3600 },
    });
    const contact = await createContact();
    const again = () => track(contact.email, eventName, { orderId: 'A' });
    const change = (values: { status?: string; started_at?: Date }) =>
      db.updateTable('execution').set(values).where('workflow_id', '=', id).execute();
    await again();
    await again();
    await change({ status: 'COMPLETED' });
    await again();
    expect(await keys()).toEqual(['A']);
    await change({ started_at: new Date(Date.now() - 3_601_000) });
    await again();
    expect(await keys()).toEqual(['A', 'A']);
    expect(await notStarted()).toEqual({ no_key: 0, key_too_long: 0, too_many: 0 });
    expect(await timelineOf(contact.id)).toEqual([]);
  });

  it('start nothing without a key, and the timeline and the numbers say so', async () => {
    const { id, eventName, keys, notStarted } = await createWorkflow();
    const contact = await createContact();
    const without = [{}, ...[null, '', {}, [], ['1']].map((orderId) => ({ orderId }))];
    for (const data of without) await track(contact.email, eventName, data);
    await track(contact.email, eventName, { orderId: 'x'.repeat(201) });
    await track(contact.email, eventName, { orderId: 'x'.repeat(200) });
    expect(await keys()).toEqual(['x'.repeat(200)]);
    expect(await notStarted()).toEqual({ no_key: 6, key_too_long: 1, too_many: 0 });
    const items = await timelineOf(contact.id);
    expect(items).toHaveLength(7);
    expect(items[0]).toMatchObject({
      type: 'not_started',
      title: 'Order did not start: the execution key of the event is too long',
      detail: { reason: 'key_too_long', eventName },
      links: { workflow: id },
    });
    expect(items[1].detail).toEqual({ reason: 'no_key', eventName });
  });

  it('start other workflows as before', async () => {
    const keyed = await createWorkflow();
    const plain = await createWorkflow({ eventName: keyed.eventName });
    const { email } = await createContact();
    await track(email, keyed.eventName, { orderId: 'A' });
    await track(email, keyed.eventName, { orderId: 'B' });
    expect(await keyed.keys()).toEqual(['A', 'B']);
    expect(await plain.keys()).toEqual([null]);
    expect(await plain.notStarted()).toBeUndefined();
  });
});

describe('events of a workflow that runs in parallel', () => {
  it('start an execution each, up to 100 of a contact', async () => {
    const { eventName, keys, notStarted } = await createWorkflow(parallel);
    const contact = await createContact();
    await Promise.all(Array.from({ length: 103 }, () => track(contact.email, eventName)));
    expect((await keys()).length).toBe(100);
    expect(await notStarted()).toEqual({ no_key: 0, key_too_long: 0, too_many: 3 });
    const [item] = await timelineOf(contact.id);
    expect(item.detail).toEqual({ reason: 'too_many', eventName });
  });

  it('are refused within the interval', async () => {
    const { eventName, keys } = await createWorkflow({
      reentry: { mode: 'parallel', minIntervalSeconds: 3600 },
    });
    const { email } = await createContact();
    await Promise.all(Array.from({ length: 3 }, () => track(email, eventName)));
    expect(await keys()).toEqual([null]);
  });
});

describe('events of a workflow without an executionKey', () => {
  it('are refused within the interval, also after the end of the execution before', async () => {
    const { id, eventName, keys } = await createWorkflow({
      reentry: { mode: 'after_end', minIntervalSeconds: 3600 },
    });
    const { email } = await createContact();
    await track(email, eventName);
    await db
      .updateTable('execution')
      .set({ status: 'COMPLETED' })
      .where('workflow_id', '=', id)
      .execute();
    await track(email, eventName);
    expect(await keys()).toEqual([null]);
    await db
      .updateTable('execution')
      .set({ started_at: new Date(Date.now() - 3_601_000) })
      .where('workflow_id', '=', id)
      .execute();
    await track(email, eventName);
    expect(await keys()).toEqual([null, null]);
  });
});

describe('an event of a contact with 1,000 open keys', () => {
  it('starts no execution, and reads no more than it counts', async () => {
    const { id, eventName, notStarted } = await createWorkflow();
    const contact = await createContact();
    await track(contact.email, eventName, { orderId: '0' });
    await sql`
      insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id, key, slot)
        select project_id, workflow_id, workflow_version, workflow_name, contact_id, n || 'x', n || 'x'
          from execution, generate_series(1, 999) n where workflow_id = ${id}`.execute(db);
    // Completed executions of the same contact and keys.
    await sql`
      insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id, status, key, slot)
        select project_id, workflow_id, workflow_version, workflow_name, contact_id, 'COMPLETED', key, slot
          from execution, generate_series(1, 20) where workflow_id = ${id}`.execute(db);
    await sql`analyze execution`.execute(db);
    const recorded = recordStatements();
    await track(contact.email, eventName, { orderId: 'new' });
    expect(await notStarted()).toMatchObject({ too_many: 1 });
    const statements = recorded.take().filter(({ text }) => text.includes('judged'));
    expect(statements.length).toBeGreaterThan(0);
    for (const statement of statements) {
      for (const { rows } of await readingsOf(db, statement)) expect(rows).toBeLessThan(1500);
    }
    await db.deleteFrom('execution').where('workflow_id', '=', id).execute();
  });
});

describe('events that look at many waits', () => {
  /** Inserts 400 waits of each contact for `paid`, one for each order. Returns the project's id. */
  async function insertWaits(
    workflowId: string,
    contacts: readonly { id: string }[],
    { hasRequired }: { hasRequired: boolean },
  ): Promise<string> {
    await sql`
      with started as (
        insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
            status, key, slot)
          select project_id, id, version, name, contact_id, 'WAITING', n || '', n || ''
            from workflow, unnest(${contacts.map((one) => one.id)}::uuid[]) contact_id,
              generate_series(1, 400) n
            where workflow.id = ${workflowId}
          returning id, project_id, contact_id, key
      ), waiting as (
        insert into step_execution (project_id, execution_id, step_id, status)
          select project_id, id, id, 'WAITING' from started returning id, execution_id
      )
      insert into wait (step_execution_id, project_id, execution_id, contact_id, event_name, conditions,
          required_data)
        select waiting.id, project_id, execution_id, contact_id, 'paid', jsonb_build_array(
            jsonb_build_object('field', 'event.orderId', 'operator', 'equals', 'value', key)),
            case when ${hasRequired} then jsonb_build_object('orderId', key) end
          from waiting join started on started.id = execution_id`.execute(db);
    const { project_id: projectId } = await db
      .selectFrom('workflow')
      .select('project_id')
      .where('id', '=', workflowId)
      .executeTakeFirstOrThrow();
    return projectId;
  }

  it('end each its own, with a thousand waits in memory at once', async () => {
    const { id } = await createWorkflow();
    const contacts = await Promise.all([createContact(), createContact(), createContact()]);
    const projectId = await insertWaits(id, contacts, { hasRequired: false });
    const events = contacts.map(({ id: contactId }, index) => ({
      contactId,
      name: 'paid',
      data: { orderId: `${index + 1}` },
    }));
    const recorded = recordStatements();
    await transact(db, (tx) => recordEvents(tx, projectId, events));
    const readings = recorded.take().filter(({ text }) => text.includes('as waits'));
    expect(readings.length).toBe(2);
    const { rows } = await sql<{ contactId: string; key: string }>`
      select wait.contact_id as "contactId", execution.key
        from wait join execution on execution.id = wait.execution_id
        where execution.workflow_id = ${id} and wait.event_id is not null`.execute(db);
    const expected = events.map(({ contactId, data }) => ({ contactId, key: data.orderId }));
    expect(rows).toHaveLength(3);
    expect(rows).toEqual(expect.arrayContaining(expected));
    await db.deleteFrom('execution').where('workflow_id', '=', id).execute();
  });

  it('read only the waits for their order', async () => {
    const { id } = await createWorkflow();
    const contact = await createContact();
    const projectId = await insertWaits(id, [contact], { hasRequired: true });
    const pay = async (orderId: string) => {
      const recorded = recordStatements();
      const event = { contactId: contact.id, name: 'paid', data: { orderId } };
      await transact(db, (tx) => recordEvents(tx, projectId, [event]));
      return recorded.take().filter(({ text }) => text.includes('as waits'));
    };
    expect(await pay('401')).toEqual([]);
    expect(await pay('7')).toHaveLength(1);
    const ended = await db
      .selectFrom('wait')
      .innerJoin('execution', 'execution.id', 'wait.execution_id')
      .select('execution.key')
      .where('execution.workflow_id', '=', id)
      .where('wait.event_id', 'is not', null)
      .execute();
    expect(ended).toEqual([{ key: '7' }]);
    await db.deleteFrom('execution').where('workflow_id', '=', id).execute();
  });
});

describe('the note of an event that started nothing', () => {
  async function noted() {
    const workflow = await createWorkflow();
    const contact = await createContact();
    await track(contact.email, workflow.eventName);
    const count = async () => {
      const { rows } = await sql<{ total: number }>`select count(*)::int as total
        from not_started where contact_id = ${contact.id}`.execute(db);
      return rows[0]!.total;
    };
    expect(await count()).toBe(1);
    return { workflow, contact, count };
  }

  it('is kept for 30 days', async () => {
    const { contact, count } = await noted();
    const age = (days: number) =>
      db
        .updateTable('not_started')
        .set({ at: new Date(Date.now() - days * 86_400_000) })
        .where('contact_id', '=', contact.id)
        .execute();
    await age(29);
    await deleteExpired(db, 'not_started');
    expect(await count()).toBe(1);
    await age(31);
    await deleteExpired(db, 'not_started');
    expect(await count()).toBe(0);
  });

  it('goes with the contact', async () => {
    const { contact, count } = await noted();
    expect((await call('DELETE', `/contacts/${contact.id}`)).status).toBe(204);
    expect(await count()).toBe(0);
  });

  it('is not shown once the workflow is deleted', async () => {
    const { workflow, contact } = await noted();
    expect((await call('DELETE', workflow.path)).status).toBe(204);
    expect(await timelineOf(contact.id)).toEqual([]);
  });
});

describe('the warnings of a workflow', () => {
  it('name waits that any key ends, and a key that no event has', async () => {
    const { path, eventName } = await createWorkflow();
    const config = { eventName: 'paid', timeout: 60 };
    const step = { type: 'WAIT_FOR_EVENT', name: 'Paid?', config };
    const { body: wait } = await call('POST', `${path}/steps`, { ...step, autoConnect: true });
    const warnings = async () => {
      const { warnings: given = [] } = (await call('GET', path)).body;
      return given
        .filter(({ code }: { code: string }) => ['not_by_key', 'key_never_seen'].includes(code))
        .map(({ code, step: id }: { code: string; step: string }) => [code, id]);
    };
    expect(await warnings()).toEqual([['not_by_key', wait.id]]);
    const { email } = await createContact();
    await track(email, eventName, { order: 1 });
    const { body: whole } = await call('GET', path);
    expect(await warnings()).toEqual([
      ['not_by_key', wait.id],
      ['key_never_seen', whole.steps[0].id],
    ]);
    await track(email, eventName, { orderId: 1 });
    expect(await warnings()).toEqual([['not_by_key', wait.id]]);
    await call('PATCH', path, { executionKey: null });
    expect(await warnings()).toEqual([]);
  });
});
