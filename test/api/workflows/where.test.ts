import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newAddress } from '../../support/projects/shop.ts';
import { errorFields, useWorkflowApi } from '../../support/projects/workflow-api.ts';

/**
 * Conditions on the events that start an execution or end a wait. No worker runs, so executions
 * stay where they begin.
 */

const { api, call, make, createWorkflow, read } = await useWorkflowApi();
const { db } = api;

const large = { field: 'event.total', operator: 'greaterThan', value: 10 };

async function refused(method: string, path: string, body: object): Promise<string[]> {
  const answer = await call(method, path, body);
  expect([answer.status, answer.body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
  return errorFields(answer.body);
}

/** Creates an enabled workflow with a delay and this trigger. */
async function started(config: object) {
  const eventName = randomUUID();
  const { id } = await createWorkflow({ triggerConfig: { eventName, ...config }, eventName: null });
  await make(`/workflows/${id}/steps`, {
    type: 'DELAY',
    name: 'Rest',
    config: { amount: 1, unit: 'days' },
  });
  expect((await call('PATCH', `/workflows/${id}`, { enabled: true })).status).toBe(200);
  const email = newAddress();
  const { id: contactId } = await make('/contacts', { email });
  const track = async (data?: object) => {
    const { status } = await call('POST', '/v1/track', { email, event: eventName, data });
    expect(status).toBe(200);
  };
  const executions = async () => {
    const { body } = await call('GET', `/workflows/${id}/executions`);
    return body.executions as { id: string; context: object }[];
  };
  return { id, eventName, email, contactId, track, executions };
}

describe('the conditions of a trigger', () => {
  it('decide which events start an execution; a start by hand ignores them', async () => {
    const { id, contactId, eventName, track, executions } = await started({ where: [large] });
    await track({ total: 5 });
    await track({ total: '20 and more' });
    await track();
    expect(await executions()).toEqual([]);
    const timeline = await call('GET', `/contacts/${contactId}/timeline`);
    const names = timeline.body.data.map(({ title }: { title: string }) => title);
    expect(names.every((title: string) => title.includes(eventName))).toBe(true);
    await make(`/workflows/${id}/executions`, { contactId });
    await db.deleteFrom('execution').where('contact_id', '=', contactId).execute();
    await track({ total: 20 });
    expect(await executions()).toMatchObject([{ status: 'RUNNING' }]);
  });

  it('are part of what a simulation says about the start', async () => {
    const { id } = await started({ where: [large] });
    const startOf = async (context: object) => {
      const contact = { email: newAddress() };
      const { body } = await call('POST', `/workflows/${id}/simulate`, { contact, context });
      return body.data.start;
    };
    expect(await startOf({ total: 20 })).toEqual({ starts: true, reason: null, key: null });
    expect(await startOf({ total: 5 })).toEqual({ starts: false, reason: 'where', key: null });
  });

  it('compare the event with its own data and with the contact as the event has changed it', async () => {
    const { email, eventName, executions } = await started({
      where: [
        { field: 'event.paid', operator: 'equals', valueOf: 'event.total' },
        { field: 'contact.data.plan', operator: 'equals', valueOf: 'event.plan' },
      ],
    });
    const track = (data: object) => call('POST', '/v1/track', { email, event: eventName, data });
    await track({ paid: 7, total: '7', plan: 'pro' });
    await track({ plan: 'pro' });
    expect(await executions()).toEqual([]);
    await track({ paid: 7, total: 7, plan: 'pro' });
    expect((await executions()).length).toBe(1);
  });

  it('are in every form of the workflow, and none are as an empty list', async () => {
    const { id, eventName } = await started({ where: [large] });
    const triggerConfig = { eventName, where: [large] };
    const whole = await read(id);
    expect(whole.triggerConfig).toEqual(triggerConfig);
    expect(whole.steps[0].config).toEqual(triggerConfig);
    const { body: graph } = await call('GET', `/workflows/${id}/graph`);
    expect(graph.trigger).toEqual({ type: 'EVENT', config: triggerConfig });
    const { body: copy } = await call('POST', `/workflows/${id}/duplicate`);
    expect(copy.triggerConfig).toEqual(triggerConfig);
    const again = await call('PUT', `/workflows/${copy.id}/graph`, graph);
    expect([again.body.triggerConfig, again.body.version]).toEqual([triggerConfig, 1]);
    const patched = await call('PATCH', `/workflows/${id}`, {
      triggerConfig: { eventName, where: [] },
    });
    expect([patched.body.triggerConfig, patched.body.version]).toEqual([
      { eventName },
      whole.version + 1,
    ]);
    const manual = await call('PATCH', `/workflows/${copy.id}`, { triggerType: 'MANUAL' });
    expect(manual.body.triggerConfig).toEqual({});
  });

  it('are refused with what is wrong, all at once', async () => {
    const { id } = await createWorkflow();
    const given = (...where: object[]) => ({ triggerConfig: { eventName: 'x', where } });
    const at = (index: number, rest: string) => `triggerConfig.where.${index}.${rest}`;
    const patch = (body: object) => refused('PATCH', `/workflows/${id}`, body);
    expect(await patch(given(...Array.from({ length: 11 }, () => large)))).toEqual([
      'triggerConfig.where too_big',
    ]);
    const { value: _, ...valueless } = large;
    expect(
      await patch(
        given(
          { ...large, valueOf: 'event.x' },
          valueless,
          { ...large, field: 'context.x' },
          { ...large, field: 'workflow.x' },
          { ...valueless, valueOf: 'context.x' },
          { ...valueless, valueOf: 'order.id' },
          { ...large, operator: 'resembles' },
          { ...large, value: 'x'.repeat(1000) },
        ),
      ),
    ).toEqual([
      at(0, 'valueOf not_allowed'),
      at(1, 'value invalid_type'),
      at(2, 'field unsupported_field'),
      at(3, 'field unsupported_field'),
      at(4, 'valueOf unsupported_field'),
      at(5, 'valueOf unsupported_field'),
      at(6, 'operator invalid_enum_value'),
      at(7, 'value too_big'),
    ]);
    expect(await patch(given({ ...large, field: 'workflow.x', valueOf: 'order.id' }))).toEqual([
      at(0, 'field unsupported_field'),
      at(0, 'valueOf not_allowed'),
      at(0, 'valueOf unsupported_field'),
    ]);
    expect(await patch(given({ ...large, field: 'nobodyHasThis' }))).toEqual([
      at(0, 'field unsupported_field'),
    ]);
    expect(await patch({ triggerType: 'MANUAL', triggerConfig: { where: [large] } })).toEqual([
      'triggerConfig.where not_allowed',
    ]);
    const { body: graph } = await call('GET', `/workflows/${id}/graph`);
    const config = { eventName: 'x', where: [{ ...large, field: 'workflow.x' }] };
    expect(
      await refused('PUT', `/workflows/${id}/graph`, {
        ...graph,
        trigger: { type: 'EVENT', config },
      }),
    ).toEqual(['trigger.config.where.0.field unsupported_field']);
  });

  it('keep a contact field that they read', async () => {
    const key = `plan${randomUUID()}`;
    await make('/contacts', { email: newAddress(), data: { [key]: 1 } });
    const where = [{ field: 'event.plan', operator: 'equals', valueOf: `contact.data.${key}` }];
    const { id } = await started({ where });
    const { body } = await call('GET', `/contacts/fields/${key}/usage`);
    expect(body.usedInWorkflows.map((one: { id: string }) => one.id)).toEqual([id]);
  });
});

describe('the conditions of a wait', () => {
  it('are refused with the place of what is wrong', async () => {
    const { id } = await createWorkflow();
    const step = (where: object[]) => ({
      type: 'WAIT_FOR_EVENT',
      name: 'Paid?',
      config: { eventName: 'paid', where, since: 'yesterday' },
    });
    expect(
      await refused(
        'POST',
        `/workflows/${id}/steps`,
        step([
          { ...large, field: 'workflow.x' },
          { ...large, valueOf: 'event.x' },
        ]),
      ),
    ).toEqual([
      'config.where.0.field unsupported_field',
      'config.where.1.valueOf not_allowed',
      'config.since invalid_enum_value',
    ]);
    const { body: graph } = await call('GET', `/workflows/${id}/graph`);
    const wrong = { key: 'paid', ...step([{ ...large, field: 'workflow.x' }]) };
    const steps = [...graph.steps, { ...wrong, config: { ...wrong.config, since: 'step' } }];
    expect(await refused('PUT', `/workflows/${id}/graph`, { ...graph, steps })).toEqual([
      'steps.paid.config.where.0.field unsupported_field',
    ]);
  });

  it('know a field of the contact without its prefix', async () => {
    const key = `plan${randomUUID()}`;
    await make('/contacts', { email: newAddress(), data: { [key]: 1 } });
    const { id } = await createWorkflow();
    const where = (field: string) => [{ field, operator: 'equals', valueOf: 'event.plan' }];
    const step = await make(`/workflows/${id}/steps`, {
      type: 'WAIT_FOR_EVENT',
      name: 'Paid?',
      config: { eventName: 'paid', where: where(key) },
    });
    expect(step.config.where).toEqual(where(`data.${key}`));
  });
});

describe('a wait behind a delay or digest', () => {
  it('is warned of events that come too early, unless it counts them', async () => {
    const { id } = await createWorkflow();
    const add = (type: string, name: string, config: object) =>
      make(`/workflows/${id}/steps`, { type, name, config });
    const first = await add('WAIT_FOR_EVENT', 'First', { eventName: 'paid' });
    await add('DIGEST', 'Collect', { eventName: 'paid', for: { amount: 1, unit: 'hours' } });
    const early = await add('WAIT_FOR_EVENT', 'Early', { eventName: 'paid' });
    await add('WAIT_FOR_EVENT', 'Late', { eventName: 'paid', since: 'execution' });
    const patched = await call('PATCH', `/workflows/${id}`, { name: 'Renamed' });
    const { warnings } = await read(id);
    expect(patched.body.warnings).toEqual(warnings);
    expect(warnings).toMatchObject([{ code: 'early_event', step: early.id }]);
    await call('PATCH', `/workflows/${id}/steps/${early.id}`, {
      config: { eventName: 'paid', since: 'execution' },
    });
    expect((await read(id)).warnings).toBeUndefined();
    expect(first.config).toEqual({ eventName: 'paid' });
  });
});
