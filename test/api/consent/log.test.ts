import { createHash, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sesReceipt } from '../../support/fakes/ses-messages.ts';
import { useFakeSns } from '../../support/fakes/sns.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';

const [shop, fake] = [await useShop(), await useFakeSns()];
const { api, call, track, project } = shop;
api.services.feedbackReaders = fake.feedbackReaders;

const logOf = async (id: string) => (await call('GET', `/contacts/${id}/consent`)).body;
const idOf = async (email: string) => (await shop.contact(email))!.id;

const create = async (more: object = {}) =>
  (await call('POST', '/contacts', { email: newAddress(), ...more })).body.id as string;

/** Returns a line that the secret key wrote; `more` has its other fields. */
const line = (action: string, more: object = {}) => ({
  at: expect.any(String),
  action,
  source: 'api',
  topic: null,
  ip: null,
  userAgent: null,
  textHash: null,
  text: null,
  actor: 'sk',
  ...more,
});

describe('GET /contacts/{id}/consent', () => {
  it('lists what the secret key changed, the oldest first, and nothing else', async () => {
    const id = await create();
    await call('PATCH', `/contacts/${id}`, { data: { plan: 'pro' } });
    await call('PATCH', `/contacts/${id}`, { subscribed: false });
    await call('PATCH', `/contacts/${id}`, { subscribed: false });
    await call('PATCH', `/contacts/${id}`, { subscribed: true });
    const lines = [line('granted'), line('withdrawn'), line('granted')];
    expect(await logOf(id)).toEqual(lines);
  });

  it('is empty for a contact that was made unsubscribed', async () => {
    expect(await logOf(await create({ subscribed: false }))).toEqual([]);
  });

  it('names the user of a session', async () => {
    const { cookie, userId } = await api.signUp();
    const own = await api.createProject(cookie);
    const headers = { 'X-Project-Id': own.id };
    const email = newAddress();
    const made = await api.request('POST', '/contacts', { cookie, headers, body: { email } });
    const path = `/contacts/${made.body.id}/consent`;
    const { body } = await api.request('GET', path, { key: own.secretKey });
    expect(body).toEqual([line('granted', { actor: userId })]);
  });

  it('names the connection of the public key, of contacts recorded alone and together', async () => {
    const emails = [newAddress(), newAddress(), newAddress()];
    const given = (email: string, more: object = {}) => ({
      key: project.publicKey,
      headers: { 'User-Agent': `Mozilla/5.0 ${'x'.repeat(600)}` },
      body: { email, event: 'signed_up', ...more },
    });
    await Promise.all(emails.map((email) => api.request('POST', '/v1/track', given(email))));
    // The contacts exist already, so no consent is recorded again.
    await Promise.all(emails.map((email) => api.request('POST', '/v1/track', given(email))));
    const userAgent = `Mozilla/5.0 ${'x'.repeat(488)}`;
    const granted = line('granted', {
      actor: 'pk',
      ip: expect.stringContaining('127.0.0.1'),
      userAgent,
    });
    for (const email of emails) expect(await logOf(await idOf(email))).toEqual([granted]);
    const [email = ''] = emails;
    await api.request('POST', '/v1/track', given(email, { subscribed: false }));
    const withdrawn = { ...granted, action: 'withdrawn' };
    expect(await logOf(await idOf(email))).toEqual([granted, withdrawn]);
  });

  it('has what track and /v1/send with the secret key change', async () => {
    const [tracked, sent] = [newAddress(), newAddress()];
    await track({ email: tracked });
    await shop.send({ to: sent });
    expect(await logOf(await idOf(tracked))).toEqual([line('granted')]);
    expect(await logOf(await idOf(sent))).toEqual([]);
    await shop.send({ to: sent, subscribed: true });
    expect(await logOf(await idOf(sent))).toEqual([line('granted')]);
  });

  it('has the members that a segment makes', async () => {
    const email = newAddress();
    const { body: segment } = await call('POST', '/segments', {
      name: randomUUID(),
      type: 'STATIC',
    });
    const members = { emails: [email], createMissing: true };
    await call('POST', `/segments/${segment.id}/members`, members);
    await call('POST', `/segments/${segment.id}/members`, members);
    expect(await logOf(await idOf(email))).toEqual([line('granted')]);
  });

  it('has the senders of inbound mail', async () => {
    const email = newAddress();
    const receipt = sesReceipt({
      messageId: randomUUID(),
      from: email,
      recipients: [`hi@${shop.domain}`],
      subject: 'Hello',
    });
    await api.request('POST', '/webhooks/sns', { body: fake.notification(receipt) });
    expect(await logOf(await idOf(email))).toEqual([
      line('granted', { source: 'inbound', actor: null }),
    ]);
  });

  it('has what a person does on a page, with the page as it was read', async () => {
    const id = await create({ email: `ada.${newAddress()}`, data: { locale: 'de' } });
    const headers = {
      'User-Agent': 'Browser',
      'Content-Type': 'application/x-www-form-urlencoded',
    };
    const { body: page } = await api.request('GET', `/unsubscribe/${id}`);
    await api.request('POST', `/unsubscribe/${id}`, { body: '', headers });
    await api.request('POST', `/unsubscribe/${id}`, { body: '', headers });
    await api.request('POST', `/subscribe/${id}`, { body: '', headers });
    const oneClick = 'List-Unsubscribe=One-Click';
    await api.request('POST', `/unsubscribe/${id}`, { body: oneClick, headers });
    const [, withdrawn, granted, clicked, ...more] = await logOf(id);
    expect(more).toEqual([]);
    const visitor = { actor: null, ip: expect.stringContaining('127.0.0.1'), userAgent: 'Browser' };
    expect(withdrawn).toEqual(
      line('withdrawn', {
        source: 'public_page',
        ...visitor,
        text: expect.stringMatching(/^Abmelden\n.*a…@people\.test.*My shop/),
        textHash: createHash('sha256').update(withdrawn.text).digest('hex'),
      }),
    );
    for (const read of withdrawn.text.split('\n')) expect(page).toContain(`>${read}<`);
    expect([granted.action, granted.source]).toEqual(['granted', 'public_page']);
    expect(granted.text).not.toBe(withdrawn.text);
    expect(clicked).toEqual(line('withdrawn', { source: 'one_click', ...visitor }));
  });

  it("has what a customer's own page asks for, whose text is not known", async () => {
    const id = await create();
    await api.request('POST', `/contacts/public/${id}/unsubscribe`);
    const [, withdrawn] = await logOf(id);
    expect(withdrawn).toMatchObject({
      source: 'public_page',
      text: null,
      textHash: null,
      actor: null,
    });
  });

  it('has one line for changes at the same moment', async () => {
    const id = await create();
    await Promise.all(
      Array.from({ length: 10 }, () => api.request('POST', `/contacts/public/${id}/unsubscribe`)),
    );
    expect((await logOf(id)).map(({ action }: { action: string }) => action)).toEqual([
      'granted',
      'withdrawn',
    ]);
  });

  it('shows the newest 1,000, oldest first, and goes with the contact', async () => {
    const id = await create();
    const rows = Array.from({ length: 1005 }, (_, number) => ({
      contact_id: id,
      project_id: project.id,
      action: 'withdrawn',
      source: 'api',
      topic: `${number}`,
    }));
    await api.db.insertInto('consent').values(rows).execute();
    const topics = (await logOf(id)).map(({ topic }: { topic: string }) => topic);
    expect(topics).toEqual(rows.slice(5).map(({ topic }) => topic));
    await call('DELETE', `/contacts/${id}`);
    const left = await api.db
      .selectFrom('consent')
      .select('id')
      .where('contact_id', '=', id)
      .execute();
    expect(left).toEqual([]);
    const { status, body } = await call('GET', `/contacts/${id}/consent`);
    expect([status, body.error.code]).toEqual([404, 'CONTACT_NOT_FOUND']);
  });

  it("answers 404 CONTACT_NOT_FOUND for another project's contact", async () => {
    const id = await create();
    const key = shop.other.secretKey;
    const { status, body } = await api.request('GET', `/contacts/${id}/consent`, { key });
    expect([status, body.error.code]).toEqual([404, 'CONTACT_NOT_FOUND']);
  });
});
