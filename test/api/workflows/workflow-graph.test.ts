import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../../domain/limits.ts';
import {
  configs,
  faultsOf,
  multi,
  useWorkflowGraph,
} from '../../support/projects/workflow-graph.ts';

/** The trigger of the current test's workflow. */
let trigger: string;
const graph = await useWorkflowGraph();
const { call, inWorkflow, read, add, link, chain, ways } = graph;
beforeEach(async () => {
  ({ trigger } = await graph.begin());
});

describe('adding steps', () => {
  it('makes a chain by itself and answers the existing way for the same one again', async () => {
    const a = await add('DELAY', { autoConnect: true });
    const b = (
      await inWorkflow('POST', '/steps', { type: 'DELAY', name: 'B', config: configs['DELAY'] })
    ).body;
    expect(await ways({ a: a.id, b: b.id })).toEqual(['a>b', 't>a']);
    expect([a.position, b.position]).toEqual([
      { x: 100, y: 220 },
      { x: 100, y: 340 },
    ]);
    const before = await read();
    const again = await link(a.id, b.id);
    expect(again.status).toBe(201);
    expect(again.body.id).toBe(
      before.transitions.find((way: { toStepId: string }) => way.toStepId === b.id).id,
    );
    expect((await read()).version).toBe(before.version);
    const [first] = before.steps;
    expect(first.outgoingTransitions).toEqual([
      expect.objectContaining({ fromStepId: trigger, toStepId: a.id }),
    ]);
    expect(before.steps[1].incomingTransitions).toEqual(first.outgoingTransitions);
  });

  it('links nothing to a CONDITION or an EXIT', async () => {
    const condition = await add('CONDITION', { autoConnect: true });
    const exit = await add('EXIT', { autoConnect: true });
    await add('DELAY', { autoConnect: true });
    expect(await ways({ c: condition.id, x: exit.id })).toEqual(['t>c']);
  });

  it('refuses a second TRIGGER with 400 TRIGGER_STEP_EXISTS', async () => {
    const { status, body } = await inWorkflow('POST', '/steps', {
      type: 'TRIGGER',
      name: 'T',
      config: {},
    });
    expect([status, body.error.code]).toEqual([400, 'TRIGGER_STEP_EXISTS']);
  });

  it.each([
    [{ type: 'DELAY', name: 'D', config: { amount: 0, unit: 'days' } }, 'config.amount too_small'],
    [{ type: 'DELAY', name: 'D', config: { amount: 366, unit: 'days' } }, 'config.amount too_big'],
    [{ type: 'FOO', name: 'F', config: {} }, 'type invalid_enum_value'],
    [{ name: 'F', config: {} }, 'type invalid_type'],
    [{ type: 'EXIT', name: 'E' }, 'config invalid_type'],
    [{ type: 'EXIT', name: 'E', config: [] }, 'config invalid_type'],
    [{ type: 'EXIT', name: 'E', config: {}, position: { x: 1 } }, 'position.y invalid_type'],
    [{ type: 'EXIT', name: 'E', config: {}, templateId: 'x' }, 'templateId invalid_string'],
    [
      { type: 'WEBHOOK', name: 'H', config: { url: 'http://x.example', headers: { host: 'a' } } },
      'config.headers.host not_allowed',
    ],
    [
      {
        type: 'CONDITION',
        name: 'C',
        config: { ...multi, branches: [{ ...multi.branches[0], operator: 'x' }] },
      },
      'config.branches.0.operator invalid_enum_value',
    ],
    [{ type: 'CONDITION', name: 'C', config: { mode: 'x' } }, 'config.mode invalid_union'],
    [[], ' invalid_type'],
  ])('refuses %j with 422', async (step, expected) => {
    expect(faultsOf(await inWorkflow('POST', '/steps', step))).toEqual([422, expected]);
  });

  it('lists the faults of the step and of its config together', async () => {
    const step = { type: 'DELAY', config: { amount: 0, unit: 'weeks' }, autoConnect: 'no' };
    expect(faultsOf(await inWorkflow('POST', '/steps', step))).toEqual([
      422,
      'name invalid_type',
      'autoConnect invalid_type',
      'config.amount too_small',
      'config.unit invalid_enum_value',
    ]);
  });

  it('takes a webhook with a content type of its own', async () => {
    const config = { url: 'http://x.example', headers: { 'content-type': 'text/plain' } };
    expect((await add('WEBHOOK', { config })).config).toEqual(config);
  });

  it('refuses a graph too large to start a run with', async () => {
    const config = { url: 'http://x.example', body: 'x'.repeat(limits.graphBytes) };
    const answer = await inWorkflow('POST', '/steps', { type: 'WEBHOOK', name: 'H', config });
    expect(faultsOf(answer)).toEqual([422, ' too_big']);
    expect((await read()).steps).toHaveLength(1);
  });
});

describe('the template of a step', () => {
  it('is that of the step; the config names it too, or has it copied from there', async () => {
    const template = async () =>
      (await call('POST', '/templates', { name: 'T', subject: 's', body: 'b', type: 'HEADLESS' }))
        .body.id as string;
    const [a, b] = [await template(), await template()];
    const fromConfig = await add('SEND_EMAIL', { config: { templateId: a } });
    expect(fromConfig).toMatchObject({ templateId: a, config: { templateId: a } });
    const both = await add('SEND_EMAIL', { templateId: b, config: { templateId: a } });
    expect(both).toMatchObject({ templateId: b, config: { templateId: b } });
    const patch = async (body: object) =>
      (await inWorkflow('PATCH', `/steps/${fromConfig.id}`, body)).body;
    expect(await patch({ templateId: b })).toMatchObject({
      templateId: b,
      config: { templateId: b },
    });
    expect(await patch({ config: { templateId: a } })).toMatchObject({ templateId: a });
    expect(await patch({ config: {} })).toMatchObject({ templateId: a, config: {} });
    expect(await patch({ templateId: null })).toMatchObject({ templateId: null, config: {} });
    const { steps } = await read();
    expect(steps[2].template).toEqual({ id: b, name: 'T' });
  });

  it('answers 404 TEMPLATE_NOT_FOUND when there is none', async () => {
    const templateId = randomUUID();
    const created = await inWorkflow('POST', '/steps', {
      type: 'SEND_EMAIL',
      name: 'M',
      config: {},
      templateId,
    });
    const { id: stepId } = await add('SEND_EMAIL');
    const changed = await inWorkflow('PATCH', `/steps/${stepId}`, { config: { templateId } });
    for (const { status, body } of [created, changed]) {
      expect([status, body.error.code, body.error.details.id]).toEqual([
        404,
        'TEMPLATE_NOT_FOUND',
        templateId,
      ]);
    }
  });
});

describe('changing a step', () => {
  it('replaces its config as a whole, and counts a version only for a change', async () => {
    const step = await add('WAIT_FOR_EVENT');
    const { version } = await read();
    const patch = (body: object) => inWorkflow('PATCH', `/steps/${step.id}`, body);
    const same = { name: step.name, config: step.config, position: step.position };
    expect((await patch(same)).status).toBe(200);
    expect((await patch({ type: 'EXIT' })).body.type).toBe('WAIT_FOR_EVENT');
    expect((await read()).version).toBe(version);
    expect((await patch({ config: { eventName: 'paid' } })).body.config).toEqual({
      eventName: 'paid',
    });
    expect((await patch({ name: ' New ', position: { x: -1, y: 0.5 } })).body).toMatchObject({
      name: 'New',
      position: { x: -1, y: 0.5 },
    });
    expect((await read()).version).toBe(version + 2);
  });

  it('checks the config by the type of the step', async () => {
    const { id: stepId } = await add('DELAY');
    const answer = await inWorkflow('PATCH', `/steps/${stepId}`, {
      config: { amount: 366, unit: 'days' },
    });
    expect(faultsOf(answer)).toEqual([422, 'config.amount too_big']);
  });

  it('refuses a config of the TRIGGER step as not_allowed, but renames it', async () => {
    const refused = await inWorkflow('PATCH', `/steps/${trigger}`, { config: { eventName: 'x' } });
    expect(faultsOf(refused)).toEqual([422, 'config not_allowed']);
    const renamed = await inWorkflow('PATCH', `/steps/${trigger}`, { name: 'Start' });
    expect(renamed.body.name).toBe('Start');
  });

  it('answers 404 STEP_NOT_FOUND for a step of another workflow', async () => {
    const other = (await call('POST', '/workflows', { name: 'O' })).body;
    for (const method of ['PATCH', 'DELETE']) {
      const { status, body } = await call(
        method,
        `/workflows/${other.id}/steps/${trigger}`,
        method === 'PATCH' ? {} : undefined,
      );
      expect([status, body.error.code]).toEqual([404, 'STEP_NOT_FOUND']);
    }
  });
});

describe('deleting a step', () => {
  it('removes what hangs on it only', async () => {
    const [a, b, c, x] = [
      await add('DELAY'),
      await add('CONDITION'),
      await add('DELAY'),
      await add('EXIT'),
    ];
    await chain(trigger, a.id, b.id);
    await link(b.id, c.id, { branch: 'yes' });
    await link(b.id, x.id, { branch: 'no' });
    const island = await add('DELAY');
    await chain(island.id, x.id);
    expect((await inWorkflow('DELETE', `/steps/${b.id}`)).status).toBe(204);
    const { steps } = await read();
    expect(steps.map((step: { id: string }) => step.id)).toEqual([trigger, a.id, x.id, island.id]);
    expect(await ways({ a: a.id, i: island.id, x: x.id })).toEqual(['i>x', 't>a']);
  });

  it('with splice links its predecessors to its successor, branches kept', async () => {
    const [c, a, b, x] = [
      await add('CONDITION'),
      await add('DELAY'),
      await add('DELAY'),
      await add('EXIT'),
    ];
    await chain(trigger, c.id);
    await link(c.id, a.id, { branch: 'yes' });
    await link(c.id, b.id, { branch: 'no' });
    await chain(b.id, a.id, x.id);
    const { version } = await read();
    expect((await inWorkflow('DELETE', `/steps/${a.id}?splice=true`)).status).toBe(204);
    const names = { b: b.id, c: c.id, x: x.id };
    expect(await ways(names)).toEqual(['b>x', 'c:no>b', 'c:yes>x', 't>c']);
    expect((await inWorkflow('DELETE', `/steps/${x.id}?splice=true`)).status).toBe(204);
    expect(await ways(names)).toEqual(['c:no>b', 't>c']);
    expect((await read()).version).toBe(version + 2);
  });

  it('is refused for the TRIGGER, and with splice where ways part', async () => {
    const [c, w, x] = [await add('CONDITION'), await add('WAIT_FOR_EVENT'), await add('EXIT')];
    await link(w.id, x.id, { branch: 'event' });
    for (const [path, status, code] of [
      [trigger, 400, 'TRIGGER_STEP_REQUIRED'],
      [`${trigger}?splice=true`, 400, 'TRIGGER_STEP_REQUIRED'],
      [`${c.id}?splice=true`, 400, 'STEP_NOT_SPLICEABLE'],
      [`${c.id}?splice=maybe`, 422, 'VALIDATION_ERROR'],
    ] as const) {
      const answer = await inWorkflow('DELETE', `/steps/${path}`);
      expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    }
    await link(w.id, c.id, { branch: 'timeout' });
    const parted = await inWorkflow('DELETE', `/steps/${w.id}?splice=true`);
    expect(parted.body.error.code).toBe('STEP_NOT_SPLICEABLE');
  });
});
