import { describe, expect, it } from 'vitest';
import { recordProviderFailures } from '../../../db/delivery/provider-circuit.ts';
import { errorFields, useWorkflowApi } from '../../support/projects/workflow-api.ts';

const shop = await useWorkflowApi();

/** A project with two providers, and requests with its secret key. */
async function newProject() {
  const { secretKey } = await shop.api.createProject(shop.cookie);
  const call = (method: string, path: string, body?: object) =>
    shop.call(method, path, body, secretKey);
  const add = async (name: string, more: object = {}) => {
    const given = { name, kind: 'smtp', host: 'smtp.mail.example', ...more };
    const { body } = await call('POST', '/providers', given);
    return body.id as string;
  };
  const preview = async (more: object = {}) => {
    const mail = { from: 'a@shop.example', to: 'ada@gmail.com', messageClass: 'MARKETING' };
    const { body } = await call('POST', '/routing/preview', { ...mail, ...more });
    return body;
  };
  return {
    secretKey,
    call,
    add,
    preview,
    put: (routes: object[]) => call('PUT', '/routing', { routes }),
  };
}

const to = (...ids: string[]) => ({ match: {}, providers: ids.map((id) => ({ id })) });

describe('the routes of a project', () => {
  it('are none until they are set', async () => {
    const { call } = await newProject();
    const { status, body } = await call('GET', '/routing');
    expect([status, body]).toEqual([200, { routes: [], updatedAt: null }]);
  });

  it('are replaced as a whole, and answered with their defaults and in lower case', async () => {
    const { call, add, put } = await newProject();
    const id = await add('A');
    const topic = await call('POST', '/topics', {
      key: 'news',
      name: 'News',
      default: 'subscribed',
    });
    const match = {
      messageClass: ['MARKETING'],
      domains: ['News.Shop.Example'],
      topicIds: [topic.body.id.toUpperCase()],
      receivers: ['GMAIL.com', '*.EDU'],
    };
    const set = await put([
      {
        match,
        providers: [{ id: id.toUpperCase(), weight: 9 }, { id: 'default' }],
        onDown: 'next',
      },
      to(id),
    ]);
    expect([set.status, set.body]).toEqual([
      200,
      {
        routes: [
          {
            match: {
              messageClass: ['MARKETING'],
              domains: ['news.shop.example'],
              topicIds: [topic.body.id],
              receivers: ['gmail.com', '*.edu'],
            },
            providers: [
              { id, weight: 9 },
              { id: 'default', weight: 1 },
            ],
            onDown: 'next',
          },
          { match: {}, providers: [{ id, weight: 1 }], onDown: 'hold' },
        ],
        updatedAt: expect.any(String),
      },
    ]);
    expect((await call('GET', '/routing')).body).toEqual(set.body);
    expect((await put([])).body).toMatchObject({ routes: [] });
  });

  it('report all problems of a request at once', async () => {
    const { put } = await newProject();
    const unknown = '90000000-0000-4000-8000-000000000009';
    const { status, body } = await put([to('default', unknown), to('backup')]);
    expect([status, errorFields(body)]).toEqual([
      422,
      ['routes.0.providers.1.id not_found', 'routes.1.providers.0.id not_found'],
    ]);
  });

  it.each([
    [{ providers: [] }, 'providers too_small'],
    [{ providers: [{ id: 'default' }, { id: 'default' }] }, 'providers custom'],
    [{ providers: [{ id: 'default', weight: 1001 }] }, 'providers.0.weight too_big'],
    [{ providers: [{ id: 'default', weight: 0.5 }] }, 'providers.0.weight invalid_type'],
    [{ onDown: 'wait' }, 'onDown invalid_enum_value'],
    [{ match: { messageClass: [] } }, 'match.messageClass too_small'],
    [{ match: { messageClass: ['NEWS'] } }, 'match.messageClass.0 invalid_enum_value'],
    [{ match: { domains: ['a b'] } }, 'match.domains.0 invalid_string'],
    [{ match: { receivers: ['*edu'] } }, 'match.receivers.0 invalid_string'],
    [{ match: { receivers: ['*.a*.edu'] } }, 'match.receivers.0 invalid_string'],
    [{ match: { topicIds: ['news'] } }, 'match.topicIds.0 invalid_string'],
  ])('refuse %j', async (fault, field) => {
    const { put } = await newProject();
    const { status, body } = await put([{ ...to('default'), ...fault }]);
    expect([status, errorFields(body)]).toEqual([422, [`routes.0.${field}`]]);
  });

  it('refuse more than 50', async () => {
    const { put } = await newProject();
    const { status, body } = await put(Array.from({ length: 51 }, () => to('default')));
    expect([status, errorFields(body)]).toEqual([422, ['routes too_big']]);
  });

  it('name only topics and providers of their project', async () => {
    const [one, other] = [await newProject(), await newProject()];
    const foreign = await other.add('Theirs');
    const { body: topic } = await other.call('POST', '/topics', {
      key: 'news',
      name: 'News',
      default: 'subscribed',
    });
    expect(errorFields((await one.put([to(foreign)])).body)).toEqual([
      'routes.0.providers.0.id not_found',
    ]);
    const { status, body } = await one.put([{ ...to('default'), match: { topicIds: [topic.id] } }]);
    expect([status, body.error.code]).toEqual([404, 'TOPIC_NOT_FOUND']);
    await other.put([to(foreign)]);
    expect((await one.call('GET', '/routing')).body.routes).toEqual([]);
  });

  it('keep their providers from being deleted', async () => {
    const { call, add, put } = await newProject();
    const id = await add('A');
    await put([to(id), { ...to('default', id), match: { receivers: ['*.edu'] } }]);
    const refused = await call('DELETE', `/providers/${id}`);
    expect([refused.status, refused.body.error.code]).toEqual([409, 'PROVIDER_IN_USE']);
    expect(refused.body.error.details).toMatchObject({ routes: 2, sending: 0, unknown: 0 });
    await put([]);
    expect((await call('DELETE', `/providers/${id}`)).status).toBe(204);
  });

  it('are seen by every member, and set by administrators', async () => {
    const member = await shop.api.signUp();
    await shop.api.db
      .insertInto('membership')
      .values({ project_id: shop.projectId, user_id: member.userId, role: 'MEMBER' })
      .execute();
    const as = (cookie: string, method: string) =>
      shop.api.request(method, '/routing', {
        cookie,
        headers: { 'X-Project-Id': shop.projectId },
        ...(method === 'PUT' && { body: { routes: [] } }),
      });
    const refused = await as(member.cookie, 'PUT');
    expect([refused.status, refused.body.error.code]).toEqual([403, 'INSUFFICIENT_ROLE']);
    expect((await as(member.cookie, 'GET')).status).toBe(200);
    expect((await as(shop.cookie, 'PUT')).status).toBe(200);
  });
});

describe('the preview', () => {
  it('shows the default provider without routes', async () => {
    const { preview } = await newProject();
    expect(await preview()).toEqual({
      route: null,
      candidates: [{ providerId: 'default', weight: 1, usable: true, reason: null }],
    });
  });

  it('shows the first route that matches, in the order in which most mail tries it', async () => {
    const { add, put, preview } = await newProject();
    const [a, b] = [await add('A'), await add('B', { domains: ['other.example'] })];
    const providers = [
      { id: b, weight: 0 },
      { id: 'default', weight: 1 },
      { id: a, weight: 5 },
    ];
    await put([
      { ...to(a), match: { messageClass: ['TRANSACTIONAL'] } },
      { match: {}, providers },
    ]);
    expect(await preview()).toEqual({
      route: 1,
      candidates: [
        { providerId: a, weight: 5, usable: true, reason: null },
        { providerId: b, weight: 0, usable: false, reason: 'domain_not_allowed' },
        { providerId: 'default', weight: 1, usable: true, reason: null },
      ],
    });
    expect(await preview({ messageClass: 'TRANSACTIONAL' })).toMatchObject({ route: 0 });
  });

  it('says which providers are disabled or down', async () => {
    const { call, add, put, preview } = await newProject();
    const [a, b] = [await add('A'), await add('B')];
    await put([to(a, b)]);
    await call('PATCH', `/providers/${a}`, { enabled: false });
    const failures = { count: 3, isProbe: false, hasAccepted: false };
    await recordProviderFailures(shop.api.db, `provider ${b}`, failures);
    const { candidates } = await preview();
    expect(candidates.map((each: { reason: string }) => each.reason)).toEqual(['disabled', 'down']);
  });

  it('refuses what is no mail', async () => {
    const { call } = await newProject();
    const { status, body } = await call('POST', '/routing/preview', {
      from: 'x',
      to: 'a@b.example',
    });
    expect([status, errorFields(body)]).toEqual([
      422,
      ['from invalid_string', 'messageClass invalid_type'],
    ]);
  });
});
