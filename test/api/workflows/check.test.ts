import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useShop } from '../../support/projects/shop.ts';

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
