import { createHmac, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { useEngine } from '../../support/engine.ts';
import {
  beginExecution,
  type ExecutionPlan,
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
  type StepPlan,
} from '../../support/histories/executions.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });

const exit = (name: string): StepPlan => ({ type: 'EXIT', name, config: { reason: name } });

/** Runs one execution. Returns its final state. */
async function play(plan: ExecutionPlan, status: string) {
  const begun = await beginExecution(engine, plan);
  return { ...begun, execution: await begun.until(status) };
}

describe('a SPLIT step', () => {
  const arm = (id: string, weight: number) => ({ id, name: `Arm ${id}`, weight });
  const journey = (config: object): Omit<ExecutionPlan, 'contact'> => ({
    steps: [{ type: 'SPLIT', name: 'Split', config: { ...config } }, exit('a'), exit('b')],
    ways: [
      ['TRIGGER', 'Split'],
      ['Split', 'a', 'a'],
      ['Split', 'b', 'b'],
    ],
  });

  it('takes the arm that a simulation names', async () => {
    const plan = { ...journey({ arms: [arm('a', 50), arm('b', 50)] }), allowReentry: true };
    const workflow = await createWorkflow(engine, plan);
    const path = `/workflows/${workflow.id}`;
    const ends: { contactId: string; branch: string }[] = [];
    for (let index = 0; index < 8; index++) {
      // The last contact enters again.
      const contactId =
        index === 7 ? ends.at(-1)!.contactId : await createContact(engine, newAddress());
      const { body } = await engine.call('POST', `${path}/simulate`, { contactId });
      const started = await engine.call('POST', `${path}/executions`, { contactId });
      const execution = await executionIn(engine, workflow.id, started.body.id, 'EXITED');
      const { branch } = body.data.path[1];
      expect(execution.exitReason).toBe(branch);
      expect(execution.stepExecutions[1].output).toEqual({
        arm: branch,
        name: `Arm ${branch}`,
        by: 'contact',
      });
      ends.push({ contactId, branch });
    }
    expect(ends[7]!.branch).toBe(ends[6]!.branch);
    const { body: stats } = await engine.call('GET', `${path}/stats`);
    const counted = (id: string) => ends.filter(({ branch }) => branch === id).length;
    const split = stats.data.steps.find(({ type }: { type: string }) => type === 'SPLIT');
    const drawn = ['a', 'b'].filter((id) => counted(id) > 0);
    expect(split.branches).toEqual(Object.fromEntries(drawn.map((id) => [id, counted(id)])));
  });

  it('draws for the key of each execution, as a simulation does', async () => {
    const arms = [arm('a', 50), arm('b', 50)];
    const plan = { ...journey({ arms, by: 'key' }), executionKey: 'event.order' };
    const workflow = await createWorkflow(engine, plan);
    const path = `/workflows/${workflow.id}`;
    const contactId = await createContact(engine, newAddress());
    for (let order = 0; order < 8; order++) {
      const { body } = await engine.call('POST', `${path}/simulate`, { contactId, key: order });
      const started = await engine.call('POST', `${path}/executions`, { contactId, key: order });
      const execution = await executionIn(engine, workflow.id, started.body.id, 'EXITED');
      const { branch } = body.data.path[1];
      expect(execution.stepExecutions[1].output).toEqual({
        arm: branch,
        name: `Arm ${branch}`,
        by: 'key',
      });
    }
  });

  it('completes where no way belongs to the arm', async () => {
    const plan: ExecutionPlan = {
      ...journey({ arms: [arm('a', 0), arm('b', 1)] }),
      ways: [
        ['TRIGGER', 'Split'],
        ['Split', 'a', 'a'],
      ],
    };
    const { execution } = await play({ ...plan, steps: plan.steps.slice(0, 2) }, 'COMPLETED');
    expect(execution.stepExecutions[1].output).toMatchObject({ arm: 'b' });
  });
});

describe('a CONDITION step', () => {
  const binary = (config: object): Omit<ExecutionPlan, 'contact'> => ({
    steps: [{ type: 'CONDITION', name: 'If', config: { ...config } }, exit('yes'), exit('no')],
    ways: [
      ['TRIGGER', 'If'],
      ['If', 'yes', 'yes'],
      ['If', 'no', 'no'],
    ],
  });

  it.each([
    [{ plan: 'pro' }, 'yes'],
    [{ plan: 'Pro' }, 'no'],
    [{}, 'no'],
  ])('sends %j the way of its truth', async (data, way) => {
    const journey = binary({ field: 'data.plan', operator: 'equals', value: 'pro' });
    const { execution } = await play({ ...journey, contact: { data } }, 'EXITED');
    expect(execution.exitReason).toBe(way);
    expect(execution.stepExecutions[1].output).toMatchObject({
      field: 'data.plan',
      operator: 'equals',
      expectedValue: 'pro',
      actualValue: (data as { plan?: string }).plan ?? null,
      result: way === 'yes',
      branch: way,
    });
  });

  it('reads the context of the execution', async () => {
    const journey = binary({ field: 'event.total', operator: 'greaterThan', value: 10 });
    const { execution } = await play({ ...journey, context: { total: 11 } }, 'EXITED');
    expect(execution.exitReason).toBe('yes');
  });

  it('takes the first branch that matches, else the default', async () => {
    const journey: ExecutionPlan = {
      steps: [
        {
          type: 'CONDITION',
          name: 'Switch',
          config: {
            mode: 'multi',
            field: 'data.seats',
            branches: [
              { id: 'big', name: 'Big', operator: 'greaterThan', value: 100 },
              { id: 'some', name: 'Some', operator: 'greaterThan', value: 1 },
            ],
          },
        },
        exit('many'),
        exit('few'),
        exit('one'),
      ],
      ways: [
        ['TRIGGER', 'Switch'],
        ['Switch', 'many', 'big'],
        ['Switch', 'few', 'some'],
        ['Switch', 'one', 'default'],
      ],
    };
    const reasons = [];
    for (const seats of [101, 5, 1]) {
      const { execution } = await play({ ...journey, contact: { data: { seats } } }, 'EXITED');
      reasons.push(execution.exitReason);
    }
    expect(reasons).toEqual(['many', 'few', 'one']);
  });

  it('decides by filters on history, segments, context and contact, as a simulation does', async () => {
    const segment = async (given: object) =>
      (await engine.call('POST', '/segments', { name: randomUUID(), ...given })).body.id as string;
    const [handPicked, dynamic] = [
      await segment({ type: 'STATIC' }),
      await segment({
        filters: {
          operator: 'AND',
          conditions: [{ field: 'event.bought', operator: 'triggered' }],
        },
      }),
    ];
    const filters = {
      recent: { field: 'event.visited', operator: 'triggeredWithin', value: 1, unit: 'hours' },
      picked: { field: `segment.${handPicked}`, operator: 'memberOfSegment' },
      buyer: { field: `segment.${dynamic}`, operator: 'memberOfSegment' },
      same: { field: 'event.total', operator: 'equals', valueOf: 'contact.data.total' },
    };
    const workflow = await createWorkflow(engine, {
      eventName: randomUUID(),
      steps: [
        {
          type: 'CONDITION',
          name: 'Who?',
          config: {
            mode: 'filter',
            branches: Object.entries(filters).map(([id, filter]) => ({
              id,
              name: id,
              filter: { operator: 'OR', conditions: [filter] },
            })),
          },
        },
        ...[...Object.keys(filters), 'default'].map(exit),
      ],
      ways: [
        ['TRIGGER', 'Who?'],
        ...[...Object.keys(filters), 'default'].map((id): [string, string, string] => [
          'Who?',
          id,
          id,
        ]),
      ],
    });
    const path = `/workflows/${workflow.id}`;
    const reasons = [];
    for (const way of [...Object.keys(filters), 'default']) {
      const email = newAddress();
      const contactId = await createContact(engine, email, { data: { total: 7 } });
      const track = (event: string) => engine.call('POST', '/v1/track', { email, event });
      if (way === 'recent') await track('visited');
      if (way === 'buyer') await track('bought');
      if (way === 'picked') {
        await engine.call('POST', `/segments/${handPicked}/members`, { emails: [email] });
      }
      const context = way === 'same' ? { total: 7 } : { total: '7' };
      const given = { contactId, context };
      const { body } = await engine.call('POST', `${path}/simulate`, given);
      const started = await engine.call('POST', `${path}/executions`, given);
      const execution = await executionIn(engine, workflow.id, started.body.id, 'EXITED');
      expect(execution.stepExecutions[1].output).toEqual(body.data.path[1].output);
      reasons.push(execution.exitReason);
    }
    expect(reasons).toEqual(['recent', 'picked', 'buyer', 'same', 'default']);
  });

  it('fails, and says why, when reading what it names takes longer than 5 seconds', async () => {
    const given = { name: randomUUID(), type: 'STATIC' };
    const { body: segment } = await engine.call('POST', '/segments', given);
    const filters = [{ field: `segment.${segment.id}`, operator: 'memberOfSegment' }];
    const filter = { operator: 'AND', conditions: filters };
    const config = { mode: 'filter', branches: [{ id: 'in', name: 'In', filter }] };
    const begun = await transact(engine.api.db, async (tx) => {
      await sql`lock table segment_member in access exclusive mode`.execute(tx);
      const execution = await beginExecution(engine, {
        steps: [{ type: 'CONDITION', name: 'In?', config }, exit('in')],
        ways: [
          ['TRIGGER', 'In?'],
          ['In?', 'in', 'in'],
        ],
      });
      await execution.until('FAILED');
      return execution;
    });
    const { error, stepExecutions } = await begun.until('FAILED');
    expect(error).toContain('took longer than 5 seconds. Use fewer filters');
    expect(stepExecutions[1]).toMatchObject({ status: 'FAILED', output: null });
  });

  it('has no member of a segment that was deleted since', async () => {
    const { body: segment } = await engine.call('POST', '/segments', {
      name: randomUUID(),
      type: 'STATIC',
    });
    const field = `segment.${segment.id}`;
    const filter = { operator: 'AND', conditions: [{ field, operator: 'memberOfSegment' }] };
    const config = { mode: 'filter', branches: [{ id: 'in', name: 'In', filter }] };
    const workflow = await createWorkflow(engine, {
      eventName: randomUUID(),
      steps: [{ type: 'CONDITION', name: 'In?', config }, exit('in'), exit('out')],
      ways: [
        ['TRIGGER', 'In?'],
        ['In?', 'in', 'in'],
        ['In?', 'out', 'default'],
      ],
    });
    const email = newAddress();
    const contactId = await createContact(engine, email);
    await engine.call('POST', `/segments/${segment.id}/members`, { emails: [email] });
    await engine.api.db.deleteFrom('segment').where('id', '=', segment.id).execute();
    const started = await engine.call('POST', `/workflows/${workflow.id}/executions`, {
      contactId,
    });
    const execution = await executionIn(engine, workflow.id, started.body.id, 'EXITED');
    expect(execution.exitReason).toBe('out');
  });

  it('completes where no way belongs to the branch', async () => {
    const journey: ExecutionPlan = {
      steps: [
        {
          type: 'CONDITION',
          name: 'If',
          config: { field: 'contact.subscribed', operator: 'equals', value: false },
        },
        exit('yes'),
      ],
      ways: [
        ['TRIGGER', 'If'],
        ['If', 'yes', 'yes'],
      ],
    };
    await play(journey, 'COMPLETED');
  });
});

describe('an UPDATE_CONTACT step', () => {
  it('writes by the rules of contact data, and records the changed subscription', async () => {
    const { execution, contactId } = await play(
      {
        steps: [
          {
            type: 'UPDATE_CONTACT',
            name: 'Update',
            config: {
              updates: {
                stage: 'now {{plan}}',
                kept: { value: '{{plan}}!', persistent: true },
                old: null,
                empty: '',
                seats: 5,
              },
              subscriptionAction: 'unsubscribe',
            },
          },
        ],
        contact: { data: { plan: 'pro', old: 1, empty: 'kept' } },
      },
      'COMPLETED',
    );
    const data = { plan: 'pro', empty: 'kept', stage: 'now pro', kept: 'pro!', seats: 5 };
    expect(execution.stepExecutions[1].output).toMatchObject({
      updated: true,
      newData: data,
      subscriptionAction: 'unsubscribe',
      subscribed: false,
    });
    const { body: contact } = await engine.call('GET', `/contacts/${contactId}`);
    expect(contact).toMatchObject({ subscribed: false, data });
    const { body } = await engine.call('GET', '/events?eventName=contact.unsubscribed');
    expect(
      body.events.filter((event: { contactId: string }) => event.contactId === contactId),
    ).toMatchObject([{ data: { source: 'workflow' } }]);
  });

  it('starts workflows by the subscription it changes', async () => {
    const follower = await createWorkflow(engine, {
      eventName: 'contact.unsubscribed',
      steps: [exit('left')],
    });
    const { contactId } = await play(
      {
        steps: [
          {
            type: 'UPDATE_CONTACT',
            name: 'Leave',
            config: { subscriptionAction: 'unsubscribe' },
          },
        ],
      },
      'COMPLETED',
    );
    await waitFor('the follower to have exited', async () => {
      const { body } = await engine.call('GET', `/workflows/${follower.id}/executions`);
      return body.executions.some(
        (execution: { contactId: string; status: string }) =>
          execution.contactId === contactId && execution.status === 'EXITED',
      );
    });
  });
});

describe('a SEND_EMAIL step', () => {
  it('writes to a custom address, whatever the state of the contact', async () => {
    const custom = newAddress();
    const templateId = await createTemplate(engine, { type: 'MARKETING', subject: 'To you' });
    const { execution } = await play(
      {
        steps: [
          {
            type: 'SEND_EMAIL',
            name: 'Notice',
            templateId,
            config: { recipient: { type: 'CUSTOM', customEmail: '{{owner}}' } },
          },
        ],
        contact: { subscribed: false, data: { owner: custom } },
      },
      'COMPLETED',
    );
    expect(execution.stepExecutions[1].output).toMatchObject({
      recipientType: 'CUSTOM',
      recipientEmail: custom,
    });
    await engine.mailsTo(custom, 1);
  });

  it('starts workflows and wakes waits by what becomes of its mail', async () => {
    const email = newAddress();
    const follower = await createWorkflow(engine, {
      eventName: 'email.delivery',
      steps: [exit('delivered')],
    });
    const contact = await createContact(engine, email);
    await engine.call('POST', '/v1/send', {
      to: email,
      from: `team@${engine.domain}`,
      subject: 'Hi',
      body: '<p>Hi</p>',
    });
    await waitFor('the follower to have exited', async () => {
      const { body } = await engine.call('GET', `/workflows/${follower.id}/executions`);
      return body.executions.some(
        (execution: { contactId: string; status: string; context: { subject: string } }) =>
          execution.contactId === contact &&
          execution.status === 'EXITED' &&
          execution.context.subject === 'Hi',
      );
    });
  });
});

describe('a WEBHOOK step', () => {
  const hook = (path: string, config: object = {}): ExecutionPlan => ({
    steps: [
      { type: 'WEBHOOK', name: 'Call', config: { url: `${receiver.url}${path}`, ...config } },
      exit('after'),
    ],
  });

  it('sends lists of an event as JSON or joined by commas, and stores them as lists', async () => {
    receiver.answer('/lists?t=a,%20b', { status: 200 });
    const { contactId } = await play(
      {
        steps: [
          {
            type: 'WEBHOOK',
            name: 'Call',
            config: {
              url: `${receiver.url}/lists?t={{event.tags}}`,
              headers: { 'X-Tags': '{{event.tags}}' },
              body: {
                tags: '{{event.tags}}',
                text: 'Tags: {{event.tags}}',
                next: '{{ visits | plus: 1 }}',
                orders: ['{{ event.order }}'],
              },
            },
          },
          {
            type: 'UPDATE_CONTACT',
            name: 'Update',
            config: {
              updates: {
                last: '{{event.tags}}',
                visits: '{{ visits | plus: 1 }}',
                address: { city: '{{event.order.city}}', lines: ['{{name}}', '{{event.tags}}'] },
              },
            },
          },
        ],
        contact: { data: { visits: 2, name: 'Ada' } },
        context: { tags: ['a', 'b'], order: { city: 'Oslo', paid: true } },
      },
      'COMPLETED',
    );
    const [request] = receiver.requests('/lists?t=a,%20b');
    expect(request?.headers['x-tags']).toBe('a, b');
    expect(JSON.parse(request!.body)).toEqual({
      tags: ['a', 'b'],
      text: 'Tags: a, b',
      next: 3,
      orders: [{ city: 'Oslo', paid: true }],
    });
    expect((await engine.call('GET', `/contacts/${contactId}`)).body.data).toEqual({
      name: 'Ada',
      last: ['a', 'b'],
      visits: 3,
      address: { city: 'Oslo', lines: ['Ada', ['a', 'b']] },
    });
  });

  it('calls the receiver, signed, and keeps the response', async () => {
    receiver.answer('/plain', { status: 200, body: { ok: true } });
    const { execution, workflow, contactId, id } = await play(
      { ...hook('/plain'), contact: { data: { plan: 'pro' } }, context: { source: 'ad' } },
      'EXITED',
    );
    const [request] = receiver.requests('/plain');
    expect(JSON.parse(request!.body)).toMatchObject({
      contact: { id: contactId, subscribed: true, data: { plan: 'pro' } },
      workflow: { id: workflow.id, name: 'Journey' },
      execution: { id },
      event: { source: 'ad' },
    });
    const [, stepExecution] = execution.stepExecutions;
    expect(request!.headers['everpost-delivery']).toBe(stepExecution.id);
    const project = await engine.api.db
      .selectFrom('project')
      .select('webhook_signing_secret')
      .where('id', '=', engine.project.id)
      .executeTakeFirstOrThrow();
    const secret = engine.api.services.cipher.decrypt(project.webhook_signing_secret);
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(
      String(request!.headers['everpost-signature']),
    )!;
    expect(createHmac('sha256', secret).update(`${t}.${request!.body}`).digest('hex')).toBe(v1);
    expect(stepExecution.output).toEqual({
      url: `${receiver.url}/plain`,
      method: 'POST',
      statusCode: 200,
      success: true,
      response: { ok: true },
      attempts: 1,
    });
  });

  it('tries again with one delivery id, at least two seconds later, until it is answered', async () => {
    receiver.answer(
      '/flaky',
      { status: 500 },
      { status: 429, headers: { 'retry-after': '0' } },
      { status: 200 },
    );
    const { execution } = await play(hook('/flaky'), 'EXITED');
    const requests = receiver.requests('/flaky');
    expect(requests).toHaveLength(3);
    expect(new Set(requests.map(({ headers }) => headers['everpost-delivery'])).size).toBe(1);
    expect(requests[1]!.at - requests[0]!.at).toBeGreaterThanOrEqual(2000);
    expect(requests[2]!.at - requests[1]!.at).toBeGreaterThanOrEqual(4000);
    expect(execution.stepExecutions[1].output).toMatchObject({ success: true, attempts: 3 });
  });

  it('goes on after a refusal, or fails where it shall, and is tried again by hand', async () => {
    receiver.answer('/gone', { status: 404, body: 'no' });
    const { execution } = await play(hook('/gone'), 'EXITED');
    expect(execution.stepExecutions[1].output).toMatchObject({
      success: false,
      statusCode: 404,
      response: 'no',
      attempts: 1,
    });
    receiver.answer('/strict', { status: 404 });
    const strict = await play(hook('/strict', { onFailure: 'fail' }), 'FAILED');
    expect(strict.execution.error).toContain('404');
    expect(strict.execution.stepExecutions[1].output).toMatchObject({ statusCode: 404 });
    receiver.answer('/strict', { status: 200 });
    const path = `/workflows/${strict.workflow.id}/executions/${strict.id}`;
    expect((await engine.call('POST', `${path}/retry`)).body.status).toBe('RUNNING');
    const done = await executionIn(engine, strict.workflow.id, strict.id, 'EXITED');
    expect(done.stepExecutions[1]).toMatchObject({
      status: 'COMPLETED',
      error: null,
      output: { success: true, attempts: 1 },
    });
  });

  it('shows a webhook that waits for its next attempt, and skips it with the execution', async () => {
    receiver.answer('/down', { status: 503, headers: { 'retry-after': '60' } });
    const { path } = await beginExecution(engine, hook('/down'));
    await waitFor('the first attempt to be over', async () => {
      const { body } = await engine.call('GET', path);
      return body.stepExecutions[1]?.status === 'PENDING';
    });
    const waiting = (await engine.call('GET', path)).body.stepExecutions[1].output;
    expect(waiting).toMatchObject({
      success: false,
      statusCode: 503,
      attempts: 1,
      error: 'The receiver answered 503.',
    });
    const pauseMs = Date.parse(waiting.nextAttemptAt) - receiver.requests('/down')[0]!.at;
    expect(pauseMs).toBeGreaterThanOrEqual(60_000);
    await engine.call('DELETE', path);
    const { body } = await engine.call('GET', path);
    expect(body.stepExecutions[1].status).toBe('SKIPPED');
    await waitFor('the run to be closed', async () => {
      const handle = engine.temporal.client.workflow.getHandle(body.temporalWorkflowId);
      return (await handle.describe()).status.name === 'CANCELLED';
    });
    expect(receiver.requests('/down')).toHaveLength(1);
  });
});

describe('the address guard', () => {
  it.each(['http://127.0.0.1:9/', 'http://[::ffff:10.0.0.1]/', 'http://169.254.169.254/'])(
    'never calls %s',
    async (url) => {
      const guarded = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'false' });
      const { until } = await beginExecution(guarded, {
        eventName: 'guarded',
        steps: [{ type: 'WEBHOOK', name: 'Call', config: { url } }],
      });
      const done = await until('COMPLETED');
      expect(done.stepExecutions[1].output).toMatchObject({
        success: false,
        statusCode: null,
        attempts: 1,
      });
    },
  );
});
