import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';

const api = await useApi();
const project = await api.createProject((await api.signUp()).cookie);

async function createContact(fields: Record<string, unknown> = {}): Promise<string> {
  const body = { email: `${randomUUID()}@x.example`, ...fields };
  const made = await api.request('POST', '/contacts', { key: project.secretKey, body });
  return made.body.id as string;
}

const ask = (id: string, action = '') =>
  api.request(action ? 'POST' : 'GET', `/contacts/public/${id}${action && `/${action}`}`);

async function eventsOf(contactId: string) {
  const rows = await api.db
    .selectFrom('event')
    .select(['name', 'data'])
    .where('contact_id', '=', contactId)
    .orderBy('recorded_at')
    .execute();
  return rows.map(({ name, data }) => [name, data]);
}

describe('GET /contacts/public/{id}', () => {
  it('answers what an opt-out page shows, without a key', async () => {
    const id = await createContact({
      email: 'ada@x.example',
      data: { locale: 'de-AT', plan: 'p' },
    });
    expect((await ask(id)).body).toEqual({
      id,
      email: 'ada@x.example',
      subscribed: true,
      language: 'de-AT',
    });
  });

  it('answers the language of the project where the contact has none', async () => {
    const id = await createContact();
    expect((await ask(id)).body.language).toBe('en');
    await sql`update project set language = 'nl' where id = ${project.id}`.execute(api.db);
    expect((await ask(id)).body.language).toBe('nl');
  });

  it('answers 404 CONTACT_NOT_FOUND for an unknown id, 422 for one that is no uuid', async () => {
    for (const action of ['', 'subscribe', 'unsubscribe']) {
      const unknown = await ask(randomUUID(), action);
      expect([unknown.status, unknown.body.error.code]).toEqual([404, 'CONTACT_NOT_FOUND']);
      const wrong = await ask('x', action);
      expect([wrong.status, wrong.body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
    }
  });
});

describe('POST /contacts/public/{id}/unsubscribe', () => {
  it('unsubscribes once, however often it is asked: one event', async () => {
    const id = await createContact();
    for (const _ of [1, 2]) {
      const { status, body } = await ask(id, 'unsubscribe');
      expect([status, body]).toEqual([
        200,
        { id, email: expect.stringContaining('@x.example'), subscribed: false },
      ]);
    }
    expect(await eventsOf(id)).toEqual([['contact.unsubscribed', { source: 'public_page' }]]);
    expect((await ask(id, 'subscribe')).body.subscribed).toBe(true);
    expect((await ask(id, 'subscribe')).body.subscribed).toBe(true);
    expect((await eventsOf(id)).map(([name]) => name)).toEqual([
      'contact.unsubscribed',
      'contact.subscribed',
    ]);
  });

  it('records one event for requests at the same moment', async () => {
    const id = await createContact();
    await Promise.all(Array.from({ length: 8 }, () => ask(id, 'unsubscribe')));
    expect(await eventsOf(id)).toHaveLength(1);
  });

  it('starts the workflows of the event', async () => {
    const id = await createContact();
    const key = project.secretKey;
    const { body } = await api.request('POST', '/workflows', {
      key,
      body: { name: 'Goodbye', triggerType: 'EVENT', eventName: 'contact.unsubscribed' },
    });
    await sql`update workflow set enabled = true where id = ${body.id}`.execute(api.db);
    await sql`insert into workflow_version (workflow_id, version, project_id, graph)
      values (${body.id}, 1, ${project.id}, '{}') on conflict do nothing`.execute(api.db);
    await ask(id, 'unsubscribe');
    const started = await api.db
      .selectFrom('execution')
      .select('id')
      .where('contact_id', '=', id)
      .execute();
    expect(started).toHaveLength(1);
    expect(api.dispatched).toContain(`execution-${started[0]!.id}`);
    await sql`update workflow set enabled = false where id = ${body.id}`.execute(api.db);
  });

  it('works in a disabled project', async () => {
    const id = await createContact();
    await setDisabled('MANUAL');
    expect((await ask(id)).status).toBe(200);
    expect((await ask(id, 'unsubscribe')).body.subscribed).toBe(false);
    await setDisabled(null);
  });

  it('answers 404 in a project that was deleted', async () => {
    const other = await api.createProject((await api.signUp()).cookie);
    const made = await api.request('POST', '/contacts', {
      key: other.secretKey,
      body: { email: 'gone@x.example' },
    });
    await sql`update project set removal = 'delete' where id = ${other.id}`.execute(api.db);
    expect((await ask(made.body.id as string, 'unsubscribe')).status).toBe(404);
  });
});

describe('with the email that held the link', () => {
  const unsubscribe = (id: string, e: string) =>
    api.request('POST', `/contacts/public/${id}/unsubscribe?e=${encodeURIComponent(e)}`);

  async function countOf(campaignId: string): Promise<number> {
    const row = await api.db
      .selectFrom('campaign')
      .select('unsubscribed_count')
      .where('id', '=', campaignId)
      .executeTakeFirstOrThrow();
    return row.unsubscribed_count;
  }

  it('counts a contact once for the campaign', async () => {
    const campaignId = await insertTestCampaign(api.db, project.id);
    const ids = [await createContact(), await createContact()];
    const mail = (contactId: string) =>
      insertTestEmail(api.db, { projectId: project.id, contactId, campaignId });
    const [first, second] = [await mail(ids[0]!), await mail(ids[1]!)];
    await Promise.all([unsubscribe(ids[0]!, first), unsubscribe(ids[0]!, first)]);
    await ask(ids[0]!, 'subscribe');
    await unsubscribe(ids[0]!, first);
    expect(await countOf(campaignId)).toBe(1);
    await unsubscribe(ids[1]!, second);
    expect(await countOf(campaignId)).toBe(2);
    const row = await api.db
      .selectFrom('email')
      .select('unsubscribed_at')
      .where('id', '=', first)
      .executeTakeFirstOrThrow();
    expect(row.unsubscribed_at).toBeInstanceOf(Date);
  });

  it('names it in the event', async () => {
    const id = await createContact();
    const e = await insertTestEmail(api.db, { projectId: project.id, contactId: id });
    const change = { source: 'public_page', emailId: e };
    await unsubscribe(id, e);
    await api.request('POST', `/subscribe/${id}?e=${e}`);
    await api.request('POST', `/unsubscribe/${id}?e=${e}`, {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    });
    expect(await eventsOf(id)).toEqual([
      ['contact.unsubscribed', change],
      ['contact.subscribed', change],
      ['contact.unsubscribed', { ...change, source: 'one_click' }],
    ]);
    const { body } = await api.request('GET', `/events/contact/${id}`, { key: project.secretKey });
    expect(body.events.map(({ emailId }: { emailId: string }) => emailId)).toEqual([e, e, e]);
  });

  it('ignores an email that is unknown, malformed or of another contact', async () => {
    const campaignId = await insertTestCampaign(api.db, project.id);
    const [id, other] = [await createContact(), await createContact()];
    const foreign = await insertTestEmail(api.db, {
      projectId: project.id,
      contactId: other,
      campaignId,
    });
    for (const e of [foreign, randomUUID(), 'x', `${foreign}&e=x`, '']) {
      expect((await unsubscribe(id, e)).status).toBe(200);
    }
    expect(await countOf(campaignId)).toBe(0);
    expect(await eventsOf(id)).toEqual([['contact.unsubscribed', { source: 'public_page' }]]);
  });
});

async function setDisabled(reason: string | null): Promise<void> {
  await sql`update project set disabled_reason = ${reason} where id = ${project.id}`.execute(
    api.db,
  );
}
