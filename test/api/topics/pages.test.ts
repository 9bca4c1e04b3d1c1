import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';

/** The pages and endpoints of links in mail of a topic. */

const shop = await useShop();
const { api } = shop;

/**
 * Creates a project with the topics `news` (subscribed by default, public), `tips` (the same)
 * and `staff` (private).
 */
async function useTopics() {
  const { id: projectId, secretKey: key } = await api.createProject((await api.signUp()).cookie);
  const ask = (method: string, path: string, body?: unknown) =>
    api.request(method, path, { key, body });
  const topic = { default: 'subscribed', visibility: 'public' };
  await ask('POST', '/topics', {
    ...topic,
    key: 'news',
    name: 'News',
    description: 'Once <a> month',
  });
  await ask('POST', '/topics', { ...topic, key: 'tips', name: 'Tips' });
  await ask('POST', '/topics', { ...topic, key: 'staff', name: 'Staff', visibility: 'private' });
  const { body } = await ask('POST', '/contacts', { email: newAddress() });
  const id = body.id as string;
  const campaignId = await insertTestCampaign(api.db, projectId);
  const e = await insertTestEmail(api.db, { projectId, contactId: id, campaignId });
  return {
    id,
    e,
    ask,
    /** Returns `subscribed`, and the keys of the subscribed topics. */
    async state() {
      const [contact, topics] = [
        await ask('GET', `/contacts/${id}`),
        await ask('GET', `/contacts/${id}/topics`),
      ];
      const held = topics.body.filter((each: { subscribed: boolean }) => each.subscribed);
      return [contact.body.subscribed, ...held.map((each: { key: string }) => each.key)];
    },
    async events() {
      const rows = await api.db
        .selectFrom('event')
        .select(['name', 'data'])
        .where('contact_id', '=', id)
        .orderBy('recorded_at')
        .execute();
      return rows.map(({ name, data }) => [name, data]);
    },
    log: async () => (await ask('GET', `/contacts/${id}/consent`)).body.slice(1),
    async optOuts() {
      const row = await api.db
        .selectFrom('campaign')
        .select('unsubscribed_count')
        .where('id', '=', campaignId)
        .executeTakeFirstOrThrow();
      return row.unsubscribed_count;
    },
  };
}

const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const open = (path: string) => api.request('GET', path);
const post = (path: string, body = '') => api.request('POST', path, { body, headers: form });
const buttonsIn = (page: string) => page.match(/<button/g)?.length ?? 0;

describe('the link to unsubscribe from a topic', () => {
  it('names the topic and offers two ways; opening it changes nothing', async () => {
    const { id, e, state } = await useTopics();
    const { status, body } = await open(`/unsubscribe/${id}?e=${e}&t=news`);
    expect([status, buttonsIn(body)]).toEqual([200, 2]);
    expect(body).toContain('“News”');
    expect(body).toContain(`action="/unsubscribe/${id}?e=${e}&amp;t=news"`);
    expect(body).toContain('<button name="all" value="1">Unsubscribe from all</button>');
    expect(await state()).toEqual([true, 'news', 'tips', 'staff']);
  });

  it('leaves the topic alone by one click, without redirect or cookie', async () => {
    const { id, e, state, events, log, optOuts } = await useTopics();
    const oneClick = () => post(`/unsubscribe/${id}?e=${e}&t=news`, 'List-Unsubscribe=One-Click');
    const { status, headers } = await oneClick();
    expect([status, headers.get('location'), headers.get('set-cookie')]).toEqual([200, null, null]);
    expect(headers.get('content-type')).toContain('text/plain');
    await oneClick();
    expect(await state()).toEqual([true, 'tips', 'staff']);
    expect(await events()).toEqual([
      ['contact.topic.unsubscribed', { topic: 'news', source: 'one_click', emailId: e }],
    ]);
    expect(await log()).toMatchObject([
      { action: 'withdrawn', source: 'one_click', topic: 'news', text: null, actor: null },
    ]);
    expect(await optOuts()).toBe(1);
  });

  it('leaves the topic by its page, with the page as it was read in the log', async () => {
    const { id, state, events, log } = await useTopics();
    const { status, body } = await post(`/unsubscribe/${id}?t=news`);
    expect([status, buttonsIn(body)]).toEqual([200, 0]);
    expect(body).toContain('no longer on the list “News”');
    expect(await state()).toEqual([true, 'tips', 'staff']);
    expect(await events()).toEqual([
      ['contact.topic.unsubscribed', { topic: 'news', source: 'public_page' }],
    ]);
    const [line] = await log();
    expect(line).toMatchObject({ action: 'withdrawn', source: 'public_page', topic: 'news' });
    expect(line.text).toMatch(
      /^Unsubscribe\nDo you want to remove .…@people\.test from the list “News”/,
    );
  });

  it.each([
    ['t=news', 'all=1'],
    ['t=gone', 'List-Unsubscribe=One-Click'],
    ['t=News!', ''],
    ['t=news&t=news', ''],
    ['t=', ''],
  ])('unsubscribes from all with %s and the form %j; the choices stay', async (query, body) => {
    const { id, state, events } = await useTopics();
    expect((await post(`/unsubscribe/${id}?${query}`, body)).status).toBe(200);
    expect(await state()).toEqual([false, 'news', 'tips', 'staff']);
    expect((await events()).map(([name]) => name)).toEqual(['contact.unsubscribed']);
  });
});

describe('the link to subscribe to a topic', () => {
  it('names the topic, and subscribes to it and to mail', async () => {
    const { id, e, state, ask, log } = await useTopics();
    await ask('PUT', `/contacts/${id}/topics`, { topics: { news: false } });
    await ask('PATCH', `/contacts/${id}`, { subscribed: false });
    const asked = await open(`/subscribe/${id}?e=${e}&t=news`);
    expect([asked.status, buttonsIn(asked.body)]).toEqual([200, 1]);
    expect(asked.body).toContain('“News”');
    expect(await state()).toEqual([false, 'tips', 'staff']);
    expect((await post(`/subscribe/${id}?e=${e}&t=news`)).body).toContain('“News”');
    expect(await state()).toEqual([true, 'news', 'tips', 'staff']);
    expect((await log()).slice(2)).toMatchObject([
      { action: 'granted', source: 'public_page', topic: null },
      { action: 'granted', source: 'public_page', topic: 'news' },
    ]);
  });
});

it('does the same from a page of the customer’s own', async () => {
  const { id, e, state, optOuts } = await useTopics();
  const ask = async (action: string) => {
    const { status, body } = await post(`/contacts/public/${id}/${action}?e=${e}&t=news`);
    return [status, Object.keys(body), body.subscribed];
  };
  const same = [200, ['id', 'email', 'subscribed'], true];
  expect(await ask('unsubscribe')).toEqual(same);
  expect(await state()).toEqual([true, 'tips', 'staff']);
  expect(await ask('subscribe')).toEqual(same);
  expect(await state()).toEqual([true, 'news', 'tips', 'staff']);
  expect(await optOuts()).toBe(1);
});

describe('the preference page', () => {
  it('has a box for each public topic, in order, and carries the link along', async () => {
    const { id, e, ask } = await useTopics();
    await ask('PUT', `/contacts/${id}/topics`, { topics: { tips: false } });
    const { status, body } = await open(`/manage/${id}?e=${e}&t=staff`);
    expect([status, buttonsIn(body)]).toEqual([200, 2]);
    const boxes = [
      ...body.matchAll(/<input\s+type="checkbox"\s+name="topic"\s+value="(\w+)"\s*(checked)?/g),
    ];
    expect(boxes.map(([, key, mark]) => [key, mark])).toEqual([
      ['news', 'checked'],
      ['tips', undefined],
    ]);
    expect(body).toContain('Once &lt;a&gt; month');
    expect(body).not.toContain('Staff');
    expect(body).toContain(`action="/manage/${id}?e=${e}&amp;t=staff"`);
    await ask('PATCH', `/contacts/${id}`, { subscribed: false });
    expect((await open(`/manage/${id}`)).body).not.toMatch(/\schecked/);
  });

  it('makes what was shown as its boxes, and nothing else', async () => {
    const { id, e, state, log, events, optOuts } = await useTopics();
    const saved = await post(`/manage/${id}?e=${e}`, 'shown=news&action=save');
    expect([saved.status, buttonsIn(saved.body)]).toEqual([200, 2]);
    expect(saved.body).toContain('Your choice is saved');
    expect(await state()).toEqual([true, 'tips', 'staff']);
    await post(`/manage/${id}?e=${e}`, 'shown=staff&shown=nope&topic=news&action=save');
    expect(await state()).toEqual([true, 'tips', 'staff']);
    expect(await events()).toEqual([
      ['contact.topic.unsubscribed', { topic: 'news', source: 'public_page', emailId: e }],
    ]);
    const [line] = await log();
    expect(line).toMatchObject({ action: 'withdrawn', source: 'public_page', topic: 'news' });
    expect(line.text.split('\n').slice(2)).toEqual(['News: Once <a> month', 'Tips']);
    expect(await optOuts()).toBe(1);
  });

  it('unsubscribes from all, and subscribes to ticked topics', async () => {
    const { id, state, events } = await useTopics();
    const all = await post(`/manage/${id}`, 'shown=news&shown=tips&action=unsubscribe_all');
    expect(all.body).not.toMatch(/\schecked/);
    expect(await state()).toEqual([false, 'news', 'tips', 'staff']);
    await post(`/manage/${id}`, 'shown=news&shown=tips&action=save');
    expect(await state()).toEqual([false, 'news', 'tips', 'staff']);
    await post(`/manage/${id}`, 'shown=news&shown=tips&topic=tips&action=save');
    expect(await state()).toEqual([true, 'tips', 'staff']);
    expect((await events()).map(([name]) => name)).toEqual([
      'contact.unsubscribed',
      'contact.subscribed',
      'contact.topic.unsubscribed',
    ]);
  });

  it('changes nothing for what is not its form, and answers its page', async () => {
    const { id, state } = await useTopics();
    for (const body of ['', 'action=delete', '{"action":"save"}', 'shown=news', 'action=save']) {
      const { status, body: page } = await post(`/manage/${id}`, body);
      expect([status, buttonsIn(page)]).toEqual([200, 2]);
    }
    expect(await state()).toEqual([true, 'news', 'tips', 'staff']);
    const headers = { 'Content-Type': 'multipart/form-data; boundary=b' };
    const part = (name: string, value: string) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const body = `${part('shown', 'news')}${part('action', 'save')}--b--\r\n`;
    expect((await api.request('POST', `/manage/${id}`, { body, headers })).status).toBe(200);
    expect(await state()).toEqual([true, 'tips', 'staff']);
  });

  it('is unknown without a contact', async () => {
    for (const id of ['x', randomUUID()]) {
      for (const body of ['', 'action=save', 'action=unsubscribe_all']) {
        const answer = await post(`/manage/${id}`, body);
        expect(answer.status).toBe(404);
        expect(answer.body).toContain('Page not found');
      }
    }
  });

  it('has one button without public topics, which is of all mail', async () => {
    const { secretKey: key } = await api.createProject((await api.signUp()).cookie);
    const topic = { key: 'staff', name: 'Staff', default: 'subscribed' };
    await api.request('POST', '/topics', { key, body: topic });
    const { body } = await api.request('POST', '/contacts', { key, body: { email: newAddress() } });
    const page = (await open(`/manage/${body.id}?t=staff`)).body as string;
    expect(buttonsIn(page)).toBe(1);
    expect(page).toContain(`action="/unsubscribe/${body.id}"`);
    await post(`/manage/${body.id}`, 'action=unsubscribe_all');
    expect((await open(`/contacts/public/${body.id}`)).body.subscribed).toBe(false);
  });
});
