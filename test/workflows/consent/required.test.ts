import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { recordInboundMail } from '../../../db/transactions/mail/record-inbound.ts';
import { useEngine } from '../../support/engine.ts';
import { optInsOf } from '../../support/projects/opt-ins.ts';
import { newAddress } from '../../support/projects/shop.ts';

/** A project that subscribes contacts only after they confirm. */

const engine = await useEngine();
const { call, api } = engine;
const { contact, idOf, track, link, post, lines, mails } = optInsOf(engine);
const from = `team@${engine.domain}`;
const key = engine.project.publicKey;
await call('PUT', '/consent-policy', { requireConfirmation: true, from });
for (const [topic, visibility] of [
  ['news', 'public'],
  ['staff', 'private'],
]) {
  const names = { key: topic, name: topic, default: 'unsubscribed', visibility };
  await call('POST', '/topics', names);
}

const stateOf = async (email: string) => {
  const { subscribed, consent } = await contact(email);
  return [subscribed, consent];
};
const topicsOf = async (email: string) => {
  const { body } = await call('GET', `/contacts/${await idOf(email)}/topics`);
  return body.flatMap((one: { key: string; subscribed: boolean }) =>
    one.subscribed ? [one.key] : [],
  );
};
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const press = (path: string, fields: string) =>
  api.request('POST', path, { body: fields, headers: form });

/** Creates an unsubscribed contact with a mail. Returns the id of the mail. */
async function written() {
  const email = newAddress();
  const { body } = await call('POST', '/v1/send', { to: email, from, subject: 'Hi', body: '<p>' });
  const [{ contact: made, email: e }] = body.data.emails;
  return { email, id: made.id as string, e: e as string };
}

describe('the mail of a request', () => {
  it('names who asked: the public key, or the contact by a page', async () => {
    const causeOf = async (email: string) => {
      await mails(email, 1);
      const { body } = await call('GET', `/emails?contactId=${await idOf(email)}`);
      const asks = body.data.filter(({ subject }: { subject: string }) => subject !== 'Hi');
      return asks[0].causedBy;
    };
    const tracked = newAddress();
    await track(tracked, { subscribed: true }, key);
    expect(await causeOf(tracked)).toEqual({ type: 'key', id: 'public', name: 'Public key' });
    const { email, id } = await written();
    await api.request('POST', `/contacts/public/${id}/subscribe`, { body: {} });
    await mails(email, 2);
    expect(await causeOf(email)).toEqual({ type: 'contact', id, name: null });
  });
});

describe('the public key', () => {
  it('asks for confirmation where it would subscribe, and subscribes no contact', async () => {
    const email = newAddress();
    expect((await track(email, { subscribed: true }, key)).status).toBe(200);
    expect(await stateOf(email)).toEqual([false, 'pending']);
    await post(await link(email));
    expect(await stateOf(email)).toEqual([true, 'confirmed']);
    const silent = newAddress();
    await Promise.all([track(silent, {}, key), track(newAddress(), { data: { a: 1 } }, key)]);
    expect(await stateOf(silent)).toEqual([false, undefined]);
    expect(await lines(silent)).toEqual([]);
    const topical = newAddress();
    await track(topical, { topics: ['news'] }, key);
    expect(await lines(topical)).toEqual(['requested null', 'requested news']);
    const hidden = await track(topical, { topics: ['staff'] }, key);
    expect([hidden.status, hidden.body.error.errors[0].field]).toEqual([422, 'topics.0']);
  });

  it('unsubscribes at once', async () => {
    const email = newAddress();
    await track(email, { subscribed: true });
    await track(email, { subscribed: false, topics: ['news'] }, key);
    expect([await stateOf(email), await topicsOf(email)]).toEqual([[false, undefined], []]);
  });
});

describe('a contact that does not come by a form', () => {
  it('does as before with the secret key', async () => {
    const email = newAddress();
    await track(email, { subscribed: true, topics: ['news'] });
    expect([await stateOf(email), await topicsOf(email)]).toEqual([[true, undefined], ['news']]);
    const other = newAddress();
    await call('POST', '/contacts', { email: other });
    expect(await stateOf(other)).toEqual([true, undefined]);
  });

  it('is not subscribed by having written a mail', async () => {
    const email = newAddress();
    const mail = {
      messageId: randomUUID(),
      from: email,
      fromName: null,
      recipients: [from],
      subject: 'Hi',
      body: null,
      report: {},
    };
    await transact(api.db, (tx) => recordInboundMail(tx, mail));
    expect(await stateOf(email)).toEqual([false, undefined]);
  });
});

describe('a page', () => {
  it('subscribes at once with a mail to the contact, else it asks and shows what holds', async () => {
    const { email, id, e } = await written();
    const { status, body } = await post(`/contacts/public/${id}/subscribe`);
    expect([status, body.subscribed]).toEqual([200, false]);
    expect(await stateOf(email)).toEqual([false, 'pending']);
    const page = await press(`/subscribe/${id}`, '');
    expect([page.status, page.body]).toEqual([200, expect.stringContaining('is not on')]);
    expect(await mails(email, 2)).toHaveLength(2);
    expect((await post(`/contacts/public/${id}/subscribe?e=${e}`)).body.subscribed).toBe(true);
    expect((await post(`/contacts/public/${id}/unsubscribe`)).body.subscribed).toBe(false);
    expect(await stateOf(email)).toEqual([false, 'expired']);
    expect((await press(`/subscribe/${id}?e=${e}`, '')).body).toContain('You are subscribed');
  });

  it('of preferences leaves topics at once, and has joined ones confirmed', async () => {
    const { email, id } = await written();
    const save = (ticked: string) =>
      press(`/manage/${id}`, `action=save&shown=news${ticked && `&topic=${ticked}`}`);
    const asked = await save('news');
    expect([asked.status, asked.body.includes('checked')]).toEqual([200, false]);
    expect([await stateOf(email), await topicsOf(email)]).toEqual([[false, 'pending'], []]);
    expect(await lines(email)).toEqual(['requested null', 'requested news']);
    await post(await link(email, 2));
    expect([await stateOf(email), await topicsOf(email)]).toEqual([[true, 'confirmed'], ['news']]);
    await save('');
    expect([await stateOf(email), await topicsOf(email)]).toEqual([[true, 'confirmed'], []]);
  });
});
