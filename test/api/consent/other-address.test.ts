import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';

/** Links in mail that was sent to an earlier address of the contact. */

const shop = await useShop();
const { api } = shop;

const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const post = (path: string, body = '') => api.request('POST', path, { body, headers: form });

/**
 * Creates a contact with topics `news` (joined) and `tips` (not joined), and a mail that was
 * sent to `to`.
 */
async function useContact({ to, isRequired = false }: { to?: string; isRequired?: boolean } = {}) {
  const { id: projectId, secretKey: key } = await api.createProject((await api.signUp()).cookie);
  const ask = (method: string, path: string, body?: unknown) =>
    api.request(method, path, { key, body });
  for (const [topic, by] of [
    ['news', 'subscribed'],
    ['tips', 'unsubscribed'],
  ]) {
    await ask('POST', '/topics', { key: topic, name: topic, default: by, visibility: 'public' });
  }
  if (isRequired) {
    const host = `${randomUUID()}.test`;
    await ask('POST', '/domains', { domain: host });
    const policy = { requireConfirmation: true, from: `team@${host}` };
    expect((await ask('PUT', '/consent-policy', policy)).status).toBe(200);
  }
  const email = newAddress();
  const { id } = (await ask('POST', '/contacts', { email })).body;
  const campaignId = await insertTestCampaign(api.db, projectId);
  const mailed = to === undefined ? {} : { to_email: to };
  const e = await insertTestEmail(api.db, { projectId, contactId: id, campaignId }, mailed);
  return {
    id: id as string,
    e,
    email,
    ask,
    contact: async () => (await ask('GET', `/contacts/${id}`)).body,
    topics: async () =>
      (await ask('GET', `/contacts/${id}/topics`)).body.flatMap(
        (one: { key: string; subscribed: boolean }) => (one.subscribed ? [one.key] : []),
      ),
    log: async () =>
      (await ask('GET', `/contacts/${id}/consent`)).body.map(
        (line: { action: string; topic: string | null }) => `${line.action} ${line.topic}`,
      ),
    listed: async () => (await ask('GET', '/suppression-list')).body.data,
    async traces() {
      const events = await api.db
        .selectFrom('event')
        .select('name')
        .where('contact_id', '=', id)
        .execute();
      const { unsubscribed_count: count } = await api.db
        .selectFrom('campaign')
        .select('unsubscribed_count')
        .where('id', '=', campaignId)
        .executeTakeFirstOrThrow();
      return [events.length, count];
    },
  };
}

const oneClick = 'List-Unsubscribe=One-Click';

describe('opting out by a mail to another address', () => {
  it.each([
    ['one click', '/unsubscribe/ID?e=E', oneClick],
    ['one click of a topic', '/unsubscribe/ID?e=E&t=news', oneClick],
    ['the page', '/unsubscribe/ID?e=E', ''],
    ['the page of a topic', '/unsubscribe/ID?e=E&t=news', ''],
    ['the page of a topic, from all', '/unsubscribe/ID?e=E&t=news', 'all=1'],
    ['the preference page, from all', '/manage/ID?e=E', 'action=unsubscribe_all'],
    ['a box of the preference page', '/manage/ID?e=E&t=news', 'action=save&shown=news'],
    [
      'a box, while another is ticked',
      '/manage/ID?e=E',
      'action=save&shown=news&shown=tips&topic=tips',
    ],
    ['the public endpoint', '/contacts/public/ID/unsubscribe?e=E', ''],
    ['the public endpoint of a topic', '/contacts/public/ID/unsubscribe?e=E&t=news', ''],
  ])('suppresses that address and leaves the contact: %s', async (_, path, body) => {
    const to = newAddress();
    const { id, e, contact, topics, log, listed, traces } = await useContact({ to });
    const before = [await contact(), await topics(), await log(), await traces()];
    for (const time of [1, 2]) {
      const { status } = await post(path.replace('ID', id).replace('E', e), body);
      expect([time, status]).toEqual([time, 200]);
    }
    expect([await contact(), await topics(), await log(), await traces()]).toEqual(before);
    expect(await listed()).toEqual([
      expect.objectContaining({ email: to, reason: 'opt_out', scope: 'marketing', emailId: e }),
    ]);
  });

  it('answers as for the contact', async () => {
    const { id, e, email } = await useContact({ to: newAddress() });
    const { body } = await post(`/contacts/public/${id}/unsubscribe?e=${e}`);
    expect(body).toEqual({ id, email, subscribed: false });
    const clicked = await post(`/unsubscribe/${id}?e=${e}`, oneClick);
    expect(clicked.body).toBe('You are unsubscribed.\n');
  });

  it('shows pages that speak of that address, and not of the topics of the contact', async () => {
    const { id, e } = await useContact({ to: 'boss@agency.example' });
    const pages = [
      await api.request('GET', `/unsubscribe/${id}?e=${e}&t=news`),
      await api.request('GET', `/manage/${id}?e=${e}`),
      await post(`/unsubscribe/${id}?e=${e}`),
      await api.request('GET', `/manage/${id}?e=${e}`),
    ];
    for (const { status, body } of pages) {
      expect([status, body]).toEqual([200, expect.stringContaining('b…@agency.example')]);
      expect(body).not.toContain('news');
    }
    const hasButton = pages.map(({ body }) => body.includes('<button'));
    expect(hasButton).toEqual([true, true, false, false]);
    expect(pages[3]!.body).toContain('is not on');
  });

  it('suppresses the former address after the contact has got another one', async () => {
    const { id, e, email, ask, contact, listed } = await useContact();
    await ask('PATCH', `/contacts/${id}`, { email: newAddress() });
    await post(`/unsubscribe/${id}?e=${e}`, oneClick);
    expect((await contact()).subscribed).toBe(true);
    expect(await listed()).toMatchObject([{ email, reason: 'opt_out' }]);
    await ask('PATCH', `/contacts/${id}`, { email });
    await post(`/unsubscribe/${id}?e=${e}`, oneClick);
    expect((await contact()).subscribed).toBe(false);
  });

  it('keeps an entry of wider scope, and changes nothing by a mail of another contact', async () => {
    const to = newAddress();
    const { id, e, ask, listed } = await useContact({ to });
    await ask('POST', '/suppression-list', { emails: [to], scope: 'all' });
    await post(`/unsubscribe/${id}?e=${e}`, oneClick);
    expect(await listed()).toMatchObject([{ email: to, reason: 'manual', scope: 'all' }]);
    const other = await useContact({ to: newAddress() });
    await post(`/unsubscribe/${other.id}?e=${e}`, oneClick);
    expect([(await other.contact()).subscribed, await other.listed()]).toEqual([false, []]);
  });
});

describe('subscribing by a mail to another address, where it has to be confirmed', () => {
  const ways = [
    ['the page', '/subscribe/ID?e=E', ''],
    ['the page of a topic', '/subscribe/ID?e=E&t=tips', ''],
    ['the preference page', '/manage/ID?e=E', 'action=save&shown=tips&topic=tips'],
    ['the public endpoint', '/contacts/public/ID/subscribe?e=E', ''],
  ] as const;

  it.each(ways)('of another recipient only asks: %s', async (_, path, body) => {
    const to = newAddress();
    const { id, e, ask, contact, log, listed } = await useContact({ to, isRequired: true });
    await ask('PATCH', `/contacts/${id}`, { subscribed: false });
    const { status } = await post(path.replace('ID', id).replace('E', e), body);
    expect([status, (await contact()).subscribed]).toEqual([200, false]);
    expect((await contact()).consent).toBe('pending');
    expect((await log()).slice(2)).toContain('requested null');
    expect(await listed()).toEqual([]);
  });

  it.each(ways)('of before a change of the address only asks: %s', async (_, path, body) => {
    const { id, e, ask, contact } = await useContact({ isRequired: true });
    await ask('PATCH', `/contacts/${id}`, { subscribed: false, email: newAddress() });
    await post(path.replace('ID', id).replace('E', e), body);
    expect(await contact()).toMatchObject({ subscribed: false, consent: 'pending' });
  });

  it.each(ways)('of the address as it is now subscribes at once: %s', async (_, path, body) => {
    const { id, e, email, ask, contact } = await useContact({ isRequired: true });
    await ask('PATCH', `/contacts/${id}`, { subscribed: false, email: newAddress() });
    await ask('PATCH', `/contacts/${id}`, { email });
    await post(path.replace('ID', id).replace('E', e), body);
    expect((await contact()).subscribed).toBe(true);
  });

  it('leaves the entry of an erased address', async () => {
    const { id, e, email, ask, listed, contact } = await useContact();
    const other = newAddress();
    const { body: left } = await ask('POST', '/contacts', { email: other });
    await post(`/unsubscribe/${left.id}`, oneClick);
    await ask('DELETE', `/contacts/${left.id}`);
    await ask('PATCH', `/contacts/${id}`, { subscribed: false, email: other });
    expect(email).not.toBe(other);
    await post(`/subscribe/${id}?e=${e}`);
    expect((await contact()).subscribed).toBe(false);
    expect(await listed()).toMatchObject([{ reason: 'erased' }]);
  });
});
