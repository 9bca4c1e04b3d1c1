import { beforeEach, describe, expect, it } from 'vitest';
import { faultsOf, multi, useWorkflowGraph } from '../../support/projects/workflow-graph.ts';

/** The trigger of the current test's workflow. */
let trigger: string;
const graph = await useWorkflowGraph();
const { call, inWorkflow, read, add, link, chain } = graph;
beforeEach(async () => {
  ({ trigger } = await graph.begin());
});

describe('transitions', () => {
  it('answers the whole record', async () => {
    const [c, x] = [await add('CONDITION'), await add('EXIT')];
    const { status, body } = await link(c.id, x.id, { branch: 'no', priority: 3 });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      fromStepId: c.id,
      toStepId: x.id,
      condition: { branch: 'no' },
      branch: 'no',
      waitOutcome: null,
      priority: 3,
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
    });
    expect((await read()).transitions).toEqual([body]);
  });

  it.each([
    [{ branch: 'event' }, 'event', 'EVENT'],
    [{ condition: { branch: 'timeout' } }, 'timeout', 'TIMEOUT'],
    [{ waitOutcome: 'EVENT' }, 'event', 'EVENT'],
    [{ condition: { fallback: true } }, 'timeout', 'TIMEOUT'],
    [{ condition: { branch: 'event' }, branch: 'event', waitOutcome: 'EVENT' }, 'event', 'EVENT'],
    [{ condition: {}, branch: null, waitOutcome: null }, null, null],
  ])('take the outcome of a wait as %j', async (given, branch, waitOutcome) => {
    const [w, x] = [await add('WAIT_FOR_EVENT'), await add('EXIT')];
    const { status, body } = await link(w.id, x.id, given);
    expect([status, body.branch, body.waitOutcome]).toEqual([201, branch, waitOutcome]);
    expect(body.condition).toEqual(branch === null ? null : { branch });
  });

  it('refuse branches a step does not have with 422', async () => {
    const x = (await add('EXIT')).id;
    const from = {
      condition: (await add('CONDITION')).id,
      multi: (await add('CONDITION', { config: multi })).id,
      split: (await add('SPLIT')).id,
      wait: (await add('WAIT_FOR_EVENT')).id,
      delay: (await add('DELAY')).id,
    };
    for (const [step, given, expected] of [
      ['condition', {}, 'condition.branch required'],
      ['condition', { condition: { branch: 'maybe' } }, 'condition.branch invalid_enum_value'],
      ['condition', { branch: 'pro' }, 'condition.branch invalid_enum_value'],
      ['condition', { branch: 'yes', condition: { branch: 'no' } }, 'branch custom'],
      ['condition', { branch: 'yes', waitOutcome: 'EVENT' }, 'waitOutcome not_allowed'],
      ['multi', { condition: { branch: 'yes' } }, 'condition.branch invalid_enum_value'],
      ['split', {}, 'condition.branch required'],
      ['split', { branch: 'default' }, 'condition.branch invalid_enum_value'],
      ['wait', { condition: { branch: 'yes' } }, 'condition.branch invalid_enum_value'],
      ['wait', { branch: 'event', waitOutcome: 'TIMEOUT' }, 'waitOutcome custom'],
      ['wait', { waitOutcome: 'NEVER' }, 'waitOutcome invalid_enum_value'],
      ['delay', { condition: { branch: 'yes' } }, 'condition.branch not_allowed'],
      ['delay', { condition: { fallback: true } }, 'condition.branch not_allowed'],
      ['delay', { waitOutcome: 'EVENT' }, 'waitOutcome not_allowed'],
    ] as const) {
      expect(faultsOf(await link(from[step], x, given))).toEqual([422, expected]);
    }
    for (const branch of ['pro', 'free', 'default']) {
      expect((await link(from.multi, x, { branch })).status).toBe(201);
    }
  });

  it('keep every rule of the graph', async () => {
    const [a, b, c, x] = [
      await add('DELAY'),
      await add('DELAY'),
      await add('DELAY'),
      await add('EXIT'),
    ];
    await chain(trigger, a.id, b.id, c.id);
    const [condition, wait] = [await add('CONDITION'), await add('WAIT_FOR_EVENT')];
    await link(condition.id, x.id, { branch: 'yes' });
    await link(wait.id, x.id, { waitOutcome: 'TIMEOUT' });
    const elsewhere = (await call('POST', '/workflows', { name: 'O' })).body.id;
    const [foreign] = (await call('GET', `/workflows/${elsewhere}`)).body.steps;
    for (const [from, to, more, status, code] of [
      [a, a, {}, 400, 'TRANSITION_SELF'],
      [x, x, {}, 400, 'TRANSITION_SELF'],
      [x, a, {}, 400, 'TRANSITION_FROM_EXIT'],
      [x, { id: trigger }, {}, 400, 'TRANSITION_FROM_EXIT'],
      [a, { id: trigger }, {}, 400, 'TRANSITION_TO_TRIGGER'],
      [a, x, {}, 400, 'TRANSITION_EXISTS'],
      [b, a, {}, 400, 'TRANSITION_EXISTS'],
      [{ id: trigger }, b, {}, 400, 'TRANSITION_EXISTS'],
      [condition, a, { branch: 'yes' }, 400, 'TRANSITION_BRANCH_EXISTS'],
      [condition, x, { branch: 'yes' }, 400, 'TRANSITION_BRANCH_EXISTS'],
      [wait, a, { branch: 'timeout' }, 400, 'TRANSITION_BRANCH_EXISTS'],
      [c, a, {}, 400, 'TRANSITION_LOOP'],
      [foreign, a, {}, 404, 'STEP_NOT_FOUND'],
      [c, foreign, {}, 404, 'STEP_NOT_FOUND'],
    ] as const) {
      const answer = await link(from.id, to.id, more);
      expect([answer.status, answer.body.error?.code]).toEqual([status, code]);
    }
    expect((await link(wait.id, x.id)).status).toBe(201);
    expect((await link(wait.id, x.id, { branch: 'event' })).status).toBe(201);
    expect((await link(wait.id, a.id)).body.error.code).toBe('TRANSITION_EXISTS');
  });

  it('can be deleted once', async () => {
    const a = await add('DELAY', { autoConnect: true });
    const { transitions, version } = await read();
    const path = `/transitions/${transitions[0].id}`;
    expect((await inWorkflow('DELETE', path)).status).toBe(204);
    const again = await inWorkflow('DELETE', path);
    expect([again.status, again.body.error.code]).toEqual([404, 'TRANSITION_NOT_FOUND']);
    expect(await read()).toMatchObject({ transitions: [], version: version + 1 });
    expect((await link(trigger, a.id)).status).toBe(201);
  });
});
