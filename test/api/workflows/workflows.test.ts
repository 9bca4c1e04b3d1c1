import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { errorFields, useWorkflowApi } from '../../support/projects/workflow-api.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { writeMail } from '../../support/mail-tables.ts';

const { api, cookie, projectId, call, make, createWorkflow, addDelay, read } =
  await useWorkflowApi();

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
      executionKey: null,
      reentry: { mode: 'once', minIntervalSeconds: null },
      version: 1,
      versionBy: { type: 'key', id: 'secret', name: 'Secret key' },
      exitRules: [],
      pausedAt: null,
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

  it('counts the active and the failed executions of each', async () => {
    const name = randomUUID();
    const { id } = await createWorkflow({ name });
    await createWorkflow({ name: `${name} empty` });
    for (const status of ['RUNNING', 'WAITING', 'FAILED', 'COMPLETED', 'CANCELLED']) {
      await insertExecution(id, status);
    }
    const { data } = (await call('GET', `/workflows?search=${name}&sort=name&dir=asc`)).body;
    const counts = data.map((one: { executionCounts: object }) => one.executionCounts);
    expect(counts).toEqual([
      { active: 2, failed: 1 },
      { active: 0, failed: 0 },
    ]);
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
    [
      { triggerType: 'MANUAL', triggerConfig: { cron: '0 9 * * *' } },
      'triggerConfig.cron not_allowed',
    ],
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

describe('deleting a workflow', () => {
  it('answers 409 with the number of active executions, and 204 once they have ended', async () => {
    const { id } = await createWorkflow();
    await addDelay(id);
    await call('PATCH', `/workflows/${id}`, { enabled: true });
    const { contactId } = await insertExecution(id, 'RUNNING');
    const waiting = await insertExecution(id, 'WAITING');
    await insertExecution(id, 'COMPLETED');
    const email = await writeMail(api.db, (tx) =>
      tx
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
        .executeTakeFirstOrThrow(),
    );
    for (const refused of [
      await call('DELETE', `/workflows/${id}`),
      await call('POST', '/workflows/bulk-update', { ids: [id], delete: true }),
    ]) {
      expect([refused.status, refused.body.error.code]).toEqual([
        409,
        'WORKFLOW_HAS_ACTIVE_EXECUTIONS',
      ]);
      expect(refused.body.error.message).toBe('The workflow has 2 active executions.');
      expect(refused.body.error.details).toEqual({ count: 2 });
    }
    const { id: idle } = await createWorkflow();
    const both = await call('POST', '/workflows/bulk-update', { ids: [idle, id], delete: true });
    expect(both.body.error).toMatchObject({
      message: `These workflows have active executions: ${id} (2).`,
      details: { count: 2, workflowIds: [id] },
    });
    await api.db
      .updateTable('execution')
      .set({ status: 'CANCELLED' })
      .where('workflow_id', '=', id)
      .execute();
    expect((await call('DELETE', `/workflows/${id}`)).status).toBe(204);
    expect((await call('GET', `/workflows/${id}`)).body.error.code).toBe('WORKFLOW_NOT_FOUND');
    await tasksOf(api, {}).CONTINUE_REMOVALS();
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
    /** Returns the graph with names for ids. */
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
