import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

const invalid = (...fields: string[]) => [422, 'VALIDATION_ERROR', ...fields];

/** Creates an enabled workflow with a trigger and one step. Returns its id and that of the step. */
async function createWorkflow(
  eventName: string,
  step: object = { type: 'EXIT', name: 'Out', config: {} },
) {
  const { body: workflow } = await shop.call('POST', '/workflows', { name: 'W', eventName });
  const path = `/workflows/${workflow.id}`;
  const { body: made } = await shop.call('POST', `${path}/steps`, step);
  expect((await shop.call('PATCH', path, { enabled: true })).status).toBe(200);
  return { id: workflow.id as string, stepId: made.id as string };
}

describe('POST /v1/track', () => {
  it('answers contact, event and its time', async () => {
    const email = newAddress();
    const { status, body } = await shop.track({
      email,
      event: 'order_placed',
      data: { total: 42 },
    });
    expect(status).toBe(200);
    const event = await shop.api.db
      .selectFrom('event')
      .selectAll()
      .where('id', '=', body.data.event)
      .executeTakeFirstOrThrow();
    const contact = await shop.contact(email);
    expect(body).toEqual({
      success: true,
      data: { contact: contact!.id, event: event.id, timestamp: event.created_at.toISOString() },
    });
    expect(event).toMatchObject({
      project_id: shop.project.id,
      contact_id: contact!.id,
      email_id: null,
      name: 'order_placed',
      data: { total: 42 },
    });
    expect(contact!.data).toEqual({ total: 42 });
  });

  it('takes the public key and the secret key', async () => {
    const { publicKey, secretKey } = shop.project;
    const email = newAddress();
    for (const key of [publicKey, secretKey]) {
      const body = { email, event: 'seen' };
      expect((await shop.api.request('POST', '/v1/track', { key, body })).status).toBe(200);
    }
    expect(await shop.eventsOf(email)).toHaveLength(2);
  });

  it.each([
    ['no key', () => ({}), 'MISSING_AUTH'],
    ['an unknown public key', () => ({ key: `pk_${'0'.repeat(64)}` }), 'INVALID_API_KEY'],
  ])('refuses %s with 401', async (_kind, as, code) => {
    expect(refusal(await shop.api.request('POST', '/v1/track', { ...as(), body: {} }))).toEqual([
      401,
      code,
    ]);
  });

  it('subscribes a new contact, unless the request says otherwise', async () => {
    const [silent, out] = [newAddress(), newAddress()];
    await shop.track({ email: silent });
    await shop.track({ email: out, subscribed: false });
    expect((await shop.contact(silent))!.subscribed).toBe(true);
    expect((await shop.contact(out))!.subscribed).toBe(false);
    expect((await shop.eventsOf(out)).map(({ name }) => name)).toEqual(['clicked']);
  });

  it('records a change of subscription before the event itself, and only a change', async () => {
    const email = newAddress();
    await shop.track({ email });
    await shop.track({ email, subscribed: false });
    await shop.track({ email, subscribed: false });
    await shop.track({ email });
    expect((await shop.contact(email))!.subscribed).toBe(false);
    expect(await shop.eventsOf(email)).toEqual([
      { name: 'clicked', data: null },
      { name: 'contact.unsubscribed', data: { source: 'api' } },
      { name: 'clicked', data: null },
      { name: 'clicked', data: null },
      { name: 'clicked', data: null },
    ]);
  });

  it('makes one contact and 20 events of 20 requests at once', async () => {
    const email = newAddress();
    const answers = await Promise.all(Array.from({ length: 20 }, () => shop.track({ email })));
    expect(new Set(answers.map(({ body }) => body.data.contact)).size).toBe(1);
    expect(new Set(answers.map(({ body }) => body.data.event)).size).toBe(20);
    expect(await shop.eventsOf(email)).toHaveLength(20);
  });
});

describe('the data of an event', () => {
  it('is kept as sent, one-time values as their value; the contact gets what is to be stored', async () => {
    const email = newAddress();
    await shop.track({ email, data: { gone: 1 } });
    const data = {
      plan: 'pro',
      code: { value: { pin: 42 }, persistent: false },
      kept: { value: 'x', persistent: true },
      gone: null,
      empty: '',
      id: 'mine',
    };
    await shop.track({ email, data });
    expect((await shop.eventsOf(email))[1]!.data).toEqual({ ...data, code: { pin: 42 } });
    expect((await shop.contact(email))!.data).toEqual({ plan: 'pro', kept: 'x' });
  });

  it.each([
    [undefined, null],
    [null, null],
    [{}, {}],
  ])('that is %j is stored as %j and changes nothing', async (data, stored) => {
    const email = newAddress();
    await shop.track({ email, data: { a: 1 } });
    await shop.track({ email, data });
    expect((await shop.eventsOf(email))[1]!.data).toEqual(stored);
    expect((await shop.contact(email))!.data).toEqual({ a: 1 });
  });

  it('is at most 64 KB', async () => {
    const email = newAddress();
    const sized = (bytes: number) => ({
      k: {
        value: 'x'.repeat(bytes - '{"k":{"value":"","persistent":false}}'.length),
        persistent: false,
      },
    });
    expect((await shop.track({ email, data: sized(65_536) })).status).toBe(200);
    const refused = await shop.track({ email, data: sized(65_537) });
    expect(refusal(refused)).toEqual(invalid('data too_big'));
    expect(await shop.eventsOf(email)).toHaveLength(1);
  });

  it('that fills the contact over its limit is refused as a whole', async () => {
    const email = newAddress();
    const data = (key: string) => ({ [key]: 'x'.repeat(40_000) });
    expect((await shop.track({ email, data: data('a') })).status).toBe(200);
    expect(refusal(await shop.track({ email, data: data('b') }))).toEqual(invalid('data too_big'));
    expect(await shop.eventsOf(email)).toHaveLength(1);
    expect(Object.keys((await shop.contact(email))!.data!)).toEqual(['a']);
  });
});

describe('a request', () => {
  it.each([
    [{ event: undefined }, 'event invalid_type'],
    [{ event: 5 }, 'event invalid_type'],
    [{ event: '' }, 'event too_small'],
    [{ event: ' \n ' }, 'event too_small'],
    [{ event: 'x'.repeat(101) }, 'event too_big'],
    [{ event: 'a\nb' }, 'event invalid_string'],
    [{ event: 'a\u0007b' }, 'event invalid_string'],
    [{ email: undefined }, 'email invalid_type'],
    [{ email: 'bad' }, 'email invalid_string'],
    [{ subscribed: 'true' }, 'subscribed invalid_type'],
    [{ data: [] }, 'data invalid_type'],
    [{ data: 'x' }, 'data invalid_type'],
  ])('with %j is refused', async (given, fault) => {
    expect(refusal(await shop.track({ email: 'a@x.test', ...given }))).toEqual(invalid(fault));
  });

  it.each([
    'email.open',
    'email.whatever',
    ' email.open ',
    'contact.subscribed',
    'contact.unsubscribed',
    'segment.vip.entry',
    'segment.vip.exit',
  ])('with the system name %j is refused as reserved_event', async (event) => {
    const email = newAddress();
    const answer = await shop.track({ email, event });
    expect(refusal(answer)).toEqual(invalid('event reserved_event'));
    expect(answer.body.error.errors[0].received).toBe(event.trim());
    expect(await shop.contact(email)).toBeUndefined();
  });

  it.each(['segment.vip', 'Email.open', 'x'.repeat(100), 'names', 'Ä b/c?', '__proto__'])(
    'with the name %j is stored under exactly this name',
    async (event) => {
      const email = newAddress();
      expect((await shop.track({ email, event: ` ${event} ` })).status).toBe(200);
      expect(await shop.eventsOf(email)).toEqual([{ name: event, data: null }]);
    },
  );
});

describe('an event', () => {
  it('starts the enabled workflows with its name, and sends their starts to Temporal later', async () => {
    const email = newAddress();
    const starts = await createWorkflow('starts');
    await createWorkflow('Starts');
    const idle = await createWorkflow('starts');
    await shop.call('PATCH', `/workflows/${idle.id}`, { enabled: false });
    const { dispatched, db } = shop.api;
    const before = dispatched.length;
    const data = { a: 1, code: { value: 42, persistent: false } };
    await shop.track({ email, event: 'starts', data });
    const rows = await db
      .selectFrom('execution')
      .selectAll()
      .where('contact_id', '=', (await shop.contact(email))!.id)
      .execute();
    expect(rows).toMatchObject([
      { workflow_id: starts.id, status: 'RUNNING', context: { a: 1, code: 42 } },
    ]);
    const [row] = rows;
    expect(dispatched.slice(before)).toEqual([`execution-${row!.id}`]);
  });

  it('starts workflows by the subscription it changes, too', async () => {
    const email = newAddress();
    const lost = await createWorkflow('contact.unsubscribed');
    await shop.track({ email });
    await shop.track({ email, subscribed: false });
    const { body } = await shop.call('GET', `/workflows/${lost.id}/executions`);
    expect(body.executions).toMatchObject([{ contact: { email }, context: { source: 'api' } }]);
  });

  it('wakes the waits of its contact first; of others and other names never', async () => {
    const { id, stepId } = await createWorkflow('waits', {
      type: 'WAIT_FOR_EVENT',
      name: 'Wait',
      config: { eventName: 'wakes' },
    });
    const [mine, yours] = [newAddress(), newAddress()];
    for (const email of [mine, yours]) await shop.track({ email, event: 'waits' });
    await waitAt(id, stepId);
    const follow = await createWorkflow('wakes');
    const before = shop.api.dispatched.length;
    await shop.track({ email: mine, event: 'other' });
    const { body } = await shop.track({ email: mine, event: 'wakes' });
    const waits = await shop.api.db
      .selectFrom('wait')
      .innerJoin('contact', 'contact.id', 'wait.contact_id')
      .select(['contact.email', 'wait.event_id', 'wait.execution_id as id'])
      .where('event_name', '=', 'wakes')
      .execute();
    const woken = waits.find(({ email }) => email === mine)!;
    expect(woken.event_id).toBe(body.data.event);
    expect(waits.find(({ email }) => email === yours)!.event_id).toBeNull();
    const { body: started } = await shop.call('GET', `/workflows/${follow.id}/executions`);
    const told = [`execution-${started.executions[0].id}`, `execution-${woken.id}`];
    expect(shop.api.dispatched.slice(before).toSorted()).toEqual(told.toSorted());
    const known = shop.api.dispatched.length;
    await shop.track({ email: mine, event: 'wakes' });
    expect(shop.api.dispatched.slice(known)).toEqual([]);
  });
});

/** Puts all executions of a workflow into a wait at a step, as their runs would. */
async function waitAt(workflowId: string, stepId: string): Promise<void> {
  const { db } = shop.api;
  const executions = await db
    .selectFrom('execution')
    .selectAll()
    .where('workflow_id', '=', workflowId)
    .execute();
  for (const { id, project_id, contact_id } of executions) {
    const { id: stepExecutionId } = await db
      .insertInto('step_execution')
      .values({ project_id, execution_id: id, step_id: stepId, status: 'WAITING' })
      .returning('id')
      .executeTakeFirstOrThrow();
    const wait = { step_execution_id: stepExecutionId, execution_id: id, project_id, contact_id };
    await db
      .insertInto('wait')
      .values({ ...wait, event_name: 'wakes' })
      .execute();
  }
}
