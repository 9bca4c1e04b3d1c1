import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { recordEvents } from '../../../db/transactions/events/record-events.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { errorFields, useWorkflowApi } from '../../support/projects/workflow-api.ts';

/**
 * Exit rules in requests, and their effect when events are recorded. No worker runs, so rows do
 * not move.
 */

const { api, projectId, call, make, createWorkflow, addDelay, read } = await useWorkflowApi();
const { db } = api;

const bought = { eventName: 'bought', reason: 'customer' };

/** Creates an enabled workflow with a delay and these exit rules. */
async function ruled(exitRules: object[], more: object = {}) {
  const eventName = randomUUID();
  const { id } = await createWorkflow({ eventName, ...more });
  const delay = await addDelay(id);
  const { status, body } = await call('PATCH', `/workflows/${id}`, { exitRules, enabled: true });
  expect([status, body.error]).toEqual([200, undefined]);
  return { id, eventName, version: body.version as number, stepId: delay.id as string };
}

/** Creates a contact with an execution in each of these workflows. */
async function inside(workflows: readonly { id: string }[], contact: object = {}) {
  const email = newAddress();
  const { id: contactId } = await make('/contacts', { email, ...contact });
  const ids: string[] = [];
  for (const { id } of workflows) {
    ids.push((await make(`/workflows/${id}/executions`, { contactId })).id);
  }
  const track = async (event: string, data?: object) => {
    const { status } = await call('POST', '/v1/track', { email, event, ...(data && { data }) });
    expect(status).toBe(200);
  };
  return { email, contactId, ids, id: ids[0]!, track };
}

async function endOf(id: string) {
  return db
    .selectFrom('execution')
    .select(['status', 'exit_reason as reason', 'exit_pending as pending'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
}

const active = { status: 'RUNNING', reason: null, pending: null };
const exited = (reason: string) => ({ status: 'EXITED', reason, pending: null });

describe('exit rules of a workflow', () => {
  it('are part of its record and of its version', async () => {
    const { id, ...created } = await createWorkflow();
    expect([created.exitRules, created.version]).toEqual([[], 1]);
    const where = [
      { field: 'event.amount', operator: 'greaterThan', value: 10 },
      { field: 'contact.data.plan', operator: 'exists' },
    ];
    const exitRules = [
      { ...bought, where },
      { eventName: 'left', reason: '' },
    ];
    const set = (given: object) => call('PATCH', `/workflows/${id}`, given);
    const { status, body } = await set({ exitRules });
    expect([status, body.exitRules, body.version]).toEqual([200, exitRules, 2]);
    const shown = await read(id);
    expect([shown.exitRules, shown.version]).toEqual([exitRules, 2]);
    const { body: list } = await call('GET', '/workflows');
    expect(list.data.find((one: { id: string }) => one.id === id).exitRules).toEqual(exitRules);
    // The same rules, and an unrelated change.
    expect((await set({ exitRules })).body.version).toBe(2);
    expect((await set({ name: 'Other' })).body).toMatchObject({ version: 2, exitRules });
    const both = await set({ exitRules: [bought], triggerConfig: { eventName: 'x' } });
    expect(both.body.version).toBe(3);
    const { body: copy } = await call('POST', `/workflows/${id}/duplicate`);
    expect([copy.exitRules, copy.version, copy.enabled]).toEqual([[bought], 1, false]);
    const none = await set({ exitRules: [] });
    expect([none.body.exitRules, none.body.version]).toEqual([[], 4]);
  });

  it('are refused when they are wrong', async () => {
    const { id } = await createWorkflow();
    const refused = async (...exitRules: unknown[]) => {
      const { status, body } = await call('PATCH', `/workflows/${id}`, { exitRules });
      return [status, body.error?.code, ...(body.error ? errorFields(body) : [])];
    };
    const invalid = (...fields: string[]) => [422, 'VALIDATION_ERROR', ...fields];
    const where = (part: object) => ({
      ...bought,
      where: [{ field: 'event.amount', operator: 'equals', value: 1, ...part }],
    });
    expect(await refused(...Array.from({ length: 11 }, () => bought))).toEqual(
      invalid('exitRules too_big'),
    );
    expect((await refused(...Array.from({ length: 10 }, () => bought)))[0]).toBe(200);
    expect(await refused({ ...bought, eventName: '' })).toEqual(
      invalid('exitRules.0.eventName too_small'),
    );
    expect(await refused(bought, { ...bought, reason: 'x'.repeat(201) })).toEqual(
      invalid('exitRules.1.reason too_big'),
    );
    expect((await refused({ ...bought, reason: 'x'.repeat(200) }))[0]).toBe(200);
    expect(await refused({ eventName: 'bought' })).toEqual(
      invalid('exitRules.0.reason invalid_type'),
    );
    expect(await refused(where({ operator: 'resembles' }))).toEqual(
      invalid('exitRules.0.where.0.operator invalid_enum_value'),
    );
    for (const field of ['workflow.x', 'event', 'contact.x', 'x']) {
      expect(await refused(where({ field }))).toEqual(
        invalid('exitRules.0.where.0.field unsupported_field'),
      );
    }
    const { value: _, ...valueless } = where({}).where[0]!;
    expect(await refused({ ...bought, where: [valueless] })).toEqual(
      invalid('exitRules.0.where.0.value invalid_type'),
    );
    const { operator, field } = where({}).where[0]!;
    const compared = (given: object) => ({ ...bought, where: [{ field, operator, ...given }] });
    expect(await refused(compared({ valueOf: 'context.amount' }))).toEqual([200, undefined]);
    expect(await refused(compared({ value: 1, valueOf: 'event.x' }))).toEqual(
      invalid('exitRules.0.where.0.valueOf not_allowed'),
    );
    for (const valueOf of ['workflow.x', 'data.x', 'order.id', 'contact.x']) {
      expect(await refused(compared({ valueOf }))).toEqual(
        invalid('exitRules.0.where.0.valueOf unsupported_field'),
      );
    }
    expect((await call('PATCH', `/workflows/${id}`, { exitRules: null })).status).toBe(422);
  });

  it('are stored with the versions that run, and so are the events that they name', async () => {
    const eventsOf = async (id: string) => {
      const rows = await db
        .selectFrom('exit_event')
        .select(['event_name', 'project_id'])
        .where('workflow_id', '=', id)
        .orderBy('event_name')
        .execute();
      expect(rows.every((row) => row.project_id === projectId)).toBe(true);
      return rows.map((row) => row.event_name);
    };
    const graphsOf = async (id: string) => {
      const rows = await db
        .selectFrom('workflow_version')
        .select(['version', 'graph'])
        .where('workflow_id', '=', id)
        .orderBy('version')
        .execute();
      return rows.map(({ version, graph }) => [
        version,
        (graph as { exitRules?: unknown }).exitRules,
      ]);
    };
    const { id } = await createWorkflow({ eventName: randomUUID() });
    await addDelay(id);
    await call('PATCH', `/workflows/${id}`, { exitRules: [bought] });
    const drawn = [
      [1, undefined],
      [2, undefined],
      [3, [bought]],
    ];
    expect([await eventsOf(id), await graphsOf(id)]).toEqual([[], drawn]);
    await call('PATCH', `/workflows/${id}`, { enabled: true });
    expect([await eventsOf(id), await graphsOf(id)]).toEqual([['bought'], drawn]);
    const left = { eventName: 'left', reason: 'gone' };
    await call('PATCH', `/workflows/${id}`, { exitRules: [left, { ...left, reason: 'again' }] });
    await call('PATCH', `/workflows/${id}`, { exitRules: [] });
    expect(await eventsOf(id)).toEqual(['bought', 'left']);
    // The graph of a version without rules does not mention them.
    expect((await graphsOf(id)).at(-1)).toEqual([5, undefined]);
    await call('DELETE', `/workflows/${id}`);
    expect(await eventsOf(id)).toEqual([]);
  });

  it('are what a dry run and a simulation go by', async () => {
    const { id, version } = await ruled([bought]);
    const { id: executionId } = await inside([{ id }]);
    const dryRun = async (given: object = {}) => {
      // The execution has already left its trigger.
      await sql`update execution set current_step_id = (select id from workflow_step
        where workflow_id = ${id} and type = 'DELAY') where id = ${executionId}`.execute(db);
      const { body } = await call('POST', `/workflows/${id}/dry-run`, given);
      const [{ verdict, why }] = body.data.examples;
      return [verdict, why];
    };
    expect(await dryRun()).toEqual(['same', null]);
    await call('PATCH', `/workflows/${id}`, { exitRules: [{ ...bought, reason: 'other' }] });
    expect(await dryRun()).toEqual(['differs', 'exit_rules']);
    expect(await dryRun({ to: version })).toEqual(['same', null]);
    const { steps, transitions } = await read(id);
    const graph = { steps, transitions };
    expect(await dryRun({ graph })).toEqual(['differs', 'exit_rules']);
    expect(await dryRun({ graph: { ...graph, exitRules: [bought] } })).toEqual(['same', null]);

    const simulate = async (given: object = {}) => {
      const events = [{ name: 'bought', after: 60 }];
      const contact = { email: newAddress() };
      const { body } = await call('POST', `/workflows/${id}/simulate`, {
        contact,
        events,
        ...given,
      });
      return body.data.exitReason;
    };
    expect(await simulate()).toBe('other');
    expect(await simulate({ version })).toBe('customer');
    expect(await simulate({ graph })).toBe(null);
  });
});

describe('an event that meets an exit rule', () => {
  it('ends the execution, and what waits in it', async () => {
    const workflow = await ruled([bought]);
    const { id, track } = await inside([workflow]);
    const other = await inside([workflow]);
    await sql`insert into step_execution (project_id, execution_id, step_id, status)
      values (${projectId}, ${id}, ${workflow.stepId}, 'SCHEDULED')`.execute(db);
    await track('sold');
    expect(await endOf(id)).toEqual(active);
    await track('bought');
    expect(await endOf(id)).toEqual(exited('customer'));
    expect(await endOf(other.id)).toEqual(active);
    const { body } = await call('GET', `/workflows/${workflow.id}/executions/${id}`);
    expect(body).toMatchObject({ status: 'EXITED', exitReason: 'customer', error: null });
    expect(body.completedAt).not.toBeNull();
    expect(body.stepExecutions.map((step: { status: string }) => step.status)).toEqual([
      'COMPLETED',
      'SKIPPED',
    ]);
    const history = await call('GET', `/workflows/${workflow.id}/executions/${id}/history`);
    expect(history.body.runUrl).toBeNull();
    expect(history.body.entries.filter(({ to }: { to: string }) => to === 'EXITED')).toMatchObject([
      { stepId: null, from: 'RUNNING' },
    ]);
  });

  it('does so when all conditions hold, by its data and the contact with them', async () => {
    const where = [
      { field: 'event.amount', operator: 'greaterThan', value: 10 },
      { field: 'contact.data.amount', operator: 'lessThan', value: 100 },
      { field: 'contact.subscribed', operator: 'equals', value: true },
    ];
    const workflow = await ruled([{ ...bought, where }]);
    const { id, track, contactId } = await inside([workflow]);
    await track('bought');
    await track('bought', { amount: 5 });
    await track('bought', { amount: 100 });
    expect(await endOf(id)).toEqual(active);
    await call('PATCH', `/contacts/${contactId}`, { subscribed: false });
    await track('bought', { amount: 20 });
    expect(await endOf(id)).toEqual(active);
    await call('PATCH', `/contacts/${contactId}`, { subscribed: true });
    await track('bought', { amount: 20 });
    expect(await endOf(id)).toEqual(exited('customer'));
  });

  it('compares the event with the context of each execution and with the contact', async () => {
    const rule = (field: string, valueOf: string) => ({
      eventName: 'refunded',
      where: [{ field, operator: 'equals', valueOf }],
      reason: valueOf,
    });
    const workflow = await ruled(
      [rule('event.orderId', 'context.orderId'), rule('context.plan', 'contact.data.plan')],
      { allowReentry: true },
    );
    const [one, other] = [await inside([workflow]), await inside([workflow])];
    const context = { orderId: 7, plan: 'free', note: 'x'.repeat(1000) };
    await db
      .updateTable('execution')
      .set({ context: JSON.stringify(context) })
      .where('id', 'in', [one.id, other.id])
      .execute();
    await one.track('refunded', { orderId: 8 });
    await one.track('refunded', { orderId: '7' });
    await one.track('refunded');
    expect(await endOf(one.id)).toEqual(active);
    await one.track('refunded', { orderId: 7 });
    expect(await endOf(one.id)).toEqual(exited('context.orderId'));
    expect(await endOf(other.id)).toEqual(active);
    await call('PATCH', `/contacts/${other.contactId}`, { data: { plan: 'free' } });
    await other.track('refunded');
    expect(await endOf(other.id)).toEqual(exited('contact.data.plan'));
  });

  it('gives the reason of the first that holds, of the version that is running', async () => {
    const first = { field: 'event.amount', operator: 'greaterThan', value: 10 };
    const workflow = await ruled([
      { ...bought, where: [first], reason: 'large' },
      { ...bought, reason: 'any' },
      { ...bought, reason: 'never' },
    ]);
    const [large, small, old] = [
      await inside([workflow]),
      await inside([workflow]),
      await inside([workflow]),
    ];
    await call('PATCH', `/workflows/${workflow.id}`, { exitRules: [{ ...bought, reason: 'new' }] });
    const fresh = await inside([workflow]);
    await large.track('bought', { amount: 20 });
    await small.track('bought', { amount: 2 });
    await fresh.track('bought');
    expect([await endOf(large.id), await endOf(small.id), await endOf(fresh.id)]).toEqual([
      exited('large'),
      exited('any'),
      exited('new'),
    ]);
    await call('PATCH', `/workflows/${workflow.id}`, { exitRules: [], enabled: false });
    await old.track('bought');
    expect(await endOf(old.id)).toEqual(exited('any'));
  });

  it('starts an execution, and does not end that one', async () => {
    const eventName = randomUUID();
    const { id } = await ruled([{ eventName, reason: 'again' }], { eventName, allowReentry: true });
    const email = newAddress();
    const executions = async () => {
      const { body } = await call('GET', `/workflows/${id}/executions`);
      return body.executions.map(({ status }: { status: string }) => status);
    };
    await call('POST', '/v1/track', { email, event: eventName });
    expect(await executions()).toEqual(['RUNNING']);
    // The next one ends it, and starts another.
    await call('POST', '/v1/track', { email, event: eventName });
    expect(await executions()).toEqual(['RUNNING', 'EXITED']);
  });

  it('ends one that an event before it started in the same transaction', async () => {
    const eventName = randomUUID();
    const workflow = await ruled([bought], { eventName });
    const [one, other] = [await inside([]), await inside([])];
    const of = ({ contactId }: { contactId: string }, name: string) => ({
      contactId,
      name,
      data: null,
    });
    await transact(db, (tx) =>
      recordEvents(tx, projectId, [
        of(other, 'bought'),
        of(one, eventName),
        of(one, 'bought'),
        of(other, eventName),
      ]),
    );
    const statuses = await db
      .selectFrom('execution')
      .select(['contact_id', 'status'])
      .where('workflow_id', '=', workflow.id)
      .execute();
    expect(new Map(statuses.map(({ contact_id, status }) => [contact_id, status]))).toEqual(
      new Map([
        [one.contactId, 'EXITED'],
        [other.contactId, 'RUNNING'],
      ]),
    );
  });

  it('wins over the wait that it would end', async () => {
    const workflow = await ruled([bought]);
    const { id, contactId, track } = await inside([workflow]);
    const { id: waitingId } = await make(`/workflows/${workflow.id}/steps`, {
      type: 'WAIT_FOR_EVENT',
      name: 'Wait',
      config: { eventName: 'bought' },
    });
    await sql`
      with step as (
        insert into step_execution (project_id, execution_id, step_id, status)
          values (${projectId}, ${id}, ${waitingId}, 'WAITING') returning id
      ), waiting as (update execution set status = 'WAITING' where id = ${id})
      insert into wait (step_execution_id, project_id, execution_id, contact_id, event_name)
        select id, ${projectId}, ${id}, ${contactId}, 'bought' from step`.execute(db);
    await track('bought');
    expect(await endOf(id)).toEqual(exited('customer'));
    const { rows } = await sql`select step.status, wait.step_execution_id as wait
      from step_execution step left join wait on wait.step_execution_id = step.id
      where step.step_id = ${waitingId}`.execute(db);
    expect(rows).toEqual([{ status: 'SKIPPED', wait: null }]);
  });

  it('leaves those that are not active, and ends those that are held', async () => {
    const workflow = await ruled([bought]);
    const [failed, cancelled, held] = [
      await inside([workflow]),
      await inside([workflow]),
      await inside([workflow]),
    ];
    await sql`update execution set status = 'FAILED', error = 'x' where id = ${failed.id}`.execute(
      db,
    );
    await call('DELETE', `/workflows/${workflow.id}/executions/${cancelled.id}`);
    await sql`update execution set paused_at = now(), held_at = now() where id = ${held.id}`.execute(
      db,
    );
    for (const one of [failed, cancelled, held]) await one.track('bought');
    expect((await endOf(failed.id)).status).toBe('FAILED');
    expect((await endOf(cancelled.id)).status).toBe('CANCELLED');
    expect(await endOf(held.id)).toEqual(exited('customer'));
    const { held_at, paused_at } = await db
      .selectFrom('execution')
      .select(['held_at', 'paused_at'])
      .where('id', '=', held.id)
      .executeTakeFirstOrThrow();
    expect([held_at, paused_at]).toEqual([null, expect.any(Date)]);
  });

  it('ends all executions of its contact, and of no other', async () => {
    const workflows = await Promise.all(Array.from({ length: 50 }, () => ruled([bought])));
    const spared = await ruled([{ ...bought, eventName: 'other' }]);
    const { ids, track } = await inside([...workflows, spared]);
    await track('bought');
    const ends = await Promise.all(ids.map(endOf));
    expect(ends).toEqual([...Array.from(workflows, () => exited('customer')), active]);
  });

  it('waits for a step at work; the first reason stays', async () => {
    const workflow = await ruled([bought, { eventName: 'left', reason: 'left' }]);
    const { id, track } = await inside([workflow]);
    await sql`insert into step_execution (project_id, execution_id, step_id, status)
      values (${projectId}, ${id}, ${workflow.stepId}, 'RUNNING')`.execute(db);
    await track('bought');
    await track('left');
    expect(await endOf(id)).toEqual({ ...active, pending: 'customer' });
    // Cancelling takes effect at once.
    await call('DELETE', `/workflows/${workflow.id}/executions/${id}`);
    expect(await endOf(id)).toMatchObject({ status: 'CANCELLED', reason: 'cancelled' });
  });
});

describe('an exit rule sees', () => {
  it.each([
    [
      'an event of POST /events/track',
      'custom',
      ({ contactId }: { contactId: string }) =>
        call('POST', '/events/track', { contactId, name: 'custom' }),
    ],
    [
      'a changed subscription',
      'contact.unsubscribed',
      ({ contactId }: { contactId: string }) =>
        call('PATCH', `/contacts/${contactId}`, { subscribed: false }),
    ],
    [
      'an opt-out on the public page',
      'contact.unsubscribed',
      ({ contactId }: { contactId: string }) =>
        call('POST', `/contacts/public/${contactId}/unsubscribe`),
    ],
  ])('%s', async (_, eventName, cause) => {
    const { id, contactId } = await inside([await ruled([{ eventName, reason: 'seen' }])]);
    const { status } = await cause({ contactId });
    expect(status).toBeLessThan(300);
    expect(await endOf(id)).toEqual(exited('seen'));
  });

  it('that a contact enters a segment', async () => {
    const { body: segment } = await call('POST', '/segments', {
      name: `Pro ${randomUUID()}`,
      condition: {
        logic: 'AND',
        groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }],
      },
      trackMembership: true,
    });
    expect(segment.error).toBeUndefined();
    const eventName = `segment.${segment.name.toLowerCase().replace(/ /g, '-')}.entry`;
    const { id } = await inside([await ruled([{ eventName, reason: 'pro' }])], {
      data: { plan: 'pro' },
    });
    await call('POST', `/segments/${segment.id}/compute`);
    expect(await endOf(id)).toEqual(exited('pro'));
  });
});
