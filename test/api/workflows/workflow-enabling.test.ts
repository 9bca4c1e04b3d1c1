import { describe, expect, it } from 'vitest';
import { errorFields, useWorkflowApi } from '../../support/projects/workflow-api.ts';

const { api, projectId, call, make, createWorkflow, addDelay, read } = await useWorkflowApi();

/** Returns the stored versions of a workflow with the names of their steps. */
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
    expect((await versions(id)).map(([version]) => version)).toEqual([1, 2, 3]);
  });

  it('refuses a template that was stored with broken syntax, with the line', async () => {
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
    const store = (texts: object) =>
      api.db.updateTable('template').set(texts).where('id', '=', template.id).execute();
    await store({ body: 'a\n{% if x %}', from_email: 'team@shop.test' });
    const { status, body } = await call('PATCH', `/workflows/${id}`, { enabled: true });
    expect([status, body.error.code]).toEqual([422, 'WORKFLOW_INVALID']);
    expect(errorFields(body)).toEqual([`steps.${mail.id} custom`]);
    expect(body.error.errors[0].message).toMatch(/"Mail".*body.*\(line 2, column 1\)/);
    const { body: graph } = await call('GET', `/workflows/${id}/graph`);
    const whole = await call('POST', '/workflows', { name: 'Copy', enabled: true, graph });
    expect([whole.status, errorFields(whole.body)]).toEqual([422, ['graph.steps.mail custom']]);
    await store({ body: 'a' });
    expect((await call('PATCH', `/workflows/${id}`, { enabled: true })).status).toBe(200);
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
  it('are kept, one for each edit, also while it is disabled, and never change', async () => {
    const { id } = await createWorkflow();
    await addDelay(id, 'A');
    const drawn = [
      [1, ['Trigger: signed_up']],
      [2, ['Trigger: signed_up', 'A']],
    ];
    expect(await versions(id)).toEqual(drawn);
    const enabled = await call('PATCH', `/workflows/${id}`, { enabled: true });
    expect(enabled.body).toMatchObject({ enabled: true, version: 2 });
    expect(await versions(id)).toEqual(drawn);

    await call('PATCH', `/workflows/${id}`, { name: 'No edit of the graph', enabled: true });
    expect(await versions(id)).toEqual(drawn);

    const b = await addDelay(id, 'B');
    const second = [3, ['Trigger: signed_up', 'A', 'B']];
    expect(await versions(id)).toEqual([...drawn, second]);

    await call('PATCH', `/workflows/${id}`, { enabled: false });
    expect((await call('DELETE', `/workflows/${id}/steps/${b.id}`)).status).toBe(204);
    const third = [4, ['Trigger: signed_up', 'A']];
    expect(await versions(id)).toEqual([...drawn, second, third]);

    const again = await call('PATCH', `/workflows/${id}`, {
      enabled: true,
      triggerConfig: { eventName: 'e' },
    });
    expect(again.body.version).toBe(5);
    expect(await versions(id)).toEqual([...drawn, second, third, [5, ['Trigger: e', 'A']]]);
  });

  it('hold what an execution needs of each step and transition, and how it is drawn', async () => {
    const { id } = await createWorkflow();
    const delay = await addDelay(id, 'A');
    await call('PATCH', `/workflows/${id}`, { enabled: true });
    const { steps, transitions } = await read(id);
    const { graph } = await api.db
      .selectFrom('workflow_version')
      .select('graph')
      .where('workflow_id', '=', id)
      .where('version', '=', 2)
      .executeTakeFirstOrThrow();
    expect(graph).toEqual({
      triggerType: 'EVENT',
      steps: [
        {
          id: steps[0].id,
          key: 'trigger',
          position: { x: 100, y: 100 },
          type: 'TRIGGER',
          name: 'Trigger: signed_up',
          config: { eventName: 'signed_up' },
          templateId: null,
        },
        {
          id: delay.id,
          key: 'a',
          position: { x: 100, y: 220 },
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
