import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { errorFields, useWorkflowApi } from '../../support/projects/workflow-api.ts';

const shop = await useWorkflowApi();

const put = (body: object, as?: string) => shop.call('PUT', '/holdout', body, as);
const get = async (as?: string) => (await shop.call('GET', '/holdout', undefined, as)).body;
const none = { percent: 0, salt: null, scope: 'marketing', endsAt: null, updatedAt: null };
const newTopic = async (as?: string) => {
  const topic = { key: `t${randomUUID().slice(0, 8)}`, name: 'News', default: 'subscribed' };
  return (await shop.call('POST', '/topics', { ...topic, visibility: 'public' }, as)).body.id;
};

it('holds out no contact until it is set, and keeps what a request leaves out', async () => {
  const { secretKey } = await shop.api.createProject(shop.cookie);
  expect(await get(secretKey)).toEqual(none);
  const set = await put({ percent: 12.34 }, secretKey);
  expect([set.status, set.body]).toEqual([
    200,
    {
      ...none,
      percent: 12.34,
      salt: expect.stringMatching(/^.{32}$/),
      updatedAt: expect.any(String),
    },
  ]);
  const endsAt = new Date(Date.now() + 3_600_000).toISOString();
  const { body } = await put({ endsAt }, secretKey);
  expect(body).toMatchObject({ percent: 12.34, salt: set.body.salt, endsAt });
  expect(await get(secretKey)).toEqual(body);
  expect((await put({ salt: 'x', endsAt: null }, secretKey)).body).toMatchObject({
    percent: 12.34,
    salt: 'x',
    endsAt: null,
  });
});

it('takes topics or workflows of the project as its scope, each once', async () => {
  const topicId = await newTopic();
  const { body: workflow } = await shop.call('POST', '/workflows', { name: 'Welcome' });
  const byTopic = await put({ scope: { topicIds: [topicId, topicId] } });
  expect([byTopic.status, byTopic.body.scope]).toEqual([200, { topicIds: [topicId] }]);
  const byWorkflow = await put({ scope: { workflowIds: [workflow.id] } });
  expect(byWorkflow.body.scope).toEqual({ workflowIds: [workflow.id] });
  expect((await put({ percent: 1 })).body.scope).toEqual({ workflowIds: [workflow.id] });
  expect((await put({ scope: 'marketing' })).body.scope).toBe('marketing');
});

it('refuses topics and workflows that the project does not have', async () => {
  const before = await get();
  const { secretKey } = await shop.api.createProject(shop.cookie);
  const foreign = await newTopic(secretKey);
  const { body: workflow } = await shop.call('POST', '/workflows', { name: 'Theirs' }, secretKey);
  const answers = [
    await put({ percent: 20, scope: { topicIds: [foreign] } }),
    await put({ percent: 20, scope: { workflowIds: [workflow.id] } }),
  ];
  expect(answers.map(({ status, body }) => [status, body.error.code])).toEqual([
    [404, 'TOPIC_NOT_FOUND'],
    [404, 'WORKFLOW_NOT_FOUND'],
  ]);
  expect(await get()).toEqual(before);
});

const ids = Array.from({ length: 101 }, () => randomUUID());

it.each([
  [{ percent: 21 }, ['percent too_big']],
  [{ percent: -1 }, ['percent too_small']],
  [{ percent: 1.234 }, ['percent custom']],
  [{ percent: '5' }, ['percent invalid_type']],
  [{ salt: '' }, ['salt too_small']],
  [{ salt: 'x'.repeat(65) }, ['salt too_big']],
  [{ salt: null }, ['salt invalid_type']],
  [{ scope: 'all' }, ['scope invalid_enum_value']],
  [{ scope: {} }, ['scope custom']],
  [{ scope: { topicIds: ids.slice(0, 1), workflowIds: ids.slice(0, 1) } }, ['scope custom']],
  [{ scope: { topicIds: [] } }, ['scope.topicIds too_small']],
  [{ scope: { topicIds: ids } }, ['scope.topicIds too_big']],
  [{ scope: { workflowIds: ['x'] } }, ['scope.workflowIds.0 invalid_string']],
  [{ endsAt: '2026-01-01T00:00:00Z' }, ['endsAt too_small']],
  [{ endsAt: 'soon' }, ['endsAt invalid_date']],
  [{ percent: 21, salt: '' }, ['percent too_big', 'salt too_small']],
])('refuses %j', async (body, faults) => {
  const { status, body: answer } = await put(body);
  expect([status, errorFields(answer)]).toEqual([422, faults]);
});

it('is seen by every member, set by administrators, and noted as a security event', async () => {
  const { id, secretKey } = await shop.api.createProject(shop.cookie);
  const member = await shop.api.signUp();
  await shop.api.db
    .insertInto('membership')
    .values({ project_id: id, user_id: member.userId, role: 'MEMBER' })
    .execute();
  const as = (cookie: string, method: string) =>
    shop.api.request(method, '/holdout', {
      cookie,
      headers: { 'X-Project-Id': id },
      ...(method === 'PUT' && { body: { percent: 5, salt: 's' } }),
    });
  const refused = await as(member.cookie, 'PUT');
  expect([refused.status, refused.body.error.code]).toEqual([403, 'INSUFFICIENT_ROLE']);
  expect((await as(member.cookie, 'GET')).status).toBe(200);
  expect((await as(shop.cookie, 'PUT')).status).toBe(200);
  const query = '/security-events?event=holdout.changed';
  const { body } = await shop.call('GET', query, undefined, secretKey);
  expect(body.data).toHaveLength(1);
  expect(body.data[0].changes).toEqual([
    { field: 'percent', before: 0, after: 5 },
    { field: 'salt', before: null, after: 's' },
  ]);
});

it('takes effect of both of two changes at once', async () => {
  const { secretKey } = await shop.api.createProject(shop.cookie);
  await Promise.all([put({ percent: 7 }, secretKey), put({ salt: 'both' }, secretKey)]);
  expect(await get(secretKey)).toMatchObject({ percent: 7, salt: 'both' });
});

it('is kept when the project is reset', async () => {
  const { id, secretKey } = await shop.api.createProject(shop.cookie);
  await put({ percent: 7, salt: 'kept' }, secretKey);
  const reset = await shop.api.request('POST', `/users/@me/projects/${id}/reset`, {
    cookie: shop.cookie,
    body: {},
  });
  expect(reset.status).toBe(200);
  expect(await get(secretKey)).toMatchObject({ percent: 7, salt: 'kept' });
});
