import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newAddress, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();
const { call, api, project } = shop;

const created = async (path: string, body: object) => {
  const answer = await call('POST', path, body);
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.data ?? answer.body;
};
const createTopic = async (more: object = {}): Promise<{ id: string; key: string }> =>
  created('/topics', {
    key: `t${randomUUID()}`.replaceAll('-', '').slice(0, 40),
    name: 'News',
    default: 'unsubscribed',
    visibility: 'public',
    ...more,
  });
const template = (more: object = {}) => ({
  name: 'T',
  subject: 'Hi',
  body: '<p>Hi</p>',
  type: 'MARKETING',
  from: `team@${shop.domain}`,
  ...more,
});
const campaign = (more: object = {}) => ({
  name: 'C',
  subject: 'Hi',
  body: '<p>Hi</p>',
  from: `team@${shop.domain}`,
  audienceType: 'ALL',
  ...more,
});
const faultOf = ({ status, body }: Awaited<ReturnType<typeof call>>) => {
  const [{ field, code }] = body.error.errors;
  return [status, field, code];
};
const codeOf = ({ status, body }: Awaited<ReturnType<typeof call>>) => [status, body.error.code];

describe('the topic of a template', () => {
  it('is of marketing mail alone, also after a change', async () => {
    const { id: topicId } = await createTopic();
    const refused = [422, 'topicId', 'not_allowed'];
    const transactional = template({ topicId, type: 'TRANSACTIONAL' });
    expect(faultOf(await call('POST', '/templates', transactional))).toEqual(refused);
    const unknown = template({ topicId: randomUUID() });
    expect(codeOf(await call('POST', '/templates', unknown))).toEqual([404, 'TOPIC_NOT_FOUND']);
    const { id, topicId: stored } = await created('/templates', template({ topicId }));
    expect(stored).toBe(topicId);
    const path = `/templates/${id}`;
    expect(faultOf(await call('PATCH', path, { type: 'HEADLESS' }))).toEqual(refused);
    expect((await call('PATCH', path, { name: 'N' })).body.topicId).toBe(topicId);
    expect((await call('POST', `${path}/duplicate`)).body.topicId).toBe(topicId);
    const none = await call('PATCH', path, { type: 'HEADLESS', topicId: null });
    expect([none.status, 'topicId' in none.body]).toEqual([200, false]);
  });

  it('is absent where there is none', async () => {
    for (const made of [
      await created('/templates', template()),
      await created('/campaigns', campaign()),
      await created('/contacts', { email: newAddress() }),
    ]) {
      expect(Object.keys(made)).not.toContain('topicId');
      expect(Object.keys(made)).not.toContain('consent');
    }
  });
});

describe('the topic of a campaign', () => {
  it('is that of its template unless it says otherwise, and is locked like the audience', async () => {
    const [one, other] = [await createTopic(), await createTopic()];
    const { id: templateId } = await created('/templates', template({ topicId: one.id }));
    const made = async (more: object) => created('/campaigns', campaign({ templateId, ...more }));
    expect((await made({})).topicId).toBe(one.id);
    expect((await made({ topicId: null })).topicId).toBeUndefined();
    expect((await made({ messageType: 'TRANSACTIONAL' })).topicId).toBeUndefined();
    const { id, topicId } = await made({ topicId: other.id });
    expect(topicId).toBe(other.id);
    const path = `/campaigns/${id}`;
    const refused = await call('PUT', path, { messageType: 'TRANSACTIONAL' });
    expect(faultOf(refused)).toEqual([422, 'topicId', 'not_allowed']);
    const unknown = await call('PUT', path, { topicId: randomUUID() });
    expect(codeOf(unknown)).toEqual([404, 'TOPIC_NOT_FOUND']);
    expect((await call('POST', `${path}/duplicate`)).body.data.topicId).toBe(other.id);
    const ada = await created('/contacts', { email: newAddress(), topics: [other.key] });
    expect(ada.subscribed).toBe(true);
    const scheduledFor = new Date(Date.now() + 86_400_000).toISOString();
    const scheduled = await call('POST', `${path}/send`, { scheduledFor });
    expect([scheduled.status, scheduled.body.data.totalRecipients]).toEqual([200, 1]);
    const locked = await call('PUT', path, { topicId: one.id });
    expect(codeOf(locked)).toEqual([400, 'CAMPAIGN_SEGMENT_LOCKED']);
    expect((await call('PUT', path, { topicId: other.id })).status).toBe(200);
  });
});

describe('a topic in use', () => {
  it('is not deleted: details lists who uses it', async () => {
    const { id: topicId } = await createTopic();
    const made = await created('/templates', template({ topicId }));
    const draft = await created('/campaigns', campaign({ topicId }));
    const workflow = await created('/workflows', { name: 'W', eventName: 'started' });
    const step = await created(`/workflows/${workflow.id}/steps`, {
      type: 'SEND_EMAIL',
      name: 'Mail',
      config: { topicId },
      templateId: made.id,
    });
    const { status, body } = await call('DELETE', `/topics/${topicId}`);
    expect([status, body.error.code, body.error.details]).toEqual([
      409,
      'TOPIC_IN_USE',
      {
        templates: [{ id: made.id, name: 'T' }],
        campaigns: [{ id: draft.id, name: 'C', status: 'DRAFT' }],
        workflowSteps: [{ id: step.id, name: 'Mail', workflowId: workflow.id, workflowName: 'W' }],
      },
    ]);
    await call('DELETE', `/campaigns/${draft.id}`);
    await call('DELETE', `/workflows/${workflow.id}`);
    await call('PATCH', `/templates/${made.id}`, { topicId: null });
    expect((await call('DELETE', `/topics/${topicId}`)).status).toBe(204);
  });

  it('is that of no step when it is unknown, and prevents enabling with other mail', async () => {
    const { id: topicId } = await createTopic();
    const workflow = await created('/workflows', { name: 'W', eventName: 'started' });
    const path = `/workflows/${workflow.id}/steps`;
    const { id: templateId } = await created('/templates', template({ type: 'TRANSACTIONAL' }));
    const step = { type: 'SEND_EMAIL', name: 'Mail', templateId };
    const unknown = await call('POST', path, { ...step, config: { topicId: randomUUID() } });
    expect(codeOf(unknown)).toEqual([404, 'TOPIC_NOT_FOUND']);
    const { id } = await created(path, { ...step, config: { topicId } });
    const changed = await call('PATCH', `${path}/${id}`, { config: { topicId: randomUUID() } });
    expect(codeOf(changed)).toEqual([404, 'TOPIC_NOT_FOUND']);
    const enabled = await call('PATCH', `/workflows/${workflow.id}`, { enabled: true });
    expect(codeOf(enabled)).toEqual([422, 'WORKFLOW_INVALID']);
    expect(faultOf(enabled)[1]).toBe(`steps.${id}`);
  });
});

describe('topics of a request', () => {
  const topicsOf = async (email: string) => {
    const { id } = (await shop.contact(email))!;
    const { body } = await call('GET', `/contacts/${id}/topics`);
    return new Map(
      body.map(({ key, subscribed }: { key: string; subscribed: boolean }) => [key, subscribed]),
    );
  };

  it('are joined with POST /contacts and track, with the proof in the log', async () => {
    const [one, other] = [await createTopic(), await createTopic({ visibility: 'private' })];
    const email = newAddress();
    const proof = { text: 'Yes, send me news.', ip: '203.0.113.9', userAgent: 'App' };
    const { id } = await created('/contacts', { email, topics: [one.key], proof });
    await shop.track({ email, topics: [other.key, one.key] });
    const topics = await topicsOf(email);
    expect([topics.get(one.key), topics.get(other.key)]).toEqual([true, true]);
    expect((await shop.eventsOf(email)).map(({ name }) => name)).toEqual([
      'contact.topic.subscribed',
      'clicked',
    ]);
    const { body: log } = await call('GET', `/contacts/${id}/consent`);
    const said = { action: 'granted', source: 'api', actor: 'sk', ...proof };
    const silent = { action: 'granted', text: null, ip: null, userAgent: null };
    expect(log).toMatchObject([
      { ...said, topic: null },
      { ...said, topic: one.key },
      { ...silent, topic: other.key },
    ]);
  });

  it('of a public key are public ones, and never undo what the contact has left', async () => {
    const [one, hidden] = [await createTopic(), await createTopic({ visibility: 'private' })];
    const email = newAddress();
    const track = (topics: string[], more: object = {}) =>
      api.request('POST', '/v1/track', {
        key: project.publicKey,
        body: { email, event: 'clicked', topics, ...more },
      });
    expect(faultOf(await track([hidden.key]))).toEqual([422, 'topics.0', 'not_found']);
    expect(faultOf(await track([one.key, 'nope']))).toEqual([422, 'topics.1', 'not_found']);
    expect(await shop.contact(email)).toBeUndefined();
    const proof = { text: 'T', ip: '203.0.113.9' };
    expect((await track([one.key], { proof })).status).toBe(200);
    expect((await topicsOf(email)).get(one.key)).toBe(true);
    const { id } = (await shop.contact(email))!;
    const { body: log } = await call('GET', `/contacts/${id}/consent`);
    expect(log[1]).toMatchObject({ topic: one.key, actor: 'pk', text: 'T' });
    expect(log[1].ip).toContain('127.0.0.1');
    await call('PUT', `/contacts/${id}/topics`, { topics: { [one.key]: false } });
    await track([one.key]);
    expect((await topicsOf(email)).get(one.key)).toBe(false);
    await shop.track({ email, topics: [one.key] });
    expect((await topicsOf(email)).get(one.key)).toBe(true);
  });
});
