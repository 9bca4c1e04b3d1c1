import { describe, expect, it } from 'vitest';
import { errorFields, useWorkflowApi } from '../../support/projects/workflow-api.ts';

const shop = await useWorkflowApi();
const { call } = shop;

const put = (name: string, more: object = {}) =>
  call('PUT', `/secrets/${name}`, { value: 'tok_4f9a8c', ...more });
const listed = async (name: string) =>
  (await call('GET', '/secrets')).body.find((one: { name: string }) => one.name === name);

describe('the hosts of a secret', () => {
  it('are listed where there are any, stay when they are left out, and go with null', async () => {
    expect(
      (await put('BOUND', { hosts: ['API.crm.example', 'api.CRM.example.', '*.b:81'] })).status,
    ).toBe(204);
    expect((await listed('BOUND')).hosts).toEqual(['api.crm.example', '*.b:81']);
    await put('BOUND');
    expect((await listed('BOUND')).hosts).toEqual(['api.crm.example', '*.b:81']);
    await put('BOUND', { hosts: null });
    expect('hosts' in (await listed('BOUND'))).toBe(false);
    await put('FREE');
    expect('hosts' in (await listed('FREE'))).toBe(false);
  });

  it.each([
    [[], 'hosts too_small'],
    [Array.from({ length: 11 }, (_, index) => `h${index}.example`), 'hosts too_big'],
    [['a.example', 'https://b.example', '*'], 'hosts.1 invalid_string,hosts.2 invalid_string'],
    [[7], 'hosts.0 invalid_type'],
    ['a.example', 'hosts invalid_type'],
  ])('cannot be %j', async (hosts, fields) => {
    const { status, body } = await put('WRONG', { hosts });
    expect([status, errorFields(body).join()]).toEqual([422, fields]);
    expect(await listed('WRONG')).toBeUndefined();
  });
});

describe('a WEBHOOK step with a bound secret', () => {
  const parts = [
    ['url', { url: 'https://evil.example/{{secret.CRM}}' }],
    ['headers', { url: 'https://evil.example/', headers: { 'X-Key': 'a {{ secret.CRM }}' } }],
    ['body', { url: 'https://evil.example/{{id}}', body: { deep: ['{{secret.CRM}}'] } }],
    ['credentials', { url: 'https://evil.example/', headers: { Authorization: '{{secret.CRM}}' } }],
  ] as const;
  const stepOf = (config: object) => ({ type: 'WEBHOOK', name: 'Call', config });
  const refusal = ({ status, body }: { status: number; body: { error: never } }) => [
    status,
    ...errorFields(body),
  ];

  it.each(parts)('is refused with another host when it is made: %s', async (_, config) => {
    await put('CRM', { hosts: ['crm.example'] });
    const { id } = await shop.createWorkflow();
    const made = await call('POST', `/workflows/${id}/steps`, stepOf(config));
    expect(refusal(made)).toEqual([422, 'config.url not_allowed']);
    expect(JSON.stringify(made.body)).toContain('do not allow evil.example: CRM.');
    const fitting = { ...config, url: config.url.replace('evil', 'crm') };
    const step = await call('POST', `/workflows/${id}/steps`, stepOf(fitting));
    expect(step.status).toBe(201);
    const path = `/workflows/${id}/steps/${step.body.id}`;
    expect(refusal(await call('PATCH', path, { config }))).toEqual([422, 'config.url not_allowed']);
    const kept = await call('PATCH', path, {
      config: { ...step.body.config, url: 'https://evil.example/' },
    });
    const isOfUrl = 'headers' in config || 'body' in config;
    expect(kept.status).toBe(isOfUrl ? 422 : 200);
  });

  it.each(parts)('is refused in a graph: %s', async (_, config) => {
    await put('CRM', { hosts: ['crm.example'] });
    const graph = (url: string) => ({
      trigger: { type: 'EVENT', config: { eventName: 'order' } },
      steps: [
        { key: 'trigger', type: 'TRIGGER' },
        { key: 'call', type: 'WEBHOOK', name: 'Call', config: { ...config, url } },
      ],
      transitions: [{ from: 'trigger', to: 'call' }],
    });
    const made = await call('POST', '/workflows', { name: 'W', graph: graph(config.url) });
    expect(refusal(made)).toEqual([422, 'graph.steps.call.config.url not_allowed']);
    const { id } = await shop.createWorkflow();
    const drawn = await call('PUT', `/workflows/${id}/graph`, graph(config.url));
    expect(refusal(drawn)).toEqual([422, 'steps.call.config.url not_allowed']);
    const fitting = graph(config.url.replace('evil', 'crm'));
    expect((await call('PUT', `/workflows/${id}/graph`, fitting)).status).toBe(200);
    await put('CRM', { hosts: ['other.example'] });
    // Nothing changes, so hosts are not checked here, but when requests are sent.
    expect((await call('PUT', `/workflows/${id}/graph`, fitting)).status).toBe(200);
  });

  it('is refused with another port, and keeps its binding when the value is set anew', async () => {
    await put('PORT', { hosts: ['127.0.0.1:8081', '*.hooks.example'] });
    await put('PORT');
    const { id } = await shop.createWorkflow();
    const make = (url: string) =>
      call('POST', `/workflows/${id}/steps`, stepOf({ url, body: '{{secret.PORT}}' }));
    for (const url of ['http://127.0.0.1:8082/', 'http://127.0.0.1/', 'https://hooks.example/']) {
      expect(refusal(await make(url))).toEqual([422, 'config.url not_allowed']);
    }
    const fitting = ['http://127.0.0.1:8081/{{id}}', 'http://127.0.0.1:{{port}}/'];
    for (const url of [...fitting, 'https://a.hooks.example/']) {
      expect((await make(url)).status).toBe(201);
    }
    await put('PORT', { hosts: null });
    expect((await make('http://127.0.0.1:8082/')).status).toBe(201);
  });

  it('may leave its host to the request, and go anywhere with a secret that is free', async () => {
    await put('CRM', { hosts: ['crm.example'] });
    await put('FREE');
    const { id } = await shop.createWorkflow();
    for (const config of [
      { url: 'https://{{shop}}/', body: '{{secret.CRM}}' },
      { url: 'https://evil.example/', body: '{{secret.FREE}} secret.CRM' },
      { url: 'https://evil.example/', body: '{{secret.UNKNOWN}}' },
    ]) {
      const { status } = await call('POST', `/workflows/${id}/steps`, stepOf(config));
      expect(status).toBe(201);
    }
  });
});

describe('an event subscription with a bound secret', () => {
  const path = '/event-subscriptions';
  const headers = { 'X-A': '{{secret.HOOK}}', 'X-B': 'plain', 'x-c': 'b {{ secret.HOOK }}' };
  const refused = ['headers.X-A not_allowed', 'headers.x-c not_allowed'];
  const there = 'https://hooks.example/in';
  const elsewhere = 'https://evil.example/in';

  it('is refused with another host, also when the address or the headers change', async () => {
    await put('HOOK', { hosts: ['hooks.example'] });
    const made = await call('POST', path, { url: elsewhere, events: ['a'], headers });
    expect([made.status, ...errorFields(made.body)]).toEqual([422, ...refused]);
    expect((await call('GET', path)).body).toEqual([]);
    const { body } = await call('POST', path, { url: there, events: ['a'], headers });
    const moved = await call('PATCH', `${path}/${body.id}`, { url: elsewhere });
    expect([moved.status, ...errorFields(moved.body)]).toEqual([422, ...refused]);
    expect((await call('GET', `${path}/${body.id}`)).body.url).toBe(there);
    const bare = await call('PATCH', `${path}/${body.id}`, { url: elsewhere, headers: null });
    expect(bare.status).toBe(200);
    const filled = await call('PATCH', `${path}/${body.id}`, { headers });
    expect([filled.status, ...errorFields(filled.body)]).toEqual([422, ...refused]);
    expect((await call('PATCH', `${path}/${body.id}`, { url: there, headers })).status).toBe(200);
    await put('HOOK', { hosts: ['other.example'] });
    expect((await call('PATCH', `${path}/${body.id}`, { paused: true })).status).toBe(200);
  });
});
