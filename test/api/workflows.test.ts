import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';

let api: TestApi;
let cookie: string;
let key: string;
let projectId: string;

beforeAll(async () => {
  api = await startTestApi();
  ({ cookie } = await api.signUp());
  ({ secretKey: key, id: projectId } = await api.createProject(cookie));
});

afterAll(() => api?.close());

const call = (method: string, path: string, body?: unknown, as = key) =>
  api.request(method, path, { key: as, ...(body === undefined ? {} : { body }) });

async function make(path: string, body: object, as = key) {
  const answer = await call('POST', path, body, as);
  expect([answer.status, answer.body.error]).toEqual([201, undefined]);
  return answer.body;
}

const createWorkflow = (more: object = {}, as = key) =>
  make('/workflows', { name: 'Onboarding', eventName: 'signed_up', ...more }, as);

const addDelay = (workflowId: string, name = 'Wait') =>
  make(`/workflows/${workflowId}/steps`, {
    type: 'DELAY',
    name,
    config: { amount: 1, unit: 'days' },
  });

const read = async (id: string) => (await call('GET', `/workflows/${id}`)).body;

const errorFields = (body: { error: { errors: { field: string; code: string }[] } }) =>
  body.error.errors.map(({ field, code }) => `${field} ${code}`);

/** The kept versions of a workflow with the names of their steps. */
async function versions(workflowId: string) {
  const rows = await api.db
    .selectFrom('workflow_version')
    .select(['version', 'graph'])
    .where('workflow_id', '=', workflowId)
    .orderBy('version')
    .execute();
  return rows.map(({ version, graph }) => [
    version,
    (graph as unknown as { steps: { name: string }[] }).steps.map(({ name }) => name),
  ]);
}

async function insertExecution(workflowId: string, status: string) {
  const workflow = await api.db
    .selectFrom('workflow')
    .selectAll()
    .where('id', '=', workflowId)
    .executeTakeFirstOrThrow();
  const contact = await api.db
    .insertInto('contact')
    .values({ project_id: projectId, email: `${randomUUID()}@x.example`, subscribed: true })
    .returning('id')
    .executeTakeFirstOrThrow();
  const execution = await api.db
    .insertInto('execution')
    .values({
      project_id: projectId,
      workflow_id: workflowId,
      workflow_version: workflow.version,
      workflow_name: workflow.name,
      contact_id: contact.id,
      status,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await api.db
    .insertInto('step_execution')
    .values({
      project_id: projectId,
      execution_id: execution.id,
      step_id: randomUUID(),
      status: 'COMPLETED',
    })
    .execute();
  return { executionId: execution.id, contactId: contact.id };
}

describe('creating a workflow', () => {
  it('answers 201, never enabled, with its one TRIGGER step', async () => {
    const workflow = await make('/workflows', { name: 'W', eventName: ' e ', enabled: true });
    expect(workflow).toEqual({
      id: expect.any(String),
      name: 'W',
      description: null,
      enabled: false,
      triggerType: 'EVENT',
      triggerConfig: { eventName: 'e' },
      allowReentry: false,
      version: 1,
      projectId,
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
    });
    const { steps, transitions } = await read(workflow.id);
    expect(transitions).toEqual([]);
    expect(steps).toEqual([
      {
        id: expect.any(String),
        type: 'TRIGGER',
        name: 'Trigger: e',
        position: { x: 100, y: 100 },
        config: { eventName: 'e' },
        templateId: null,
        template: null,
        workflowId: workflow.id,
        outgoingTransitions: [],
        incomingTransitions: [],
        createdAt: expect.stringMatching(/Z$/),
        updatedAt: expect.stringMatching(/Z$/),
      },
    ]);
  });

  it('takes the event from triggerConfig, or none yet', async () => {
    const named = await make('/workflows', { name: 'W', triggerConfig: { eventName: 'e' } });
    expect(named.triggerConfig).toEqual({ eventName: 'e' });
    const open = await make('/workflows', { name: 'W' });
    expect(open.triggerConfig).toEqual({});
    expect((await read(open.id)).steps[0]).toMatchObject({ name: 'Trigger', config: {} });
  });

  it.each([
    [{ triggerType: 'SCHEDULE' }, 'triggerType not_allowed'],
    [{ triggerType: 'MANUAL' }, 'triggerType not_allowed'],
    [{ triggerType: 'FOO' }, 'triggerType invalid_enum_value'],
    [{ eventName: ' ' }, 'eventName too_small'],
    [{ eventName: 'x'.repeat(101) }, 'eventName too_big'],
  ])('refuses %j with 422', async (more, expected) => {
    const { status, body } = await call('POST', '/workflows', { name: 'W', ...more });
    expect([status, ...errorFields(body)]).toEqual([422, expected]);
  });
});

describe('listing workflows', () => {
  it('searches, filters by status, sorts by steps and counts', async () => {
    const { secretKey } = await api.createProject(cookie);
    const list = async (query: string) =>
      (await call('GET', `/workflows${query}`, undefined, secretKey)).body;
    const small = await createWorkflow({ name: 'Small', description: 'a BIG idea' }, secretKey);
    const big = await createWorkflow({ name: 'Big' }, secretKey);
    await make(`/workflows/${big.id}/steps`, { type: 'EXIT', name: 'End', config: {} }, secretKey);
    await call('PATCH', `/workflows/${big.id}`, { enabled: true }, secretKey);
    const names = async (query: string) =>
      (await list(query)).data.map(({ name }: { name: string }) => name);
    expect(await names('')).toEqual(['Big', 'Small']);
    expect(await names('?sort=steps&dir=asc')).toEqual(['Small', 'Big']);
    expect(await names('?search=big&sort=name&dir=asc')).toEqual(['Big', 'Small']);
    expect(await names('?status=active')).toEqual(['Big']);
    expect(await names('?status=disabled')).toEqual(['Small']);
    const { data, total } = await list('?search=small');
    expect([total, data[0].id, data[0]._count]).toEqual([1, small.id, { steps: 1, executions: 0 }]);
    expect((await call('GET', '/workflows?status=FOO')).status).toBe(422);
  });
});

describe('changing a workflow', () => {
  it('renames the TRIGGER step with the event and counts a version', async () => {
    const { id } = await createWorkflow();
    const patch = async (body: object) => (await call('PATCH', `/workflows/${id}`, body)).body;
    expect(await patch({ name: 'New', description: 'D', allowReentry: true })).toMatchObject({
      name: 'New',
      description: 'D',
      allowReentry: true,
      version: 1,
    });
    expect(await patch({ triggerConfig: { eventName: 'signed_up' } })).toMatchObject({
      version: 1,
    });
    expect(await patch({ triggerConfig: { eventName: 'bought' } })).toMatchObject({ version: 2 });
    expect((await read(id)).steps[0]).toMatchObject({
      name: 'Trigger: bought',
      config: { eventName: 'bought' },
    });
    expect(await patch({ triggerType: 'MANUAL' })).toMatchObject({
      version: 3,
      triggerType: 'MANUAL',
      triggerConfig: {},
    });
    expect((await read(id)).steps[0]).toMatchObject({ name: 'Trigger', config: {} });
    expect(await patch({ triggerType: 'EVENT', triggerConfig: {} })).toMatchObject({
      version: 4,
      triggerConfig: {},
    });
  });

  it.each([
    [{ triggerType: 'SCHEDULE' }, 'triggerType not_allowed'],
    [
      { triggerType: 'MANUAL', triggerConfig: { eventName: 'e' } },
      'triggerConfig.eventName not_allowed',
    ],
    [{ enabled: 'yes' }, 'enabled invalid_type'],
  ])('refuses %j with 422', async (change, expected) => {
    const { id } = await createWorkflow();
    const { status, body } = await call('PATCH', `/workflows/${id}`, change);
    expect([status, ...errorFields(body)]).toEqual([422, expected]);
  });
});

describe('enabling a workflow', () => {
  it('names every problem in one 422 WORKFLOW_INVALID and changes nothing', async () => {
    const { id } = await make('/workflows', { name: 'W' });
    const noSuccessor = await call('PATCH', `/workflows/${id}`, { enabled: true, name: 'X' });
    const [trigger] = (await read(id)).steps;
    expect([noSuccessor.status, noSuccessor.body.error.code]).toEqual([422, 'WORKFLOW_INVALID']);
    expect(errorFields(noSuccessor.body)).toEqual([
      'triggerConfig required',
      `steps.${trigger.id} custom`,
    ]);
    const mail = await make(`/workflows/${id}/steps`, {
      type: 'SEND_EMAIL',
      name: 'Mail',
      config: {},
    });
    await call('PATCH', `/workflows/${id}`, { triggerConfig: { eventName: 'e' } });
    const noTemplate = await call('PATCH', `/workflows/${id}`, { enabled: true });
    expect(errorFields(noTemplate.body)).toEqual([`steps.${mail.id} custom`]);
    expect(await read(id)).toMatchObject({ name: 'W', enabled: false });
    expect(await versions(id)).toEqual([]);
  });

  it('asks for a sender of each template and a way of each condition', async () => {
    const { id } = await createWorkflow();
    const template = await make('/templates', {
      name: 'T',
      subject: 's',
      body: 'b',
      type: 'MARKETING',
    });
    const mail = await make(`/workflows/${id}/steps`, {
      type: 'SEND_EMAIL',
      name: 'Mail',
      config: {},
      templateId: template.id,
    });
    const condition = await make(`/workflows/${id}/steps`, {
      type: 'CONDITION',
      name: 'Pro?',
      config: { field: 'data.plan', operator: 'equals', value: 'pro' },
    });
    const enable = async () => (await call('PATCH', `/workflows/${id}`, { enabled: true })).body;
    expect(errorFields(await enable())).toEqual([
      `steps.${mail.id} custom`,
      `steps.${condition.id} custom`,
    ]);
    await api.db
      .insertInto('domain')
      .values({
        project_id: projectId,
        name: 'shop.test',
        status: 'verified',
        dkim_tokens: ['a', 'b', 'c'],
      })
      .execute();
    await call('PATCH', `/templates/${template.id}`, { from: 'a@shop.test' });
    const exit = await make(`/workflows/${id}/steps`, { type: 'EXIT', name: 'End', config: {} });
    await make(`/workflows/${id}/transitions`, {
      fromStepId: condition.id,
      toStepId: exit.id,
      branch: 'yes',
    });
    expect(await enable()).toMatchObject({ enabled: true });
  });
});

describe('versions of a workflow', () => {
  it('are kept from enabling on, one for each edit, and never change', async () => {
    const { id } = await createWorkflow();
    await addDelay(id, 'A');
    expect(await versions(id)).toEqual([]);
    const enabled = await call('PATCH', `/workflows/${id}`, { enabled: true });
    expect(enabled.body).toMatchObject({ enabled: true, version: 2 });
    const first = [2, ['Trigger: signed_up', 'A']];
    expect(await versions(id)).toEqual([first]);

    await call('PATCH', `/workflows/${id}`, { name: 'No edit of the graph', enabled: true });
    expect(await versions(id)).toEqual([first]);

    const b = await addDelay(id, 'B');
    const second = [3, ['Trigger: signed_up', 'A', 'B']];
    expect(await versions(id)).toEqual([first, second]);

    await call('PATCH', `/workflows/${id}`, { enabled: false });
    expect((await call('DELETE', `/workflows/${id}/steps/${b.id}`)).status).toBe(204);
    expect(await versions(id)).toEqual([first, second]);

    const again = await call('PATCH', `/workflows/${id}`, {
      enabled: true,
      triggerConfig: { eventName: 'e' },
    });
    expect(again.body.version).toBe(5);
    expect(await versions(id)).toEqual([first, second, [5, ['Trigger: e', 'A']]]);
  });

  it('hold what an execution needs of each step and transition', async () => {
    const { id } = await createWorkflow();
    const delay = await addDelay(id, 'A');
    await call('PATCH', `/workflows/${id}`, { enabled: true });
    const { steps, transitions } = await read(id);
    const { graph } = await api.db
      .selectFrom('workflow_version')
      .select('graph')
      .where('workflow_id', '=', id)
      .executeTakeFirstOrThrow();
    expect(graph).toEqual({
      steps: [
        {
          id: steps[0].id,
          type: 'TRIGGER',
          name: 'Trigger: signed_up',
          config: { eventName: 'signed_up' },
          templateId: null,
        },
        {
          id: delay.id,
          type: 'DELAY',
          name: 'A',
          config: { amount: 1, unit: 'days' },
          templateId: null,
        },
      ],
      transitions: [
        { id: transitions[0].id, fromStepId: steps[0].id, toStepId: delay.id, branch: null },
      ],
    });
  });
});

describe('deleting a workflow', () => {
  it('answers 409 with the number of active executions, and 204 once they have ended', async () => {
    const { id } = await createWorkflow();
    await addDelay(id);
    await call('PATCH', `/workflows/${id}`, { enabled: true });
    const { contactId } = await insertExecution(id, 'RUNNING');
    const waiting = await insertExecution(id, 'WAITING');
    await insertExecution(id, 'COMPLETED');
    const email = await api.db
      .insertInto('email')
      .values({
        project_id: projectId,
        contact_id: contactId,
        to_email: 'a@x.example',
        subject: 's',
        from_email: 'a@shop.test',
        message_class: 'MARKETING',
        source_type: 'WORKFLOW',
        workflow_execution_id: waiting.executionId,
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    for (const refused of [
      await call('DELETE', `/workflows/${id}`),
      await call('POST', '/workflows/bulk-update', { ids: [id], delete: true }),
    ]) {
      expect([refused.status, refused.body.error.code]).toEqual([
        409,
        'WORKFLOW_HAS_ACTIVE_EXECUTIONS',
      ]);
      expect(refused.body.error.details).toEqual({ count: 2 });
    }
    await api.db
      .updateTable('execution')
      .set({ status: 'CANCELLED' })
      .where('workflow_id', '=', id)
      .execute();
    expect((await call('DELETE', `/workflows/${id}`)).status).toBe(204);
    expect((await call('GET', `/workflows/${id}`)).body.error.code).toBe('WORKFLOW_NOT_FOUND');
    for (const table of [
      'workflow_step',
      'workflow_transition',
      'workflow_version',
      'execution',
    ] as const) {
      const left = await api.db
        .selectFrom(table)
        .select('workflow_id')
        .where('workflow_id', '=', id)
        .execute();
      expect([table, left]).toEqual([table, []]);
    }
    const kept = await api.db.selectFrom('email').select('id').where('id', '=', email.id).execute();
    expect(kept).toHaveLength(1);
  });
});

describe('duplicating a workflow', () => {
  it('copies the whole graph, disabled, as version 1 without executions', async () => {
    const { id } = await createWorkflow({ description: 'D', allowReentry: true });
    const condition = await make(`/workflows/${id}/steps`, {
      type: 'CONDITION',
      name: 'Pro?',
      config: { field: 'data.plan', operator: 'equals', value: 'pro' },
      position: { x: 1.5, y: -2 },
    });
    const delays = [await addDelay(id, 'A'), await addDelay(id, 'B')];
    for (const [index, branch] of ['yes', 'no'].entries()) {
      await make(`/workflows/${id}/transitions`, {
        fromStepId: condition.id,
        toStepId: delays[index].id,
        branch,
        priority: index,
      });
    }
    await call('PATCH', `/workflows/${id}`, { enabled: true });
    await insertExecution(id, 'COMPLETED');
    const copy = await make(`/workflows/${id}/duplicate`, {});
    expect(copy).toMatchObject({
      name: 'Onboarding (Copy)',
      description: 'D',
      allowReentry: true,
      enabled: false,
      version: 1,
      triggerConfig: { eventName: 'signed_up' },
    });
    /** The graph with names for ids. */
    const shape = async (workflowId: string) => {
      const { steps, transitions } = await read(workflowId);
      const name = (stepId: string) =>
        steps.find((step: { id: string }) => step.id === stepId).name;
      return {
        steps: steps.map(({ type, name, config, position }: Record<string, unknown>) => ({
          type,
          name,
          config,
          position,
        })),
        transitions: transitions.map((way: Record<string, string>) => [
          name(way['fromStepId']!),
          way['branch'],
          name(way['toStepId']!),
          way['priority'],
        ]),
      };
    };
    expect(await shape(copy.id)).toEqual(await shape(id));
    const ids = async (of: string) => (await read(of)).steps.map((step: { id: string }) => step.id);
    expect(await ids(copy.id)).not.toEqual(expect.arrayContaining([(await ids(id))[0]]));
    const { data } = (await call('GET', '/workflows?search=(Copy)')).body;
    expect(data[0]._count).toEqual({ steps: 4, executions: 0 });
  });
});

describe('bulk-update of workflows', () => {
  it('deletes all or none, and nothing without delete', async () => {
    const [a, b] = [await createWorkflow(), await createWorkflow()];
    const bulk = (body: object) => call('POST', '/workflows/bulk-update', body);
    expect((await bulk({ ids: [a.id] })).body).toEqual({ updated: 0 });
    const unknown = await bulk({ ids: [a.id, randomUUID()], delete: true });
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'WORKFLOW_NOT_FOUND']);
    expect((await bulk({ ids: [a.id, b.id], delete: true })).body).toEqual({ deleted: 2 });
    expect((await call('GET', `/workflows/${a.id}`)).status).toBe(404);
  });
});

describe('the fields of conditions', () => {
  it('are those of contacts, of their data and of the newest events of a name', async () => {
    const { secretKey, id } = await api.createProject(cookie);
    const fields = async (query = '') =>
      (await call('GET', `/workflows/fields${query}`, undefined, secretKey)).body;
    const standard = [
      'contact.email',
      'contact.subscribed',
      'contact.createdAt',
      'contact.updatedAt',
    ];
    expect((await fields()).fields).toEqual(standard);
    const insertContact = (data: object) =>
      api.db
        .insertInto('contact')
        .values({
          project_id: id,
          email: `${randomUUID()}@x.example`,
          subscribed: true,
          data: JSON.stringify(data),
        })
        .execute();
    await insertContact({ plan: 'pro', since: '2026-01-02', n: 1, tags: ['a'] });
    await insertContact({ plan: 'free', since: 'x', n: 2, vip: true });
    await insertContact({ n: 'three', since: '2026-01-02T10:00:00Z' });
    await api.db
      .insertInto('event')
      .values([
        { project_id: id, name: 'bought', data: JSON.stringify({ total: 5, note: null }) },
        { project_id: id, name: 'other', data: JSON.stringify({ secret: 1 }) },
        { project_id: id, name: 'bought', data: null },
      ])
      .execute();
    const { typedFields, fields: names, count } = await fields('?eventName=bought');
    expect(typedFields.slice(4)).toEqual([
      { field: 'contact.data.n', type: 'number', category: 'Custom Data' },
      { field: 'contact.data.plan', type: 'string', category: 'Custom Data' },
      { field: 'contact.data.since', type: 'date', category: 'Custom Data' },
      { field: 'contact.data.tags', type: 'string', category: 'Custom Data' },
      { field: 'contact.data.vip', type: 'boolean', category: 'Custom Data' },
      { field: 'event.note', type: 'string', category: 'Event Data' },
      { field: 'event.total', type: 'number', category: 'Event Data' },
    ]);
    expect([names.length, count]).toEqual([11, 11]);
    expect(names.slice(0, 4)).toEqual(standard);
    expect((await fields()).count).toBe(9);
  });
});

describe('a workflow of another project', () => {
  it('answers 404 WORKFLOW_NOT_FOUND everywhere', async () => {
    const { secretKey } = await api.createProject(cookie);
    const { id } = await createWorkflow({}, secretKey);
    const other = randomUUID();
    const step = { type: 'EXIT', name: 'End', config: {} };
    const delay = { type: 'DELAY', name: 'D', config: { amount: 1, unit: 'days' } };
    for (const [method, path, body] of [
      ['GET', ''],
      ['PATCH', '', { name: 'x' }],
      ['DELETE', ''],
      ['POST', '/duplicate'],
      ['POST', '/steps', step],
      ['PATCH', `/steps/${other}`, {}],
      ['DELETE', `/steps/${other}`],
      ['POST', '/transitions', { fromStepId: other, toStepId: other }],
      ['DELETE', `/transitions/${other}`],
      ['POST', `/transitions/${other}/insert-step`, delay],
    ] as const) {
      const answer = await call(method, `/workflows/${id}${path}`, body);
      expect([path, answer.status, answer.body.error.code]).toEqual([
        path,
        404,
        'WORKFLOW_NOT_FOUND',
      ]);
    }
  });
});
