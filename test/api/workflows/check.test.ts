import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newAddress, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

const check = async (graph: unknown) =>
  (await shop.call('POST', '/workflows/check', { graph })).body as {
    problems: { field: string; code: string; message: string }[];
    warnings: { code: string; step: string }[];
  };
const codes = ({ problems }: { problems: { field: string; code: string }[] }) =>
  problems.map(({ field, code }) => [field, code]);

const trigger = { type: 'EVENT', config: { eventName: 'signed_up' } };
const start = { key: 'trigger', type: 'TRIGGER' };
const delay = { key: 'wait', type: 'DELAY', name: 'Wait', config: { amount: 2, unit: 'days' } };
const ways = [{ from: 'trigger', to: 'wait' }];
const good = { trigger, steps: [start, delay], transitions: ways };

describe('POST /workflows/check', () => {
  it('finds nothing in a graph that can be enabled, and stores nothing', async () => {
    const { body: before } = await shop.call('GET', '/workflows');
    expect(await check(good)).toEqual({ problems: [], warnings: [] });
    expect((await shop.call('GET', '/workflows')).body).toEqual(before);
  });

  it('reports at once what PUT would refuse, with the step by its key', async () => {
    const graph = {
      trigger: { type: 'EVENT', config: { eventName: '' } },
      steps: [
        start,
        { ...delay, config: { amount: 0, unit: 'years' } },
        { key: 'out', type: 'EXIT', name: '', config: {} },
      ],
      transitions: [...ways, { from: 'wait', to: 'nowhere' }],
      allowReentry: 'yes',
    };
    const found = await check(graph);
    expect(found.warnings).toEqual([]);
    const { body } = await shop.call('POST', '/workflows', { name: 'W', graph, enabled: true });
    const refused = body.error.errors as { field: string; code: string }[];
    expect(codes(found).toSorted()).toEqual(
      refused.map(({ field, code }) => [field, code]).toSorted(),
    );
    const fields = found.problems.map(({ field }) => field);
    expect(fields).toEqual(
      expect.arrayContaining(['graph.steps.wait.config.amount', 'graph.steps.out.name']),
    );
  });

  it('reports what enabling would refuse', async () => {
    expect(codes(await check({ ...good, trigger: { type: 'EVENT', config: {} } }))).toEqual([
      ['graph.trigger.config', 'required'],
    ]);
    const wait = { key: 'w', type: 'WAIT_FOR_EVENT', name: 'W', config: { eventName: 'paid' } };
    const condition = {
      key: 'c',
      type: 'CONDITION',
      name: 'C',
      config: { field: 'data.plan', operator: 'equals', value: 'pro' },
    };
    const graph = {
      trigger,
      steps: [start, wait, condition],
      transitions: [
        { from: 'trigger', to: 'w' },
        { from: 'w', to: 'c' },
      ],
    };
    const made = await shop.call('POST', '/workflows', { name: 'W', graph, enabled: true });
    const refused = (made.body.error?.errors ?? []).map(
      ({ field, code }: { field: string; code: string }) => [field, code],
    );
    expect(codes(await check(graph))).toEqual(refused);
  });

  it('reports templates and topics that the project does not have, once', async () => {
    const foreign = await shop.api.request('POST', '/templates', {
      key: shop.other.secretKey,
      body: { name: 'T', subject: 'S', body: '<p>B</p>', from: 'a@b.test', type: 'MARKETING' },
    });
    const templateId = foreign.body.id ?? randomUUID();
    const topicId = randomUUID();
    const mail = { key: 'mail', type: 'SEND_EMAIL', name: 'Mail', config: { topicId }, templateId };
    const graph = {
      trigger,
      steps: [start, mail],
      transitions: [{ from: 'trigger', to: 'mail' }],
    };
    expect(codes(await check(graph))).toEqual([
      ['graph.steps.mail.templateId', 'not_found'],
      ['graph.steps.mail.config.topicId', 'not_found'],
    ]);
  });

  it('warns of what is allowed but odd', async () => {
    const lonely = { key: 'lonely', type: 'EXIT', name: 'Lonely', config: {} };
    const { problems, warnings } = await check({ ...good, steps: [...good.steps, lonely] });
    expect(problems).toEqual([]);
    expect(warnings).toEqual([
      { code: 'unreachable_step', step: 'lonely', message: expect.any(String) },
    ]);
  });

  it('warns of a branch without a transition, if the step has others', async () => {
    const isPro = { field: 'data.plan', operator: 'equals', value: 'pro' };
    await shop.call('POST', '/contacts', { email: newAddress(), data: { plan: 'pro' } });
    const pro = { key: 'pro', type: 'CONDITION', name: 'Pro?', config: isPro };
    const paid = (config: object) => ({
      key: 'paid',
      type: 'WAIT_FOR_EVENT',
      name: 'Paid?',
      config: { eventName: 'paid', ...config },
    });
    const end = { key: 'end', type: 'EXIT', name: 'End', config: {} };
    const transitions = [
      { from: 'trigger', to: 'pro' },
      { from: 'pro', to: 'paid', branch: 'yes' },
      { from: 'paid', to: 'end', branch: 'event' },
    ];
    const graphWith = (config: object) => ({
      trigger,
      steps: [start, pro, paid(config), end],
      transitions,
    });
    const no = {
      code: 'unconnected_branch',
      step: 'pro',
      message: '"Pro?" has no transition for "no", so executions end there.',
    };
    expect(await check(graphWith({}))).toEqual({ problems: [], warnings: [no] });
    const { warnings } = await check(graphWith({ timeout: 60 }));
    expect(warnings.map(({ code, step }) => [code, step])).toEqual([
      ['unconnected_branch', 'pro'],
      ['unconnected_branch', 'paid'],
    ]);
  });

  it('takes a graph as GET returns it, with its masked values', async () => {
    const headers = { Authorization: 'Bearer x' };
    const config = { url: 'https://hooks.shop.test/', method: 'POST', headers };
    const hook = { key: 'hook', type: 'WEBHOOK', name: 'Hook', config };
    const graph = { trigger, steps: [start, hook], transitions: [{ from: 'trigger', to: 'hook' }] };
    const made = await shop.call('POST', '/workflows', { name: 'W', graph });
    const { body } = await shop.call('GET', `/workflows/${made.body.id}/graph`);
    expect(body.steps[1].config.headers).toEqual({ Authorization: '•••' });
    expect(await check(body)).toEqual({ problems: [], warnings: [] });
  });

  it('reports a graph that is too large, as PUT does', async () => {
    const body = 'x'.repeat(5_100);
    const hooks = Array.from({ length: 194 }, (_, index) => ({
      key: `hook-${index}`,
      type: 'WEBHOOK',
      name: `Hook ${index}`,
      config: { url: 'https://hooks.shop.test/', method: 'POST', body },
    }));
    const transitions = hooks.map(({ key }, index) => ({
      from: hooks[index - 1]?.key ?? 'trigger',
      to: key,
    }));
    const graph = { trigger, steps: [start, ...hooks], transitions };
    const { problems } = await check(graph);
    const { id } = (await shop.call('POST', '/workflows', { name: 'W', eventName: 'e' })).body;
    const put = await shop.call('PUT', `/workflows/${id}/graph`, graph);
    expect(put.body.error.errors).toMatchObject([{ field: '', code: 'too_big' }]);
    expect(problems).toMatchObject([{ field: 'graph', code: 'too_big' }]);
  });

  it.each([[undefined], [null], ['x'], [[]], [1]])(
    'refuses the graph %j with 422',
    async (graph) => {
      const { status, body } = await shop.call('POST', '/workflows/check', { graph });
      expect(status).toBe(422);
      expect(body.error.errors).toMatchObject([{ field: 'graph' }]);
    },
  );

  it('reports a graph without steps as a problem', async () => {
    const found = await check({});
    expect(found.problems.map(({ field }) => field)).toEqual(
      expect.arrayContaining(['graph.steps', 'graph.transitions']),
    );
  });
});
