import { expect, it } from 'vitest';
import { errorFields, useWorkflowApi } from '../../support/projects/workflow-api.ts';

const shop = await useWorkflowApi();

const put = (body: object, as?: string) => shop.call('PUT', '/link-policy', body, as);
const get = async (as?: string) => (await shop.call('GET', '/link-policy', undefined, as)).body;
const none = { source: null, medium: null, campaign: null, term: null, content: null };

it('has no parameters until it is set', async () => {
  const { secretKey } = await shop.api.createProject(shop.cookie);
  expect(await get(secretKey)).toEqual({ utm: null, utmHosts: [], updatedAt: null });
});

it('keeps what a request leaves out', async () => {
  const set = await put({ utm: { source: 'news', campaign: '{campaign}{workflow}' } });
  expect([set.status, set.body]).toEqual([
    200,
    {
      utm: { ...none, source: 'news', campaign: '{campaign}{workflow}' },
      utmHosts: [],
      updatedAt: expect.any(String),
    },
  ]);
  const hosts = await put({ utmHosts: ['Shop.Test.', 'bücher.example'] });
  expect(hosts.body).toMatchObject({
    utm: { source: 'news' },
    utmHosts: ['shop.test', 'xn--bcher-kva.example'],
  });
  expect((await put({})).body).toEqual({ ...hosts.body, updatedAt: expect.any(String) });
  expect((await put({ utm: { medium: 'email' } })).body.utm).toEqual({ ...none, medium: 'email' });
  expect((await put({ utm: null })).body.utm).toBeNull();
  expect((await get()).utmHosts).toEqual(['shop.test', 'xn--bcher-kva.example']);
});

it.each([
  [{ utm: { source: '' } }, 'utm.source too_small'],
  [{ utm: { term: 'x'.repeat(101) } }, 'utm.term too_big'],
  [{ utm: { medium: 5 } }, 'utm.medium invalid_type'],
  [{ utm: { campaign: '{campagin}' } }, 'utm.campaign custom'],
  [{ utm: [] }, 'utm invalid_type'],
  [{ utmHosts: ['https://shop.test/'] }, 'utmHosts.0 invalid_string'],
  [{ utmHosts: Array.from({ length: 51 }, (_, at) => `h${at}.test`) }, 'utmHosts too_big'],
  [{ utmHosts: null }, 'utmHosts invalid_type'],
])('refuses %j', async (body, fault) => {
  const { status, body: answer } = await put(body);
  expect([status, errorFields(answer)]).toEqual([422, [fault]]);
});

it('is set by administrators and the secret key, and read by every member', async () => {
  const member = await shop.api.signUp();
  await shop.api.db
    .insertInto('membership')
    .values({ project_id: shop.projectId, user_id: member.userId, role: 'MEMBER' })
    .execute();
  const as = (cookie: string, method: string) =>
    shop.api.request(method, '/link-policy', {
      cookie,
      headers: { 'X-Project-Id': shop.projectId },
      ...(method === 'PUT' && { body: { utm: { source: 'ui' } } }),
    });
  expect((await as(member.cookie, 'GET')).status).toBe(200);
  expect((await as(member.cookie, 'PUT')).body.error.code).toBe('INSUFFICIENT_ROLE');
  expect((await as(shop.cookie, 'PUT')).status).toBe(200);
});

it('is in the security events when it changes', async () => {
  await put({ utm: { source: 'before' } });
  await put({ utm: { source: 'after' } });
  const { body } = await shop.call('GET', '/security-events?event=link_policy.changed&limit=1');
  expect(body.data[0]).toMatchObject({
    event: 'link_policy.changed',
    details: { fields: 'utm' },
    changes: [{ field: 'utm', before: { source: 'before' }, after: { source: 'after' } }],
  });
});

it('is of one project, and outlives its reset', async () => {
  const other = await shop.api.createProject(shop.cookie);
  await put({ utm: { source: 'mine' }, utmHosts: ['mine.test'] });
  expect(await get(other.secretKey)).toMatchObject({ utm: null, utmHosts: [] });
  await shop.api.request('PUT', '/link-policy', {
    key: other.secretKey,
    body: { utm: { source: 'theirs' }, utmHosts: ['theirs.test'] },
  });
  const before = await get(other.secretKey);
  const reset = await shop.api.request('POST', `/users/@me/projects/${other.id}/reset`, {
    cookie: shop.cookie,
    body: {},
  });
  expect(reset.status).toBe(200);
  expect(await get(other.secretKey)).toEqual(before);
});

it('has values of its own for a campaign, which a copy keeps', async () => {
  const domain = 'links-of-campaigns.test';
  await shop.call('POST', '/domains', { domain });
  const campaign = {
    name: 'Campaign',
    subject: 'S',
    body: 'B',
    from: `news@${domain}`,
    audienceType: 'ALL',
  };
  const made = await shop.call('POST', '/campaigns', {
    ...campaign,
    utm: { source: 'a', term: null },
  });
  expect([made.status, made.body.data.utm]).toEqual([201, { source: 'a', term: null }]);
  const path = `/campaigns/${made.body.data.id}`;
  const copy = await shop.call('POST', `${path}/duplicate`, {});
  expect(copy.body.data.utm).toEqual({ source: 'a', term: null });
  expect((await shop.call('PUT', path, { utm: { source: 'b' } })).body.data.utm).toEqual({
    source: 'b',
  });
  expect((await shop.call('PUT', path, { name: 'Other' })).body.data.utm).toEqual({ source: 'b' });
  expect((await shop.call('PUT', path, { utm: null })).body.data).not.toHaveProperty('utm');
  const refused = await shop.call('POST', '/campaigns', { ...campaign, utm: { source: '' } });
  expect([refused.status, errorFields(refused.body)]).toEqual([422, ['utm.source too_small']]);
});
