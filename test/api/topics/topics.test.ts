import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { continueRemovals } from '../../../db/removals/removals.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';

const shop = await useShop();
const { api, call } = shop;

const news = { key: 'news', name: 'News', default: 'subscribed', visibility: 'public' };

/** Returns requests with the secret key of a new project. */
async function newProject() {
  const { secretKey, publicKey, id } = await api.createProject((await api.signUp()).cookie);
  const ask = (method: string, path: string, body?: unknown) =>
    api.request(method, path, { key: secretKey, body });
  const create = async (key: string, more: object = {}) =>
    (await ask('POST', '/topics', { ...news, key, ...more })).body.id as string;
  const contact = async (more: object = {}) =>
    (await ask('POST', '/contacts', { email: newAddress(), ...more })).body.id as string;
  const eventsOf = async (contactId: string) => {
    const rows = await api.db
      .selectFrom('event')
      .select(['name', 'data'])
      .where('contact_id', '=', contactId)
      .orderBy('recorded_at')
      .execute();
    return rows.map(({ name, data }) => [name, data]);
  };
  return { id, publicKey, ask, create, contact, eventsOf };
}

const codeOf = ({ status, body }: { status: number; body: { error: { code: string } } }) => [
  status,
  body.error.code,
];
const faultOf = ({ status, body }: Awaited<ReturnType<typeof call>>) => {
  const [{ field, code }] = body.error.errors;
  return [status, field, code];
};

describe('topics', () => {
  it('are made once by their key, changed but for key and default, and listed in order', async () => {
    const { ask, id: projectId } = await newProject();
    const made = await ask('POST', '/topics', news);
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.any(String),
        ...news,
        description: null,
        projectId,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
    expect(codeOf(await ask('POST', '/topics', news))).toEqual([409, 'TOPIC_EXISTS']);
    const unkeyed = await ask('POST', '/topics', { ...news, key: 'News!' });
    expect(faultOf(unkeyed)[1]).toBe('key');
    // The message has words, not a regular expression.
    expect(unkeyed.body.error.errors[0].message).toMatch(/characters a-z, 0-9, _ and -/);
    const { default: _, ...without } = news;
    expect(faultOf(await ask('POST', '/topics', without)).slice(0, 2)).toEqual([422, 'default']);
    const path = `/topics/${made.body.id}`;
    for (const change of [{ default: 'unsubscribed' }, { key: 'other' }]) {
      const [field] = Object.keys(change);
      expect(faultOf(await ask('PATCH', path, change))).toEqual([422, field, 'not_allowed']);
    }
    const change = { key: 'news', default: 'subscribed', name: 'Our news', visibility: 'private' };
    const changed = await ask('PATCH', path, { ...change, description: 'Weekly' });
    expect([changed.status, changed.body]).toMatchObject([
      200,
      { ...change, description: 'Weekly' },
    ]);
    const { body: second } = await ask('POST', '/topics', {
      ...without,
      key: 'b',
      default: 'unsubscribed',
    });
    expect((await ask('GET', '/topics')).body).toEqual([changed.body, second]);
    expect((await ask('GET', path)).body).toEqual(changed.body);
  });

  it('are private unless they are said to be public', async () => {
    const { ask } = await newProject();
    const { visibility: _, ...given } = news;
    expect((await ask('POST', '/topics', given)).body.visibility).toBe('private');
  });

  it('are 100 at most, also when they are made at the same moment', async () => {
    const { ask, id } = await newProject();
    await sql`
      insert into topic (project_id, key, name, visibility, by_default)
        select ${id}, 'topic' || number, 'Topic', 'private', false
          from generate_series(1, 98) as number`.execute(api.db);
    const made = await Promise.all(
      [1, 2, 3, 4, 5].map((number) => ask('POST', '/topics', { ...news, key: `more${number}` })),
    );
    const refused = made.filter(({ status }) => status !== 201);
    expect(refused.map(codeOf)).toEqual([1, 2, 3].map(() => [400, 'TOPIC_LIMIT']));
    expect(refused[0]?.body.error.details).toEqual({ limit: 100 });
    expect((await ask('GET', '/topics')).body).toHaveLength(100);
  });

  it('answer 404 TOPIC_NOT_FOUND where they belong to another project', async () => {
    const [{ create }, { ask }] = [await newProject(), await newProject()];
    const path = `/topics/${await create('news')}`;
    for (const [method, body] of [['GET'], ['PATCH', { name: 'X' }], ['DELETE']] as const) {
      expect(codeOf(await ask(method, path, body))).toEqual([404, 'TOPIC_NOT_FOUND']);
    }
  });

  it('take the choices of contacts with them, but not the consent log', async () => {
    const { ask, create, contact } = await newProject();
    const [id, ada] = [await create('news'), await contact()];
    await ask('PUT', `/contacts/${ada}/topics`, { topics: { news: false } });
    expect((await ask('DELETE', `/topics/${id}`)).status).toBe(204);
    await continueRemovals(api.db, () => false);
    const left = await api.db.selectFrom('contact_topic').select('topic_id').execute();
    expect(left.filter(({ topic_id: topic }) => topic === id)).toEqual([]);
    expect((await ask('GET', `/contacts/${ada}/topics`)).body).toEqual([]);
    const { body: log } = await ask('GET', `/contacts/${ada}/consent`);
    expect(log.map(({ topic }: { topic: string | null }) => topic)).toEqual([null, 'news']);
    // A new topic with the same key has no choices.
    await create('news');
    const { body } = await ask('GET', `/contacts/${ada}/topics`);
    expect(body).toMatchObject([{ subscribed: true, explicit: false }]);
  });
});

describe('the topics of a contact', () => {
  it('are chosen, with one event for each real change', async () => {
    const { ask, create, contact, eventsOf } = await newProject();
    const [id, ada] = [await create('news'), await contact()];
    const path = `/contacts/${ada}/topics`;
    const topic = { id, key: 'news', name: 'News', visibility: 'public' };
    const byDefault = { ...topic, subscribed: true, explicit: false, changedAt: null };
    expect((await ask('GET', path)).body).toEqual([byDefault]);
    const left = { ...topic, subscribed: false, explicit: true, changedAt: expect.any(String) };
    const unsubscribed = ['contact.topic.unsubscribed', { topic: 'news', source: 'api' }];
    for (const _ of [1, 2]) {
      const { status, body } = await ask('PUT', path, { topics: { news: false } });
      expect([status, body]).toEqual([200, [left]]);
      expect(await eventsOf(ada)).toEqual([unsubscribed]);
    }
    expect((await ask('PUT', path, { topics: { news: null } })).body).toEqual([byDefault]);
    const subscribed = ['contact.topic.subscribed', { topic: 'news', source: 'api' }];
    expect(await eventsOf(ada)).toEqual([unsubscribed, subscribed]);
    // Choosing the current state is recorded as a choice, and changes nothing else.
    const chosen = { ...byDefault, explicit: true, changedAt: expect.any(String) };
    expect((await ask('PUT', path, { topics: { news: true } })).body).toEqual([chosen]);
    expect(await eventsOf(ada)).toHaveLength(2);
    const { body: log } = await ask('GET', `/contacts/${ada}/consent`);
    expect(
      log.map(({ action, topic: key, actor }: Record<string, unknown>) => [action, key, actor]),
    ).toEqual([
      ['granted', null, 'sk'],
      ['withdrawn', 'news', 'sk'],
      ['granted', 'news', 'sk'],
    ]);
    expect((await ask('GET', `/contacts/${ada}`)).body.subscribed).toBe(true);
  });

  it('that are left out keep their choice; one event for changes at the same moment', async () => {
    const { ask, create, contact, eventsOf } = await newProject();
    await create('a');
    await create('b', { default: 'unsubscribed' });
    const ada = await contact();
    const path = `/contacts/${ada}/topics`;
    await ask('PUT', path, { topics: { a: false } });
    await Promise.all(Array.from({ length: 10 }, () => ask('PUT', path, { topics: { b: true } })));
    const { body } = await ask('GET', path);
    expect(body).toMatchObject([
      { key: 'a', subscribed: false },
      { key: 'b', subscribed: true },
    ]);
    expect(await eventsOf(ada)).toHaveLength(2);
  });

  it('are refused by their unknown keys, and nothing is changed then', async () => {
    const { ask, create, contact } = await newProject();
    await create('news');
    const ada = await contact();
    const path = `/contacts/${ada}/topics`;
    const both = await ask('PUT', path, { topics: { news: false, nope: true } });
    expect(faultOf(both)).toEqual([422, 'topics.nope', 'not_found']);
    expect((await ask('GET', path)).body).toMatchObject([{ subscribed: true, explicit: false }]);
    const none = await ask('PUT', path, { topics: {} });
    expect(faultOf(none)).toEqual([422, 'topics', 'too_small']);
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`t${index}`, true]));
    expect(faultOf(await ask('PUT', path, { topics: many }))).toEqual([422, 'topics', 'too_big']);
    const nobody = `/contacts/${randomUUID()}/topics`;
    expect(codeOf(await ask('GET', nobody))).toEqual([404, 'CONTACT_NOT_FOUND']);
    const put = await ask('PUT', nobody, { topics: { news: true } });
    expect(codeOf(put)).toEqual([404, 'CONTACT_NOT_FOUND']);
  });

  it('have events that requests cannot record, and no items in the activity feed', async () => {
    const { ask, create, contact } = await newProject();
    await create('news');
    const ada = await contact();
    await ask('PUT', `/contacts/${ada}/topics`, { topics: { news: false } });
    for (const event of ['contact.topic.subscribed', 'contact.topic.unsubscribed']) {
      const tracked = await ask('POST', '/v1/track', { email: newAddress(), event });
      expect(faultOf(tracked)).toEqual([422, 'event', 'reserved_event']);
    }
    const { body } = await ask('GET', '/activity?limit=100');
    expect(body.data ?? body.activities).toEqual([]);
    const { body: timeline } = await ask('GET', `/contacts/${ada}/timeline`);
    expect(timeline.data).toMatchObject([{ type: 'consent', title: 'Left the topic news' }]);
  });
});
