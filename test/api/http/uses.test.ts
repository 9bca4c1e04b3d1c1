import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { useShop } from '../../support/projects/shop.ts';

/** Lists of usages have 100 of each kind, and the number of others. */

const shop = await useShop();
const { db } = shop.api;
const projectId = shop.project.id;
const made = async (path: string, body: object) => (await shop.call('POST', path, body)).body;

const template = await shop.createTemplate();
const topic = await made('/topics', { key: 'news', name: 'News', default: 'subscribed' });
const workflow = await made('/workflows', { name: 'W', eventName: 'go' });
const filter = (field: string, operator: string) => ({ field, operator });
const named = await made('/segments', { name: 'Named', type: 'STATIC' });
const condition = {
  logic: 'AND',
  groups: [
    {
      filters: [
        { ...filter('data.plan', 'equals'), value: 'pro' },
        filter('event.bought', 'triggered'),
        filter(`segment.${named.id}`, 'memberOfSegment'),
      ],
    },
  ],
};
await shop.call('PUT', '/secrets/TOKEN', { value: 'x' });
await sql`
  insert into segment (project_id, name, type, condition)
    select ${projectId}, 'S' || n, 'DYNAMIC', ${JSON.stringify(condition)}::jsonb
      from generate_series(1, 103) n`.execute(db);
await sql`
  insert into template (project_id, name, subject, body, type, topic_id, from_email)
    select ${projectId}, 'T' || n, 'S', 'B', 'MARKETING', ${topic.id}, ${`a@${shop.domain}`}
      from generate_series(1, 103) n`.execute(db);
for (const [type, config, templateId] of [
  ['SEND_EMAIL', {}, template],
  ['WEBHOOK', { url: 'https://shop.test/', headers: { key: '{{secret.TOKEN}}' } }, null],
]) {
  await sql`
    insert into workflow_step (project_id, workflow_id, type, key, name, position_x, position_y,
        config, template_id)
      select ${projectId}, ${workflow.id}, ${type}, ${type} || n, 'Step ' || n, 0, 0,
          ${JSON.stringify(config)}::jsonb, ${templateId}::uuid
        from generate_series(1, 103) n`.execute(db);
}
const domain = (await shop.call('GET', '/domains')).body[0].id as string;

it.each([
  ['GET', '/contacts/fields/data.plan/usage', 'usedInSegments'],
  ['DELETE', '/contacts/fields/data.plan', 'usedInSegments'],
  ['GET', '/events/bought/usage', 'usedInSegments'],
  ['DELETE', '/events/bought', 'usedInSegments'],
  ['DELETE', `/segments/${named.id}`, 'segments'],
  ['GET', `/templates/${template}/usage`, 'workflowSteps'],
  ['DELETE', `/templates/${template}`, 'workflowSteps'],
  ['DELETE', `/topics/${topic.id}`, 'templates'],
  ['DELETE', '/secrets/TOKEN', 'usedIn'],
  ['DELETE', `/domains/${domain}`, 'templates'],
])('%s %s lists 100 of %s, and says how many more there are', async (method, path, name) => {
  const { status, body } = await shop.call(method, path);
  expect(status).toBe(method === 'GET' ? 200 : 409);
  const answer = method === 'GET' ? body : body.error.details;
  expect(answer[name]).toHaveLength(100);
  // The template of the shop uses the domain, too.
  expect(answer.more).toEqual({ [name]: path.startsWith('/domains') ? 4 : 3 });
});

it('GET /secrets says so, too', async () => {
  const { body } = await shop.call('GET', '/secrets');
  expect([body[0].usedIn.length, body[0].more]).toEqual([100, { usedIn: 3 }]);
});
