import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { keyed, nineSteps, trigger, ways } from '../../../support/projects/portable-graph.ts';
import { faultsOf, useWorkflowGraph } from '../../../support/projects/workflow-graph.ts';

const graph = await useWorkflowGraph();
const { api, call, inWorkflow, read, add } = graph;
let id: string;
beforeEach(async () => {
  ({ id } = await graph.begin());
});

const get = async () => {
  const { status, body } = await inWorkflow('GET', '/graph');
  expect(status).toBe(200);
  return body;
};
const put = (body: object) => inWorkflow('PUT', '/graph', body);
/** Puts a graph that must be accepted. Returns the ids of its steps by their names. */
async function putIds(body: object): Promise<Record<string, string>> {
  const answer = await put(body);
  expect([answer.status, answer.body.error]).toEqual([200, undefined]);
  return Object.fromEntries(
    answer.body.steps.map((step: { name: string; id: string }) => [step.name, step.id]),
  );
}
const template = async (more: object = {}) =>
  (
    await call('POST', '/templates', {
      name: 'Hello',
      subject: 's',
      body: 'b',
      type: 'HEADLESS',
      ...more,
    })
  ).body.id as string;

describe('the graph of a workflow', () => {
  it('is answered by keys, without ids of its own', async () => {
    const templateId = await template();
    const mail = await add('SEND_EMAIL', { name: 'Welcome mail', config: { templateId } });
    await add('CONDITION', { name: 'Pro?' });
    await graph.chain(triggerOf(await read()), mail.id);
    expect(await get()).toEqual({
      name: 'W',
      description: null,
      allowReentry: false,
      executionKey: null,
      reentry: { mode: 'once', minIntervalSeconds: null },
      trigger: { type: 'EVENT', config: { eventName: 'e' } },
      exitRules: [],
      steps: [
        {
          key: 'trigger',
          type: 'TRIGGER',
          name: 'Trigger: e',
          config: { eventName: 'e' },
          position: { x: 100, y: 100 },
        },
        {
          key: 'welcome-mail',
          type: 'SEND_EMAIL',
          name: 'Welcome mail',
          config: {},
          template: { id: templateId, name: 'Hello' },
          position: { x: 100, y: 220 },
        },
        {
          key: 'pro',
          type: 'CONDITION',
          name: 'Pro?',
          config: expect.objectContaining({ field: 'data.plan' }),
          position: { x: 100, y: 340 },
        },
      ],
      transitions: [{ from: 'trigger', to: 'welcome-mail' }],
    });
  });

  it('keeps the key of a step that gets another name, whether it was asked for before or not', async () => {
    const shown = await add('DELAY', { name: 'One day' });
    await get();
    const hidden = await add('DELAY', { name: 'Second day' });
    for (const { id: stepId } of [shown, hidden]) {
      await inWorkflow('PATCH', `/steps/${stepId}`, { name: 'Renamed' });
    }
    const keys = (await get()).steps.map(({ key }: { key: string }) => key);
    expect(keys).toEqual(['trigger', 'one-day', 'second-day']);
  });

  it('gives a new step a key that no other has, and a copy the same keys', async () => {
    await putIds({ steps: [trigger, keyed('a', 'DELAY', { name: 'A' })], transitions: [] });
    await add('EXIT', { name: 'A' });
    const keys = (await get()).steps.map(({ key }: { key: string }) => key);
    expect(keys).toEqual(['trigger', 'a', 'a-2']);
    const { body: copy } = await inWorkflow('POST', '/duplicate');
    const copied = await call('GET', `/workflows/${copy.id}/graph`);
    expect(copied.body.steps.map(({ key }: { key: string }) => key)).toEqual(keys);
  });

  it('is not found elsewhere', async () => {
    const { secretKey } = await api.createProject((await api.signUp()).cookie);
    for (const method of ['GET', 'PUT']) {
      const answer = await api.request(method, `/workflows/${id}/graph`, {
        key: secretKey,
        ...(method === 'GET' ? {} : { body: nineSteps }),
      });
      expect([answer.status, answer.body.error.code]).toEqual([404, 'WORKFLOW_NOT_FOUND']);
    }
  });
});

function triggerOf({ steps }: { steps: { id: string; type: string }[] }): string {
  return steps.find(({ type }) => type === 'TRIGGER')!.id;
}

describe('putting a graph', () => {
  it('makes one version of nine steps, and none of an equal graph', async () => {
    const before = await read();
    const { status, body } = await put(nineSteps);
    expect(status).toBe(200);
    expect(body).toEqual(await read());
    expect(body.version).toBe(before.version + 1);
    expect(body.triggerConfig).toEqual({ eventName: 'signed_up' });
    expect([body.steps.length, body.transitions.length]).toEqual([9, 9]);
    expect(body.steps[0]).toMatchObject({
      id: before.steps[0].id,
      name: 'Start',
      config: { eventName: 'signed_up' },
    });
    const outcomes = body.transitions.map((way: { waitOutcome: string | null }) => way.waitOutcome);
    expect(outcomes.filter((outcome: string | null) => outcome)).toEqual(['EVENT', 'TIMEOUT']);

    const portable = await get();
    expect(portable).toMatchObject({
      ...nineSteps,
      steps: nineSteps.steps.map(({ key }) => ({ key })),
    });
    for (const same of [portable, nineSteps]) {
      const again = await put(same);
      expect(again.status).toBe(200);
      expect(again.body).toEqual(body);
    }
    const shuffled = {
      steps: portable.steps.toReversed(),
      transitions: portable.transitions.toReversed(),
    };
    expect((await put({ ...portable, ...shuffled })).body).toEqual(body);
  });

  it('keeps the ids of steps whose keys are known and makes the others anew', async () => {
    const steps = [trigger, keyed('a', 'DELAY'), keyed('b', 'DELAY'), keyed('c', 'EXIT')];
    const before = await putIds({ steps, transitions: ways('trigger>a', 'a>b', 'b>c') });
    const other = [
      trigger,
      keyed('c', 'EXIT', { name: 'The end' }),
      keyed('a', 'DELAY', { config: { amount: 9, unit: 'minutes' } }),
      keyed('B', 'DELAY', { name: 'b step' }),
    ];
    const version = (await read()).version as number;
    const after = await putIds({ steps: other, transitions: ways('trigger>a', 'a>B', 'B>c') });
    expect(after).toEqual({
      Start: before['Start'],
      'a step': before['a step'],
      'The end': before['c step'],
      'b step': expect.not.stringMatching(before['b step']!),
    });
    expect((await read()).version).toBe(version + 1);
    expect((await inWorkflow('PATCH', `/steps/${before['b step']}`, { name: 'x' })).status).toBe(
      404,
    );
    const { transitions } = await get();
    expect(transitions).toEqual(expect.arrayContaining(ways('trigger>a', 'a>B', 'B>c')));
  });

  it('moves the ways of branches, and keeps the ids and priorities of those that stay', async () => {
    const steps = [trigger, keyed('if', 'CONDITION'), keyed('a', 'EXIT'), keyed('b', 'EXIT')];
    await putIds({ steps, transitions: ways('trigger>if', 'if:yes>a', 'if:no>b') });
    const before = (await read()).transitions as { id: string; branch: string | null }[];
    await putIds({ steps, transitions: ways('trigger>if', 'if:yes>b', 'if:no>a') });
    const after = (await read()).transitions as typeof before;
    expect(after.map(({ branch }) => branch)).toEqual([null, 'yes', 'no']);
    expect(after[0]).toEqual(before[0]);
    expect((await get()).transitions).toEqual(ways('trigger>if', 'if:yes>b', 'if:no>a'));
  });

  it('makes a key from the name, and knows the step by it the next time', async () => {
    const steps = [
      { type: 'TRIGGER' },
      { ...keyed('', 'DELAY'), key: undefined, name: 'Two days' },
    ];
    const transitions = ways('trigger>two-days');
    const before = await putIds({ steps, transitions });
    expect(await putIds({ steps, transitions })).toEqual(before);
    expect(Object.keys(before)).toEqual(['Trigger: e', 'Two days']);
    expect((await get()).steps[1].key).toBe('two-days');
  });

  it('changes settings, but those alone are no new version', async () => {
    await put(nineSteps);
    const { version, updatedAt } = await read();
    const graphNow = await get();
    const reentry = { mode: 'after_end', minIntervalSeconds: 60 };
    const settings = { name: 'Other', description: 'Text', allowReentry: true, reentry };
    const { body } = await put({ ...graphNow, ...settings });
    expect(body).toMatchObject({ ...settings, version });
    expect(body.updatedAt > updatedAt).toBe(true);
    const rules = [{ eventName: 'bought', reason: 'bought' }];
    const ruled = await put({ ...graphNow, ...settings, exitRules: rules });
    expect(ruled.body).toMatchObject({ exitRules: rules, version: version + 1 });
    const { steps, transitions } = graphNow;
    expect((await put({ steps, transitions })).body).toEqual(ruled.body);
    const manual = await put({ steps, transitions, trigger: { type: 'MANUAL', config: {} } });
    expect(manual.body).toMatchObject({
      triggerType: 'MANUAL',
      triggerConfig: {},
      version: version + 2,
    });
  });

  it('keeps what is shown as hidden, and refuses to make something of it', async () => {
    const hook = (authorization: string) =>
      keyed('hook', 'WEBHOOK', {
        config: { url: 'https://x.example/', headers: { Authorization: authorization } },
      });
    const body = (step: object) => ({ steps: [trigger, step], transitions: ways('trigger>hook') });
    const refused = await put(body(hook('•••')));
    expect(faultsOf(refused)).toEqual([422, 'steps.hook.config.headers.Authorization not_allowed']);
    const { version } = (await put(body(hook('Bearer clear')))).body;
    const shown = await get();
    expect(JSON.stringify(shown)).not.toContain('clear');
    expect(shown.steps[1].config.headers).toEqual({ Authorization: '•••' });
    expect((await put(shown)).body.version).toBe(version);
    const { config } = await api.db
      .selectFrom('workflow_step')
      .select('config')
      .where('workflow_id', '=', id)
      .where('type', '=', 'WEBHOOK')
      .executeTakeFirstOrThrow();
    expect(config).toMatchObject({ headers: { Authorization: 'Bearer clear' } });
  });

  it('names a template beside or in place of the shown one', async () => {
    const [one, other] = [await template(), await template({ name: 'Other' })];
    const mail = (more: object) => ({
      steps: [trigger, keyed('mail', 'SEND_EMAIL', more)],
      transitions: ways('trigger>mail'),
    });
    const templateOf = async (more: object) => {
      const { body } = await put(mail(more));
      return body.steps[1].templateId;
    };
    expect(await templateOf({ template: { id: one, name: 'any' } })).toBe(one);
    expect(await templateOf({ template: { id: one }, templateId: other })).toBe(other);
    expect(await templateOf({ config: { templateId: one } })).toBe(one);
    expect(await templateOf({ templateId: null, template: { id: one } })).toBe(null);
    const unknown = await put(mail({ template: { id: randomUUID() } }));
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'TEMPLATE_NOT_FOUND']);
  });

  it.each([
    ['a loop', { transitions: ways('a>b', 'b>a') }, 'transitions.1 custom'],
    ['two ways', { transitions: ways('trigger>a', 'trigger>b') }, 'transitions.1 custom'],
    ['an unknown end', { transitions: ways('a>x') }, 'transitions.0.to not_found'],
    ['a missing branch', { transitions: ways('if>a') }, 'transitions.0.branch required'],
    [
      'a foreign branch',
      { transitions: ways('if:x>a') },
      'transitions.0.branch invalid_enum_value',
    ],
    [
      'two steps with one key',
      { steps: [trigger, keyed('a', 'EXIT'), keyed('a', 'DELAY')] },
      'steps.a.key custom',
    ],
    ['no TRIGGER', { steps: [keyed('a', 'EXIT')] }, 'steps required'],
    ['two TRIGGERs', { steps: [trigger, { type: 'TRIGGER' }] }, 'steps.trigger.key custom'],
    [
      'another key of the TRIGGER',
      { steps: [{ ...trigger, key: 'start' }] },
      'steps.start.key not_allowed',
    ],
    [
      'its key elsewhere',
      { steps: [trigger, keyed('trigger', 'EXIT')] },
      'steps.trigger.key custom',
    ],
    [
      'a bad config',
      { steps: [trigger, keyed('d', 'DELAY', { config: { amount: 0, unit: 'days' } })] },
      'steps.d.config.amount too_small',
    ],
    [
      'an unknown type',
      { steps: [trigger, keyed('d', 'FOO', { config: {} })] },
      'steps.d.type invalid_enum_value',
    ],
    ['no step', { steps: [trigger, 7] }, 'steps.1 invalid_type'],
    [
      'an event of MANUAL',
      { trigger: { type: 'MANUAL', config: { eventName: 'x' } } },
      'trigger.config.eventName not_allowed',
    ],
    [
      'a schedule that is none',
      { trigger: { type: 'SCHEDULE', config: { cron: '@daily' } } },
      'trigger.config.cron invalid_string',
    ],
  ])('refuses %s and changes nothing', async (_, more, fault) => {
    const before = await put({
      steps: [trigger, keyed('a', 'DELAY'), keyed('b', 'DELAY'), keyed('if', 'CONDITION')],
      transitions: ways('trigger>a'),
    });
    const { steps } = await get();
    const refused = await put({ steps, transitions: [], ...more });
    expect(faultsOf(refused).slice(0, 2)).toEqual([422, fault]);
    expect(await read()).toEqual(before.body);
  });

  it('has the schedule of a workflow in it', async () => {
    const schedule = { type: 'SCHEDULE', config: { cron: '0 9 * * mon', timeZone: 'Europe/Kyiv' } };
    const stored = await put({ trigger: schedule, steps: [trigger], transitions: [] });
    expect([stored.status, stored.body.triggerType]).toEqual([200, 'SCHEDULE']);
    expect((await get()).trigger).toEqual(schedule);
    await put({
      trigger: { type: 'EVENT', config: { eventName: 'joined' } },
      steps: [trigger],
      transitions: [],
    });
  });

  it('returns 404, as documented, when the segment of a schedule does not exist', async () => {
    const config = { cron: '0 9 * * mon', segmentId: randomUUID() };
    const given = { trigger: { type: 'SCHEDULE', config }, steps: [trigger], transitions: [] };
    const answers = [
      await put(given),
      await call('POST', '/workflows', { name: 'Monday', graph: given }),
    ];
    for (const { status, body } of answers) {
      expect([status, body.error.code]).toEqual([404, 'SEGMENT_NOT_FOUND']);
    }
    const { paths } = (await api.request('GET', '/openapi.json')).body;
    for (const operation of [paths['/workflows/{id}/graph'].put, paths['/workflows'].post]) {
      expect(operation.responses['404'].description).toContain('SEGMENT_NOT_FOUND');
    }
  });

  it('refuses a schedule without times while the workflow is enabled', async () => {
    const drawn = { steps: [trigger, keyed('out', 'EXIT')], transitions: ways('trigger>out') };
    const weekly = { cron: '0 9 * * mon', timeZone: 'Europe/Kyiv' };
    await put({ ...drawn, trigger: { type: 'SCHEDULE', config: weekly } });
    expect((await inWorkflow('PATCH', '', { enabled: true })).status).toBe(200);
    const { status, body } = await put({ ...drawn, trigger: { type: 'SCHEDULE', config: {} } });
    expect([status, body.error.code]).toEqual([422, 'WORKFLOW_INVALID']);
    expect((await get()).trigger.config).toEqual(weekly);
  });

  it('refuses another type for a known key', async () => {
    await put({ steps: [trigger, keyed('a', 'DELAY')], transitions: [] });
    const refused = await put({ steps: [trigger, keyed('a', 'EXIT')], transitions: [] });
    expect(faultsOf(refused)).toEqual([422, 'steps.a.type not_allowed']);
  });

  it('takes turns with other edits: each graph is stored as a whole', async () => {
    const body = (key: string) => ({
      steps: [trigger, keyed(key, 'DELAY'), keyed(`${key}2`, 'EXIT')],
      transitions: ways(`trigger>${key}`, `${key}>${key}2`),
    });
    const keys = ['a', 'b', 'c', 'd'];
    const answers = await Promise.all(keys.map((key) => put(body(key))));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const { steps, transitions } = await get();
    expect(keys.map((key) => body(key).transitions)).toContainEqual(transitions);
    expect(steps).toHaveLength(3);
    expect((await read()).version).toBe(5);
  });
});

describe('making a workflow of a graph', () => {
  const make = (more: object) => call('POST', '/workflows', { name: 'Made', ...more });

  it('answers 201, enabled where it is wanted, with the trigger of the graph', async () => {
    const body = { ...nineSteps, name: 'Ignored', description: 'Text', allowReentry: true };
    const made = await make({
      graph: body,
      enabled: true,
      eventName: 'other',
      triggerType: 'EVENT',
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      name: 'Made',
      description: 'Text',
      allowReentry: true,
      enabled: true,
      version: 1,
      triggerConfig: { eventName: 'signed_up' },
    });
    const { body: portable } = await call('GET', `/workflows/${made.body.id}/graph`);
    expect(portable.transitions).toEqual(nineSteps.transitions);
    expect(portable.steps.map(({ key }: { key: string }) => key)).toEqual(
      nineSteps.steps.map(({ key }) => key),
    );
    const versions = await api.db
      .selectFrom('workflow_version')
      .select('version')
      .where('workflow_id', '=', made.body.id)
      .execute();
    expect(versions).toEqual([{ version: 1 }]);
    expect((await make({ graph: body })).body.enabled).toBe(false);
  });

  it('names what is missing to be enabled by the keys, and makes nothing', async () => {
    const count = async () => (await call('GET', '/workflows')).body.total;
    const before = await count();
    const refused = await make({
      enabled: true,
      graph: {
        trigger: { type: 'EVENT' },
        steps: [trigger, keyed('mail', 'SEND_EMAIL')],
        transitions: ways('trigger>mail'),
      },
    });
    expect(refused.body.error.code).toBe('WORKFLOW_INVALID');
    expect(faultsOf(refused)).toEqual([
      422,
      'graph.trigger.config required',
      'graph.steps.mail custom',
    ]);
    expect(await count()).toBe(before);
  });

  it('names errors of the graph by the keys', async () => {
    const refused = await make({
      graph: {
        steps: [trigger, keyed('d', 'DELAY', { config: { amount: 0, unit: 'days' } })],
        transitions: [],
      },
    });
    expect(faultsOf(refused)).toEqual([422, 'graph.steps.d.config.amount too_small']);
    const loop = await make({
      graph: { steps: [trigger, keyed('d', 'DELAY')], transitions: ways('d>d') },
    });
    expect(faultsOf(loop)).toEqual([422, 'graph.transitions.0 custom']);
  });

  it('keeps conditions, keys, arms and digests in another workflow and another project', async () => {
    const own = [{ field: 'event.orderId', operator: 'equals', valueOf: 'context.orderId' }];
    const total = [{ field: 'event.total', operator: 'greaterThan', value: 10 }];
    const arms = ['a', 'b'].map((arm, index) => ({
      id: arm,
      name: `Arm ${arm}`,
      weight: index + 1,
    }));
    const plan = { field: 'data.plan', operator: 'equals', value: 'pro' };
    const filter = { logic: 'AND', groups: [{ filters: [plan, ...total] }] };
    const collect = { eventName: 'viewed', where: own, for: { amount: 1, unit: 'hours' }, max: 5 };
    const given = {
      executionKey: 'event.orderId',
      reentry: { mode: 'after_end', minIntervalSeconds: 60 },
      trigger: { type: 'EVENT', config: { eventName: 'order_placed', where: total } },
      exitRules: [{ eventName: 'refunded', where: own, reason: 'refunded' }],
      steps: [
        trigger,
        keyed('collect', 'DIGEST', { config: { ...collect, since: 'step', immediateFirst: true } }),
        keyed('split', 'SPLIT', { config: { arms, by: 'key', salt: 'pepper' } }),
        keyed('pro', 'CONDITION', {
          config: { mode: 'filter', branches: [{ id: 'pro', name: 'Pro', filter }] },
        }),
        keyed('paid', 'WAIT_FOR_EVENT', {
          config: { eventName: 'paid', timeout: 60, since: 'execution', where: own },
        }),
      ],
      transitions: ways(
        'trigger>collect',
        'collect>split',
        'split:a>pro',
        'split:b>paid',
        'pro:default>paid',
      ),
    };
    await putIds(given);
    const first = await get();
    expect(first).toMatchObject({
      ...given,
      steps: given.steps.map(({ key, type, ...rest }) => ({ key, type, ...rest })),
    });
    const { secretKey } = await api.createProject((await api.signUp()).cookie);
    for (const key of [undefined, secretKey]) {
      const ask = async (method: string, path: string, body?: object) => {
        const sent = { ...(key && { key }), ...(body && { body }) };
        const answer = key ? await api.request(method, path, sent) : await call(method, path, body);
        expect(answer.body.error).toBeUndefined();
        return answer.body;
      };
      const { id: other } = await ask('POST', '/workflows', { name: 'W' });
      await ask('PUT', `/workflows/${other}/graph`, first);
      expect(await ask('GET', `/workflows/${other}/graph`)).toEqual(first);
    }
  });

  it('takes a graph to another project, with the template of that one', async () => {
    const mine = await template({ name: 'Mine' });
    await put({
      ...nineSteps,
      steps: [...nineSteps.steps, keyed('mail', 'SEND_EMAIL', { templateId: mine })],
      transitions: [...nineSteps.transitions.slice(1), ...ways('trigger>mail', 'mail>which')],
    });
    const taken = await get();
    const { secretKey: key } = await api.createProject((await api.signUp()).cookie);
    const there = (method: string, path: string, body?: object) =>
      api.request(method, path, { key, ...(body ? { body } : {}) });
    const { body: workflow } = await there('POST', '/workflows', { name: 'There' });
    const path = `/workflows/${workflow.id}`;
    const foreign = await there('PUT', `${path}/graph`, taken);
    expect([foreign.status, foreign.body.error.code]).toEqual([404, 'TEMPLATE_NOT_FOUND']);
    await there('POST', '/domains', { domain: `${randomUUID()}.test` });
    const [{ domain }] = (await there('GET', `/domains/project/${workflow.projectId}`)).body;
    const { body: own } = await there('POST', '/templates', {
      name: 'Theirs',
      subject: 's',
      body: 'b',
      type: 'HEADLESS',
      from: `a@${domain}`,
    });
    const steps = taken.steps.map((step: { key: string }) =>
      step.key === 'mail' ? { ...step, templateId: own.id } : step,
    );
    expect((await there('PUT', `${path}/graph`, { ...taken, steps })).status).toBe(200);
    expect((await there('PATCH', path, { enabled: true })).status).toBe(200);
    const { body: moved } = await there('GET', `${path}/graph`);
    const mail = moved.steps.find((step: { key: string }) => step.key === 'mail');
    expect(mail.template).toEqual({ id: own.id, name: 'Theirs' });
    expect(moved.transitions).toEqual(expect.arrayContaining(taken.transitions));
  });
});
