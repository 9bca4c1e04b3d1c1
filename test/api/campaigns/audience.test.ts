import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useShop } from '../../support/projects/shop.ts';

const shop = await useShop();

/** Makes a project with these contacts. */
async function withContacts(contacts: readonly object[]) {
  const { cookie } = await shop.api.signUp();
  const { id, secretKey } = await shop.api.createProject(cookie);
  const call = (method: string, path: string, body?: unknown) =>
    shop.api.request(method, path, { key: secretKey, body });
  const made: string[] = [];
  for (const contact of contacts) made.push((await call('POST', '/contacts', contact)).body.id);
  return { id, call, made, count: (body: object) => call('POST', '/campaigns/audience', body) };
}

const pro = { data: { plan: 'pro' } };
const isPro = {
  logic: 'AND',
  groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }],
};

describe('POST /campaigns/audience', () => {
  it('counts who would get it, who is left out and why, and whom the suppression list stops', async () => {
    const { call, made, count } = await withContacts([
      { email: 'a@x.test', ...pro },
      { email: 'b@x.test', ...pro },
      { email: 'c@x.test', ...pro, subscribed: false },
      { email: 'd@x.test', ...pro },
      { email: 'e@x.test' },
    ]);
    const topic = { key: 'news', name: 'News', default: 'subscribed' };
    const { body: news } = await call('POST', '/topics', topic);
    for (const id of [made[1], made[2]]) {
      expect(
        (await call('PUT', `/contacts/${id}/topics`, { topics: { news: false } })).status,
      ).toBe(200);
    }
    await call('POST', '/suppression-list', { emails: ['D@x.test', 'e@x.test'] });
    const of = async (body: object) => (await count(body)).body;
    expect(await of({ audienceType: 'ALL' })).toEqual({
      recipients: 4,
      leftOut: { unsubscribed: 1, topic_unsubscribed: 0 },
      suppressed: 2,
    });
    expect(
      await of({ audienceType: 'FILTERED', audienceCondition: isPro, topicId: news.id }),
    ).toEqual({
      recipients: 2,
      leftOut: { unsubscribed: 1, topic_unsubscribed: 1 },
      suppressed: 1,
    });
    expect(await of({ audienceType: 'ALL', messageType: 'TRANSACTIONAL' })).toMatchObject({
      recipients: 5,
      leftOut: { unsubscribed: 0, topic_unsubscribed: 0 },
    });
    const { body: segment } = await call('POST', '/segments', { name: 'Some', type: 'STATIC' });
    await call('POST', `/segments/${segment.id}/members`, { emails: ['a@x.test'] });
    expect(await of({ audienceType: 'SEGMENT', segmentId: segment.id })).toMatchObject({
      recipients: 1,
    });
  });

  it('counts what the campaign then has as its recipients', async () => {
    const { id, call, count } = await withContacts([
      { email: 'a@x.test', ...pro },
      { email: 'b@x.test', ...pro, subscribed: false },
    ]);
    const domain = `${randomUUID()}.test`;
    await call('POST', '/domains', { domain });
    expect(id).toBeTruthy();
    const audience = { audienceType: 'FILTERED', audienceFilter: isPro };
    const content = { name: 'N', subject: 'S', body: '<p>B</p>', from: `x@${domain}` };
    const { body } = await call('POST', '/campaigns', { ...content, ...audience });
    expect((await count(audience)).body.recipients).toBe(body.data.totalRecipients);
  });

  it('refuses what a campaign would refuse, all at once', async () => {
    const { count } = await withContacts([]);
    const errorsOf = async (body: object) => {
      const answer = await count(body);
      const errors = answer.body.error.errors ?? [];
      return [answer.status, ...errors.map(({ field }: { field: string }) => field)];
    };
    expect(await errorsOf({})).toEqual([422, 'audienceType']);
    expect(await errorsOf({ audienceType: 'SEGMENT' })).toEqual([422, 'segmentId']);
    expect(await errorsOf({ audienceType: 'FILTERED', topicId: 'x' })).toEqual([
      422,
      'topicId',
      'audienceFilter',
    ]);
    const topicId = randomUUID();
    expect(await errorsOf({ audienceType: 'ALL', topicId, messageType: 'TRANSACTIONAL' })).toEqual([
      422,
      'topicId',
    ]);
    expect(await errorsOf({ audienceType: 'ALL', topicId })).toEqual([404]);
    expect(await errorsOf({ audienceType: 'SEGMENT', segmentId: randomUUID() })).toEqual([404]);
  });

  it('counts no contacts of other projects, and knows none of their segments', async () => {
    await withContacts([{ email: 'a@x.test' }]);
    const { count } = await withContacts([]);
    expect((await count({ audienceType: 'ALL' })).body.recipients).toBe(0);
    const { body } = await shop.call('POST', '/segments', { name: 'Ours', type: 'STATIC' });
    expect((await count({ audienceType: 'SEGMENT', segmentId: body.id })).status).toBe(404);
  });
});
