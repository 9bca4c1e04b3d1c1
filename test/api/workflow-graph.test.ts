import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { FieldProblem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { startTestApi, type TestAnswer, type TestApi } from '../support/api.ts';

let api: TestApi;
let key: string;
/** The workflow of the test at hand, with its TRIGGER step. */
let id: string;
let trigger: string;

beforeAll(async () => {
  api = await startTestApi();
  const { cookie } = await api.signUp();
  ({ secretKey: key } = await api.createProject(cookie));
});

afterAll(() => api?.close());

beforeEach(async () => {
  const { body } = await call('POST', '/workflows', { name: 'W', eventName: 'e' });
  ({ id } = body);
  [{ id: trigger }] = (await read()).steps;
});

const call = (method: string, path: string, body?: unknown) =>
  api.request(method, path, { key, ...(body === undefined ? {} : { body }) });

const inWorkflow = (method: string, path: string, body?: unknown) =>
  call(method, `/workflows/${id}${path}`, body);

const read = async () => (await inWorkflow('GET', '')).body;

const configs: Record<string, object> = {
  DELAY: { amount: 1, unit: 'days' },
  EXIT: {},
  CONDITION: { field: 'data.plan', operator: 'equals', value: 'pro' },
  WAIT_FOR_EVENT: { eventName: 'bought', timeout: 60 },
  WEBHOOK: { url: 'https://x.example/' },
  SEND_EMAIL: {},
};

const multi = {
  mode: 'multi',
  field: 'data.plan',
  branches: [
    { id: 'pro', name: 'Pro', operator: 'equals', value: 'pro' },
    { id: 'free', name: 'Free', operator: 'equals', value: 'free' },
  ],
};

/** Adds a step, by itself linked to nothing; answers its record. */
async function add(type: string, more: object = {}) {
  const { status, body } = await inWorkflow('POST', '/steps', {
    type,
    name: type,
    config: configs[type],
    autoConnect: false,
    ...more,
  });
  expect([status, body.error]).toEqual([201, undefined]);
  return body;
}

const link = (fromStepId: string, toStepId: string, more: object = {}) =>
  inWorkflow('POST', '/transitions', { fromStepId, toStepId, ...more });

/** Links steps one after the other. */
async function chain(...ids: string[]) {
  for (const [index, to] of ids.entries()) {
    if (index > 0) expect((await link(ids[index - 1]!, to)).status).toBe(201);
  }
}

/** The ways of the workflow as `from>to` or `from:branch>to`, with names for ids. */
async function ways(names: Record<string, string>) {
  const name = (stepId: string) =>
    Object.keys(names).find((key) => names[key] === stepId) ?? (stepId === trigger ? 't' : '?');
  return (await read()).transitions
    .map(
      (way: { fromStepId: string; toStepId: string; branch: string | null }) =>
        `${name(way.fromStepId)}${way.branch === null ? '' : `:${way.branch}`}>${name(way.toStepId)}`,
    )
    .sort();
}

const faultsOf = ({ status, body }: TestAnswer) => [
  status,
  ...((body.error.errors ?? []) as FieldProblem[]).map(({ field, code }) => `${field} ${code}`),
];

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
      wait: (await add('WAIT_FOR_EVENT')).id,
      delay: (await add('DELAY')).id,
    };
    for (const [step, given, expected] of [
      ['condition', {}, 'condition.branch required'],
      ['condition', { condition: { branch: 'maybe' } }, 'condition.branch invalid_enum_value'],
      ['condition', { branch: 'pro' }, 'branch invalid_enum_value'],
      ['condition', { branch: 'yes', condition: { branch: 'no' } }, 'branch custom'],
      ['condition', { branch: 'yes', waitOutcome: 'EVENT' }, 'waitOutcome not_allowed'],
      ['multi', { condition: { branch: 'yes' } }, 'condition.branch invalid_enum_value'],
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

describe('inserting a step into a transition', () => {
  it('keeps the way in and makes the way on, a condition by its first branch', async () => {
    const [c, x] = [await add('CONDITION'), await add('EXIT', { position: { x: 300, y: 400 } })];
    await chain(trigger, c.id);
    const { body: way } = await link(c.id, x.id, { branch: 'no' });
    const insert = (body: object) =>
      inWorkflow('POST', `/transitions/${way.id}/insert-step`, { name: 'New', ...body });
    const delay = await insert({ type: 'DELAY', config: configs['DELAY'] });
    expect(delay.status).toBe(201);
    expect(delay.body.position).toEqual({ x: 200, y: (c.position.y + 400) / 2 });
    const names = { c: c.id, x: x.id, d: delay.body.id };
    expect(await ways(names)).toEqual(['c:no>d', 'd>x', 't>c']);
    expect((await read()).transitions[1].id).toBe(way.id);
    const binary = await insert({ type: 'CONDITION', config: configs['CONDITION'] });
    const several = await insert({ type: 'CONDITION', config: multi });
    expect(await ways({ ...names, e: binary.body.id, m: several.body.id })).toEqual([
      'c:no>m',
      'd>x',
      'e:yes>d',
      'm:pro>e',
      't>c',
    ]);
  });

  it('refuses TRIGGER and EXIT with 422 and an unknown transition with 404', async () => {
    await add('EXIT', { autoConnect: true });
    const [way] = (await read()).transitions;
    for (const type of ['TRIGGER', 'EXIT']) {
      const body = { type, name: 'N', config: {} };
      const answer = await inWorkflow('POST', `/transitions/${way.id}/insert-step`, body);
      expect(faultsOf(answer)).toEqual([422, 'type invalid_enum_value']);
    }
    const body = { type: 'DELAY', name: 'N', config: configs['DELAY'] };
    const unknown = await inWorkflow('POST', `/transitions/${randomUUID()}/insert-step`, body);
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'TRANSITION_NOT_FOUND']);
  });
});

describe('edits at the same moment', () => {
  it('of which two together would close a loop: exactly one wins', async () => {
    for (let round = 0; round < 10; round++) {
      const [a, b] = [await add('DELAY'), await add('DELAY')];
      const answers = await Promise.all([link(a.id, b.id), link(b.id, a.id)]);
      const outcomes = answers.map(({ status, body }) => body.error?.code ?? status).sort();
      expect(outcomes).toEqual([201, 'TRANSITION_LOOP']);
    }
  });

  it('that take the same way out: one wins', async () => {
    const [a, b, c] = [await add('DELAY'), await add('DELAY'), await add('DELAY')];
    const answers = await Promise.all([link(a.id, b.id), link(a.id, c.id)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400]);
  });

  it('of the same transition twice: one record', async () => {
    const [a, b] = [await add('DELAY'), await add('DELAY')];
    const answers = await Promise.all(Array.from({ length: 5 }, () => link(a.id, b.id)));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1);
  });

  it('add each its step to one chain and count each its version', async () => {
    await Promise.all(Array.from({ length: 8 }, () => add('DELAY', { autoConnect: true })));
    const { steps, transitions, version } = await read();
    expect([steps.length, transitions.length, version]).toEqual([9, 8, 9]);
    const froms = transitions.map((way: { fromStepId: string }) => way.fromStepId);
    expect(new Set(froms).size).toBe(8);
  });

  it('while enabling: every version of the enabled workflow is kept', async () => {
    await add('DELAY', { autoConnect: true });
    await Promise.all([
      inWorkflow('PATCH', '', { enabled: true }),
      ...Array.from({ length: 5 }, () => add('DELAY')),
    ]);
    const { version, steps } = await read();
    const kept = await api.db
      .selectFrom('workflow_version')
      .select(['version', sql<number>`jsonb_array_length(graph -> 'steps')`.as('steps')])
      .where('workflow_id', '=', id)
      .orderBy('version', 'desc')
      .execute();
    expect(kept[0]).toEqual({ version, steps: steps.length });
    expect(kept.map((row) => row.version)).toEqual(kept.map((_, index) => version - index));
  });
});
