import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { deleteContactHistory } from '../../../db/transactions/contacts/delete-contacts.ts';
import { codeOf } from '../../support/api.ts';
import { useEngine } from '../../support/engine.ts';
import { endOfJob, importFile } from '../../support/projects/upload.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A deleted contact that had opted out stays opted out, until the person subscribes again. */

const engine = await useEngine();
const { call, api } = engine;
const newAddress = () => `ada+${randomUUID()}@people.test`;

const entryOf = (email: string) => call('GET', `/suppression-list/${encodeURIComponent(email)}`);
const put = async (email: string, more: object = {}) =>
  (await call('POST', '/contacts', { email, ...more })).body;
const remove = (id: string) => call('DELETE', `/contacts/${id}`);
const track = (email: string, more: object = {}, key = engine.project.publicKey) =>
  api.request('POST', '/v1/track', { key, body: { email, event: 'seen', ...more } });
/** Returns the contact of an address. */
const found = async (email: string) =>
  (await call('GET', `/contacts?email=${encodeURIComponent(email)}`)).body.data[0];

/** Returns an address whose contact had opted out and was deleted. */
async function erasedAddress(): Promise<string> {
  const email = newAddress();
  const { id } = await put(email);
  await call('PATCH', `/contacts/${id}`, { subscribed: false });
  expect((await remove(id)).status).toBe(204);
  return email;
}

describe('a contact that has opted out and is deleted', () => {
  it('leaves a hashed entry, found by the address in any case', async () => {
    const email = await erasedAddress();
    const { body: list } = await call('GET', '/suppression-list?reason=erased&limit=1');
    expect(list.data[0]).toEqual({
      email: null,
      hashed: true,
      reason: 'erased',
      scope: 'marketing',
      emailId: null,
      until: null,
      createdAt: expect.any(String),
    });
    const { body } = await entryOf(email.toUpperCase());
    expect(body).toMatchObject({ email, hashed: true, reason: 'erased', scope: 'marketing' });
    const at = expect.any(String);
    expect(body.history).toEqual([
      { at, action: 'granted', source: 'api', topic: null },
      { at, action: 'withdrawn', source: 'api', topic: null },
    ]);
    const { rows } =
      await sql`select from suppression where suppression::text like ${`%${email}%`}`.execute(
        api.db,
      );
    expect(rows).toEqual([]);
  });

  it('leaves one for what it has said before there was a log', async () => {
    const email = newAddress();
    const { id } = await put(email);
    await call('PATCH', `/contacts/${id}`, { subscribed: false });
    await sql`delete from consent where contact_id = ${id}`.execute(api.db);
    await sql`insert into event (project_id, contact_id, name)
      select ${engine.project.id}, ${id}, 'seen' from generate_series(1, 6000)`.execute(api.db);
    await deleteContactHistory(api.db, engine.project.id, [id]);
    await remove(id);
    expect((await entryOf(email)).body).toMatchObject({ reason: 'erased', history: [] });
  });

  it('leaves the entry that is there as it is', async () => {
    const email = newAddress();
    const { id } = await put(email);
    await call('PATCH', `/contacts/${id}`, { subscribed: false });
    await call('POST', '/suppression-list', { emails: [email] });
    await remove(id);
    expect((await entryOf(email)).body).toMatchObject({ email, hashed: false, reason: 'manual' });
    await track(email);
    expect((await found(email)).subscribed).toBe(true);
  });

  it.each([
    ['is subscribed', {}],
    ['was never subscribed', { subscribed: false }],
  ])('leaves none when it %s', async (_, given) => {
    const email = newAddress();
    await remove((await put(email, given)).id);
    expect(codeOf(await entryOf(email))).toEqual([404, 'SUPPRESSION_NOT_FOUND']);
    await track(email);
    expect((await found(email)).subscribed).toBe(true);
  });

  it('leaves one when many are deleted at once', async () => {
    const emails = [newAddress(), newAddress()];
    const ids = await Promise.all(emails.map(async (email) => (await put(email)).id as string));
    await call('PATCH', `/contacts/${ids[0]}`, { subscribed: false });
    const { body } = await call('POST', '/contacts/bulk-delete', { contactIds: ids });
    await endOfJob(engine, body.jobId);
    expect((await entryOf(emails[0]!)).status).toBe(200);
    expect((await entryOf(emails[1]!)).status).toBe(404);
  });
});

describe('while the reason is erased, the contact is made and stays unsubscribed', () => {
  it('whatever track says, alone and with others', async () => {
    const emails = await Promise.all([erasedAddress(), erasedAddress(), erasedAddress()]);
    const others = [newAddress(), newAddress()];
    await track(emails[0], { subscribed: true });
    await Promise.all([...emails, ...others].map((email) => track(email)));
    for (const email of emails) {
      const contact = await found(email);
      expect(contact.subscribed).toBe(false);
      expect((await call('GET', `/contacts/${contact.id}/consent`)).body).toEqual([]);
      await track(email, { subscribed: true }, engine.project.secretKey);
      expect((await found(email)).subscribed).toBe(false);
    }
    for (const email of others) expect((await found(email)).subscribed).toBe(true);
    const { rows } = await sql`select from event
      where project_id = ${engine.project.id} and name = 'contact.subscribed'`.execute(api.db);
    expect(rows).toEqual([]);
  });

  it('whatever POST /contacts, /v1/send and an import say', async () => {
    const [contact, sent, csv] = await Promise.all([
      erasedAddress(),
      erasedAddress(),
      erasedAddress(),
    ]);
    expect(await put(contact, { subscribed: true })).toMatchObject({
      subscribed: false,
      _meta: { isNew: true },
    });
    expect((await put(contact, { subscribed: true, data: { a: 1 } })).subscribed).toBe(false);
    const mail = { subject: 'Hi', body: 'Hi', from: `team@${engine.domain}` };
    await call('POST', '/v1/send', { to: sent, subscribed: true, ...mail });
    expect((await found(sent)).subscribed).toBe(false);
    const lines = `email,subscribed\n${csv},true\n${contact},true\nnew-${csv},true\n`;
    expect((await endOfJob(engine, await importFile(engine, lines))).result).toMatchObject({
      successCount: 3,
      failureCount: 0,
    });
    expect((await found(csv)).subscribed).toBe(false);
    expect((await found(contact)).subscribed).toBe(false);
    expect((await found(`new-${csv}`)).subscribed).toBe(true);
  });

  it('as a member of a segment, and as who writes to the project', async () => {
    const email = await erasedAddress();
    const { body: segment } = await call('POST', '/segments', { name: 'S', type: 'STATIC' });
    await call('POST', `/segments/${segment.id}/members`, { emails: [email], createMissing: true });
    expect((await found(email)).subscribed).toBe(false);
  });

  it('against UPDATE_CONTACT, bulk-subscribe and PATCH', async () => {
    const email = await erasedAddress();
    const { id } = await put(email);
    const refused = await call('PATCH', `/contacts/${id}`, { subscribed: true });
    expect(codeOf(refused)).toEqual([409, 'CONTACT_SUPPRESSED']);
    expect(refused.body.error.details).toEqual({ email, reason: 'erased' });
    expect((await call('PATCH', `/contacts/${id}`, { data: { a: 1 } })).status).toBe(200);
    const { id: otherId } = await put(newAddress());
    const { body } = await call('POST', '/contacts/bulk-subscribe', { contactIds: [id, otherId] });
    const { result } = await endOfJob(engine, body.jobId);
    expect(result).toMatchObject({ successCount: 1, unchanged: 1, failureCount: 1 });
    expect(result['errors']).toEqual([{ contactId: id, email, error: expect.any(String) }]);
    const { body: workflow } = await call('POST', '/workflows', {
      name: 'W',
      enabled: true,
      graph: {
        trigger: { type: 'EVENT', config: { eventName: 'subscribe_me' } },
        steps: [
          { key: 'trigger', type: 'TRIGGER' },
          {
            key: 'subscribe',
            type: 'UPDATE_CONTACT',
            name: 'Subscribe',
            config: { subscriptionAction: 'subscribe' },
          },
        ],
        transitions: [{ from: 'trigger', to: 'subscribe' }],
      },
    });
    await track(email, { event: 'subscribe_me' });
    await waitFor('the execution to end', async () => {
      const { body: ended } = await call(
        'GET',
        `/workflows/${workflow.id}/executions?status=COMPLETED`,
      );
      return ended.total === 1;
    });
    expect((await found(email)).subscribed).toBe(false);
  });
});

describe('the person', () => {
  const subscribe = (id: string, query = '') =>
    api.request('POST', `/contacts/public/${id}/subscribe${query}`);

  it('subscribes again by the link of a mail, which removes the entry', async () => {
    const email = await erasedAddress();
    const mail = { subject: 'Hi', body: 'Hi', from: `team@${engine.domain}` };
    const { body } = await call('POST', '/v1/send', { to: email, ...mail });
    const [{ email: emailId, contact }] = body.data.emails;
    expect((await subscribe(contact.id)).body.subscribed).toBe(false);
    expect((await subscribe(contact.id, `?e=${emailId}`)).body.subscribed).toBe(true);
    expect(codeOf(await entryOf(email))).toEqual([404, 'SUPPRESSION_NOT_FOUND']);
    expect((await found(email)).subscribed).toBe(true);
  });

  it.each([
    ['by hand', { reason: 'manual' }, 200],
    ['of scope all', { reason: 'import', scope: 'all' }, 200],
    ['of an import', { reason: 'import' }, 404],
  ])('and an entry %s', async (_, entry, status) => {
    const email = newAddress();
    await call('POST', '/suppression-list', { emails: [email], ...entry });
    const mail = { subject: 'Hi', body: 'Hi', from: `team@${engine.domain}` };
    const { body } = await call('POST', '/v1/send', { to: email, ...mail });
    const [{ email: emailId, contact }] = body.data.emails;
    expect((await subscribe(contact.id, `?e=${emailId}`)).body.subscribed).toBe(true);
    expect((await entryOf(email)).status).toBe(status);
  });
});
