import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { useApi } from '../../support/api.ts';

const api = await useApi();

interface Shop {
  id: string;
  cookie: string;
  call: (method: string, path: string, body?: unknown) => ReturnType<typeof api.request>;
}

let shop: Shop;

async function openShop(): Promise<Shop> {
  const { cookie } = await api.signUp();
  const { id, secretKey } = await api.createProject(cookie, 'Shop');
  const call: Shop['call'] = (method, path, body) =>
    api.request(method, path, { key: secretKey, ...(body === undefined ? {} : { body }) });
  return { id, cookie, call };
}

/** Sends a request that must succeed. Returns the id of what it made. */
async function make(path: string, body: object, { call } = shop): Promise<string> {
  const answer = await call('POST', path, body);
  expect([answer.status, answer.body.error]).toEqual([201, undefined]);
  return answer.body.id;
}

async function files(query = '', { call } = shop) {
  const { status, body } = await call('GET', `/files${query}`);
  expect([status, body.error]).toEqual([200, undefined]);
  return body;
}

const template = (more: object = {}) => ({
  name: 'Welcome',
  subject: 'Hi',
  body: '<p>Hi {{name}}</p>\n---\n${NOT_A_VARIABLE}',
  type: 'HEADLESS',
  ...more,
});

/** The condition that a contact is in a segment, and has opened mail of a template. */
const conditionOn = (segment: string, mail: string) => ({
  logic: 'AND',
  groups: [
    {
      filters: [
        { field: `segment.${segment}`, operator: 'memberOfSegment' },
        { field: `template.${mail}.opened`, operator: 'triggered' },
      ],
    },
  ],
});

beforeEach(async () => {
  shop = await openShop();
});

describe('the files of a project', () => {
  it('name each other by keys, without any id', async () => {
    const topicId = await make('/topics', { key: 'news', name: 'News', default: 'unsubscribed' });
    const segmentId = await make('/segments', {
      name: 'Pro users',
      type: 'DYNAMIC',
      condition: {
        logic: 'AND',
        groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }],
      },
    });
    const templateId = await make('/templates', template({ type: 'MARKETING', topicId }));
    const workflowId = await make('/workflows', {
      name: 'Weekly',
      graph: {
        trigger: {
          type: 'SCHEDULE',
          config: { cron: '0 9 * * mon', timeZone: 'Europe/Berlin', segmentId },
        },
        steps: [
          { type: 'TRIGGER' },
          { key: 'mail', type: 'SEND_EMAIL', name: 'Mail', templateId, config: { topicId } },
          {
            key: 'opened',
            type: 'CONDITION',
            name: 'Opened?',
            config: {
              mode: 'filter',
              branches: [{ id: 'yes', name: 'Yes', filter: conditionOn(segmentId, templateId) }],
            },
          },
        ],
        transitions: [
          { from: 'trigger', to: 'mail' },
          { from: 'mail', to: 'opened' },
        ],
      },
    });
    const set = await files();
    expect(set.project).toEqual({ id: shop.id, name: 'Shop' });
    expect(set.objects).toEqual([
      {
        kind: 'workflow',
        key: 'weekly',
        id: workflowId,
        name: 'Weekly',
        path: 'workflows/weekly.yaml',
      },
      {
        kind: 'template',
        key: 'welcome',
        id: templateId,
        name: 'Welcome',
        path: 'templates/welcome.html',
      },
      {
        kind: 'segment',
        key: 'pro-users',
        id: segmentId,
        name: 'Pro users',
        path: 'segments/pro-users.yaml',
      },
      { kind: 'topic', key: 'news', id: topicId, name: 'News', path: 'topics/news.yaml' },
    ]);
    expect(Object.keys(set.files)).toEqual(set.objects.map(({ path }: { path: string }) => path));
    expect(Object.values(set.files).join('\n')).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/);
    expect(set.files['templates/welcome.html']).toBe(
      '---\nname: Welcome\nsubject: Hi\ntype: MARKETING\ntopic: news\n---\n<p>Hi {{name}}</p>\n---\n${NOT_A_VARIABLE}',
    );
    expect(parse(set.files['workflows/weekly.yaml'])).toEqual({
      name: 'Weekly',
      enabled: false,
      trigger: {
        type: 'SCHEDULE',
        config: { cron: '0 9 * * mon', timeZone: 'Europe/Berlin', segment: 'pro-users' },
      },
      steps: [
        {
          key: 'mail',
          type: 'SEND_EMAIL',
          name: 'Mail',
          template: 'welcome',
          config: { topic: 'news' },
          position: { x: 100, y: 220 },
        },
        {
          key: 'opened',
          type: 'CONDITION',
          name: 'Opened?',
          config: {
            mode: 'filter',
            branches: [{ id: 'yes', name: 'Yes', filter: conditionOn('pro-users', 'welcome') }],
          },
          position: { x: 100, y: 340 },
        },
      ],
      transitions: [
        { from: 'trigger', to: 'mail' },
        { from: 'mail', to: 'opened' },
      ],
    });
    expect((await files()).files).toEqual(set.files);
  });

  it('have keys from names, which stay when the names change', async () => {
    const names = ['Wélcome Mail!', 'Wélcome Mail!', '日本', 'welcome mail 2'];
    const ids: string[] = [];
    for (const name of names) ids.push(await make('/templates', template({ name })));
    const keysById = async () =>
      Object.fromEntries(
        (await files()).objects.map((one: { id: string; key: string }) => [one.id, one.key]),
      );
    const keys = await keysById();
    expect(ids.map((id) => keys[id])).toEqual([
      'welcome-mail',
      'welcome-mail-2',
      'template',
      'welcome-mail-2-2',
    ]);
    const renamed = await shop.call('PATCH', `/templates/${ids[0]}`, { name: 'Other' });
    expect(renamed.status).toBe(200);
    const copy = (await shop.call('POST', `/templates/${ids[0]}/duplicate`)).body.id as string;
    expect(await keysById()).toEqual({ ...keys, [copy]: 'other-copy' });
  });

  it('are the same when two requests make the keys', async () => {
    for (let index = 0; index < 20; index += 1) await make('/templates', template());
    const sets = await Promise.all([files(), files(), files(), files()]);
    for (const set of sets) expect(set.files).toEqual(sets[0].files);
    expect(Object.keys(sets[0].files)).toHaveLength(20);
  });

  it('do not change the entity tag of an object', async () => {
    const id = await make('/templates', template());
    const before = await shop.call('GET', `/templates/${id}`);
    await files();
    const after = await shop.call('GET', `/templates/${id}`);
    expect(after.headers.get('etag')).toBe(before.headers.get('etag'));
    expect(after.body).toEqual(before.body);
  });

  it('can be chosen by patterns, and written as JSON', async () => {
    await make('/templates', template({ name: 'shop one' }));
    await make('/templates', template({ name: 'other' }));
    await make('/segments', { name: 'Friends', type: 'STATIC' });
    const paths = async (query: string) => Object.keys((await files(query)).files);
    expect(await paths('?only=template/*')).toEqual([
      'templates/other.html',
      'templates/shop-one.html',
    ]);
    expect(await paths('?only=template/shop-*,segment/friends')).toEqual([
      'templates/shop-one.html',
      'segments/friends.yaml',
    ]);
    const { files: inJson } = await files('?only=segment/*&format=json');
    expect(inJson).toEqual({
      'segments/friends.json': '{\n  "name": "Friends",\n  "type": "STATIC"\n}\n',
    });
  });

  it('refuse patterns that are none', async () => {
    for (const only of ['template', 'nothing/*', 'template/', 'template/a*b', 'template/A']) {
      const { status, body } = await shop.call('GET', `/files?only=${encodeURIComponent(only)}`);
      expect([status, body.error?.errors?.[0]]).toMatchObject([
        422,
        { field: 'only', code: 'invalid_string' },
      ]);
    }
  });

  it('hide the values of headers, but not the names of secrets', async () => {
    await shop.call('PUT', '/secrets/CRM', { value: 'hush' });
    await make('/event-subscriptions', {
      url: 'https://hooks.shop.example:8443/in?x=1',
      events: ['email.*'],
      headers: { 'X-Plain': 'hush', Authorization: 'Bearer {{secret.CRM}}' },
    });
    const headers = { Cookie: 'hush', Authorization: 'Bearer {{secret.CRM}}' };
    const webhook = { type: 'WEBHOOK', key: 'crm', name: 'CRM' };
    await make('/workflows', {
      name: 'Sync',
      graph: {
        steps: [
          { type: 'TRIGGER' },
          { ...webhook, config: { url: 'https://crm.shop.example', headers } },
        ],
        transitions: [],
      },
    });
    const { files: set, objects } = await files();
    expect(parse(set['workflows/sync.yaml']).steps[0].config.headers).toEqual({
      Cookie: '•••',
      Authorization: 'Bearer {{secret.CRM}}',
    });
    expect(objects.slice(1)).toMatchObject([
      { key: 'hooks-shop-example', name: 'hooks.shop.example' },
    ]);
    expect(parse(set['subscriptions/hooks-shop-example.yaml'])).toEqual({
      url: 'https://hooks.shop.example:8443/in?x=1',
      events: ['email.*'],
      headers: { 'X-Plain': '•••', Authorization: 'Bearer {{secret.CRM}}' },
      enabled: true,
    });
  });

  it('include policies once they were set, and write ${ so that it is no variable', async () => {
    expect((await files()).objects).toEqual([]);
    await shop.call('PUT', '/send-policy', { timeZone: 'Europe/Berlin' });
    await shop.call('PUT', '/consent-policy', { remindAfter: 3600 });
    await make('/segments', { name: 'Friends of ${US}', type: 'STATIC' });
    const { files: set, objects } = await files();
    expect(objects.slice(1)).toEqual([
      { kind: 'send-policy', key: 'send', id: null, name: 'send', path: 'policies/send.yaml' },
      {
        kind: 'consent-policy',
        key: 'consent',
        id: null,
        name: 'consent',
        path: 'policies/consent.yaml',
      },
    ]);
    expect(parse(set['policies/consent.yaml'])).toMatchObject({
      template: null,
      remindAfter: 3600,
    });
    expect(parse(set['segments/friends-of-us.yaml']).name).toBe('Friends of $${US}');
  });

  it('are for administrators, and never those of another project', async () => {
    await make('/templates', template());
    const member = await api.signUp();
    await api.db
      .insertInto('membership')
      .values({ project_id: shop.id, user_id: member.userId, role: 'MEMBER' })
      .execute();
    const asMember = { cookie: member.cookie, headers: { 'X-Project-Id': shop.id } };
    expect(await api.request('GET', '/files', asMember)).toMatchObject({
      status: 403,
      body: { error: { code: 'INSUFFICIENT_ROLE' } },
    });
    const other = await openShop();
    expect((await files('', other)).objects).toEqual([]);
  });

  it('are limited to 500 objects at once', async () => {
    await api.db
      .insertInto('segment')
      .values(
        Array.from({ length: 501 }, (_, index) => ({
          project_id: shop.id,
          name: `S ${index}`,
          type: 'STATIC' as const,
        })),
      )
      .execute();
    const { status, body } = await shop.call('GET', '/files');
    expect([status, body.error.errors[0]]).toMatchObject([422, { field: 'only', code: 'too_big' }]);
    expect(Object.keys((await files('?only=segment/s-1*')).files)).toHaveLength(111);
  });
});
