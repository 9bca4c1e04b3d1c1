import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { insertSecurityEvent } from '../../../db/accounts/security-events.ts';
import { deleteOlder } from '../../../db/expired.ts';
import { cookieOf, useApi } from '../../support/api.ts';
import { waitFor } from '../../support/wait-for.ts';

const api = await useApi({ PLATFORM_FROM_ADDRESS: '' });

const password = 'a password';
const logIn = (email: string, given = password) =>
  api.request('POST', '/auth/login', { body: { email, password: given } });
const rows = (column: 'user_id' | 'project_id', id: string) =>
  api.db
    .selectFrom('security_event')
    .select(['event', 'user_id', 'project_id', 'ip', 'details'])
    .where(column, '=', id)
    .orderBy('id')
    .execute();
const eventsOf = async (userId: string) => (await rows('user_id', userId)).map((r) => r.event);
/** Returns the lines of the security log about a user. */
const linesOf = (userId: string) =>
  api.log
    .entries()
    .filter((entry) => entry['msg'] === 'security' && entry['userId'] === userId)
    .map((entry) => entry['event']);

describe('the security log', () => {
  it('records the life of an account: who, from where, as rows and as lines', async () => {
    const { email, userId, cookie } = await api.signUp();
    await logIn(email);
    await logIn(email, 'a wrong password');
    await waitFor('the row of the refusal', async () =>
      (await eventsOf(userId)).includes('login.refused'),
    );
    await api.request('POST', '/auth/request-password-reset', { body: { email } });
    const [{ id }] = (await api.request('GET', '/users/@me/sessions', { cookie })).body;
    await api.request('DELETE', `/users/@me/sessions/${id}`, { cookie });
    const changed = await api.request('POST', '/users/@me/password', {
      cookie,
      body: { currentPassword: password, newPassword: 'another password' },
    });
    await api.request('GET', '/auth/logout', { cookie: cookieOf(changed) });
    const expected = [
      'account.created',
      'login.succeeded',
      'login.refused',
      'password.reset_requested',
      'session.ended',
      'password.changed',
      'logout',
    ];
    expect(await eventsOf(userId)).toEqual(expected);
    expect(linesOf(userId)).toEqual(expected);
    const [created] = await rows('user_id', userId);
    expect(created).toEqual({
      event: 'account.created',
      user_id: userId,
      project_id: null,
      ip: '127.0.0.1',
      details: { by: 'PASSWORD' },
    });
  });

  it('records what is done to a project, and continues after a reset', async () => {
    const { userId, cookie } = await api.signUp();
    const { id } = await api.createProject(cookie);
    const post = (path: string) =>
      api.request('POST', `/users/@me/projects/${id}/${path}`, { cookie });
    await post('regenerate-keys');
    await post('regenerate-webhook-secret');
    await post('reset');
    await post('regenerate-keys');
    const { id: inside } = await api.db
      .selectFrom('project')
      .select('id')
      .where('public_id', '=', id)
      .where('removal', 'is', null)
      .executeTakeFirstOrThrow();
    const expected = [
      'project.created',
      'keys.regenerated',
      'webhook_secret.regenerated',
      'project.reset',
      'keys.regenerated',
    ];
    expect((await rows('project_id', inside)).map(({ event }) => event)).toEqual(expected);
    await api.request('DELETE', `/users/@me/projects/${id}`, { cookie });
    const deleted = (await rows('user_id', userId)).at(-1);
    expect(deleted).toMatchObject({
      event: 'project.deleted',
      project_id: null,
      details: { projectId: id },
    });
    const lines = api.log.entries().filter((entry) => entry['userId'] === userId);
    expect(lines.filter(({ event }) => event === 'keys.regenerated')).toEqual([
      expect.objectContaining({ projectId: id, ip: '127.0.0.1', requestId: expect.any(String) }),
      expect.objectContaining({ projectId: id }),
    ]);
  });

  it('records who changed members, or that a key did', async () => {
    const { userId, cookie } = await api.signUp();
    const member = await api.signUp();
    const { id, secretKey: key } = await api.createProject(cookie);
    const path = `/projects/${id}/members`;
    await api.request('POST', path, { cookie, body: { email: member.email } });
    const change = (by: object, role: string) =>
      api.request('PATCH', `${path}/${member.userId}`, { ...by, body: { role } });
    await change({ cookie }, 'ADMIN');
    await change({ key }, 'MEMBER');
    await change({ key }, 'MEMBER');
    await api.request('DELETE', `${path}/${member.userId}`, { cookie });
    await api.request('POST', path, { key, body: { email: member.email } });
    const mine = { cookie: member.cookie };
    await api.request('DELETE', `/users/@me/projects/${id}/membership`, mine);
    const memberId = member.userId;
    const told = (await rows('project_id', id)).map((r) => [r.event, r.user_id, r.details]);
    expect(told).toEqual([
      ['project.created', userId, {}],
      ['member.added', userId, { memberId, role: 'MEMBER' }],
      ['member.role_changed', userId, { memberId, role: 'ADMIN' }],
      ['member.role_changed', null, { memberId, role: 'MEMBER' }],
      ['member.removed', userId, { memberId }],
      ['member.added', null, { memberId, role: 'MEMBER' }],
      ['member.left', memberId, {}],
    ]);
  });

  it('records who set and deleted a secret, by its name', async () => {
    const { userId, cookie } = await api.signUp();
    const { id, secretKey: key } = await api.createProject(cookie);
    const headers = { 'X-Project-Id': id };
    const path = '/secrets/CRM_TOKEN';
    await api.request('PUT', path, { cookie, headers, body: { value: `tok ${randomUUID()}` } });
    await api.request('DELETE', path, { key });
    await api.request('DELETE', path, { key });
    const told = (await rows('project_id', id)).map((r) => [r.event, r.user_id, r.details]);
    expect(told.slice(1)).toEqual([
      ['secret.set', userId, { name: 'CRM_TOKEN' }],
      ['secret.deleted', null, { name: 'CRM_TOKEN' }],
    ]);
  });

  it('records who changed event subscriptions, domains and policies, exported and erased', async () => {
    const { userId, cookie } = await api.signUp();
    const { id, secretKey: key } = await api.createProject(cookie);
    const headers = { 'X-Project-Id': id };
    const ask = async (method: string, path: string, body?: unknown, expected = 200) => {
      const { status, body: answered } = await api.request(method, path, { cookie, headers, body });
      expect([method, path, status]).toEqual([method, path, expected]);
      return answered;
    };
    const path = '/event-subscriptions';
    const url = 'https://hooks.example/a-secret-path';
    const made = await ask('POST', path, { url, events: ['a'] }, 201);
    const one = `${path}/${made.id}`;
    await ask('PATCH', one, { paused: true, headers: { 'X-Key': 'never told' } });
    await ask('POST', `${one}/rotate-secret`);
    const from = new Date(Date.now() - 60_000).toISOString();
    const { jobId } = await ask('POST', `${one}/replay`, { from }, 202);
    await ask('DELETE', one, undefined, 204);
    const name = `${randomUUID()}.test`;
    const domain = await ask('POST', '/domains', { domain: name, projectId: id }, 201);
    await ask('PUT', '/send-policy', { onCap: 'skip', timeZone: 'Europe/Berlin' });
    await ask('PUT', '/consent-policy', { from: `team@${name}`, remindAfter: 60 });
    await ask('PUT', '/consent-policy', { from: null });
    await ask('DELETE', `/domains/${domain.id}`);
    const email = `${randomUUID()}@people.test`;
    const { id: contactId } = await ask('POST', '/contacts', { email }, 201);
    await ask('GET', `/contacts/${contactId}/export`);
    const erased = await api.request('POST', `/contacts/${contactId}/erase`, { key, body: {} });
    const refused = await api.request('DELETE', one, { key });
    expect([erased.status, refused.status]).toEqual([202, 404]);
    const told = (await rows('project_id', id)).map((r) => [r.event, r.user_id, r.details]);
    const subscriptionId = made.id;
    const host = 'hooks.example';
    expect(told.slice(1)).toEqual([
      ['event_subscription.created', userId, { subscriptionId, host }],
      ['event_subscription.changed', userId, { subscriptionId, host, fields: 'headers, paused' }],
      ['event_subscription.secret_rotated', userId, { subscriptionId }],
      ['event_subscription.replayed', userId, { subscriptionId, jobId }],
      ['event_subscription.deleted', userId, { subscriptionId }],
      ['domain.added', userId, { domainId: domain.id, domain: name }],
      ['send_policy.changed', userId, { fields: 'timeZone, onCap' }],
      ['consent_policy.changed', userId, { fields: 'remindAfter, from' }],
      ['consent_policy.changed', userId, { fields: 'from' }],
      ['domain.removed', userId, { domainId: domain.id, domain: name }],
      ['contact.exported', userId, { contactId }],
      ['contact.erased', null, { contactId, jobId: erased.body.jobId }],
    ]);
    const lines = JSON.stringify(api.log.entries());
    for (const secret of [contactId, email, 'a-secret-path', 'never told']) {
      expect(lines).not.toContain(secret);
    }
    expect(lines).toContain('contact.exported');
  });

  it('notes nothing of what did not happen', async () => {
    const owner = await api.signUp();
    const stranger = await api.signUp();
    const { id } = await api.createProject(owner.cookie);
    const path = `/users/@me/projects/${id}/regenerate-keys`;
    const refused = await api.request('POST', path, { cookie: stranger.cookie });
    expect(refused.status).toBe(404);
    expect(await eventsOf(stranger.userId)).toEqual(['account.created']);
  });

  it('forgets a user who deletes the account, but not what was done to projects', async () => {
    const { userId, cookie } = await api.signUp();
    const { id } = await api.createProject(cookie);
    await api.db.deleteFrom('membership').where('user_id', '=', userId).execute();
    const gone = await api.request('DELETE', '/users/@me', { cookie, body: { password } });
    expect(gone.status).toBe(200);
    expect(await rows('user_id', userId)).toEqual([]);
    expect(await rows('project_id', id)).toMatchObject([
      { event: 'project.created', user_id: null },
    ]);
    const { rows: deleted } = await sql`select event from security_event
      where details->>'userId' = ${userId}`.execute(api.db);
    expect(deleted).toEqual([{ event: 'account.deleted' }]);
  });

  it('has a line for a login to no account, and no row', async () => {
    const count = async () =>
      (await sql<{ n: number }>`select count(*)::int n from security_event`.execute(api.db))
        .rows[0];
    const before = await count();
    const lines = () =>
      api.log.entries().filter(({ event, userId }) => event === 'login.refused' && userId === null);
    const known = lines().length;
    await logIn(`${randomUUID()}@users.test`);
    expect(lines()).toHaveLength(known + 1);
    expect(await count()).toEqual(before);
  });

  it('has a line for who is refused', async () => {
    const { userId, cookie } = await api.signUp();
    await api.request('GET', '/contacts', { key: `sk_${'0'.repeat(64)}` });
    await api.request('GET', '/contacts', { cookie, headers: { 'X-Project-Id': randomUUID() } });
    const refused = api.log.entries().filter(({ event }) => event === 'access.refused');
    expect(refused.slice(-2)).toEqual([
      expect.objectContaining({ code: 'INVALID_API_KEY', path: '/contacts', ip: '127.0.0.1' }),
      expect.objectContaining({ code: 'PROJECT_ACCESS_DENIED', method: 'GET' }),
    ]);
    expect(userId).toBeTruthy();
  });

  it('keeps all that are not too old, however many come later', async () => {
    const { userId } = await api.signUp();
    await sql`insert into security_event (event, user_id, created_at)
      select 'login.succeeded', ${userId}, now() - interval '10 days'
        from generate_series(1, 10010)`.execute(api.db);
    const event = {
      event: 'logout' as const,
      userId,
      projectId: null,
      ip: '127.0.0.1',
      requestId: 'x',
      actor: `user:${userId}`,
      target: null,
      changes: null,
      details: {},
    };
    await insertSecurityEvent(api.db, event);
    const kept = await eventsOf(userId);
    expect([kept.length, kept[0], kept.at(-1)]).toEqual([10_012, 'account.created', 'logout']);
    await deleteOlder(api.db, 'security_event', 9 * 24);
    expect(await eventsOf(userId)).toEqual(['account.created', 'logout']);
  });
});

describe('no line of the log', () => {
  it('has the id of an opt-out link, a token or a signature', async () => {
    const { cookie } = await api.signUp();
    const { secretKey: key } = await api.createProject(cookie);
    const made = await api.request('POST', '/contacts', { key, body: { email: 'ada@x.example' } });
    const contactId = made.body.id as string;
    const emailId = randomUUID();
    for (const path of [
      `/unsubscribe/${contactId}`,
      `/UNSUBSCRIBE/${contactId}/`,
      `/%75nsubscribe/${contactId}`,
      `/unsubscribe/${contactId}/more`,
      `/manage/${contactId}?e=${emailId}`,
      `/contacts/public/${contactId}`,
      `/contacts/${contactId}`,
      `/events/contact/${contactId}`,
      `/t/o/${emailId}.gif`,
      `/t/c/${emailId}?u=aHR0cHM6Ly9zaG9wLnRlc3Q&s=${'s'.repeat(43)}`,
      `/auth/verify-email/${'8f'.repeat(32)}`,
      `/auth/verify-email?token=${'8f'.repeat(32)}`,
    ]) {
      await api.request('GET', path, { key });
    }
    await api.request('POST', `/unsubscribe/${contactId}`);
    const text = JSON.stringify(api.log.entries());
    for (const secret of [contactId, emailId, '8f'.repeat(32), 's'.repeat(43)]) {
      expect(text).not.toContain(secret);
    }
    expect(text).toContain('"path":"/unsubscribe/{contactId}"');
  });

  it('has an address, a name of a field or of an event in a path', async () => {
    const { secretKey: key } = await api.createProject((await api.signUp()).cookie);
    const address = 'ada%40private.example';
    const requests: [string, string][] = [
      ['GET', `/suppression-list/${address}`],
      ['DELETE', '/suppression-list/ada@private.example'],
      ['PUT', `/suppression-list/${address}`],
      ['GET', `/nowhere/${address}`],
      ['GET', '/nowhere/ada@private.example/x'],
      ['DELETE', `/contacts/fields/${address}`],
      ['DELETE', `/events/${address}`],
      ['PUT', '/secrets/private'],
    ];
    for (const [method, path] of requests) {
      await api.request(method, path, { key, ...(method === 'PUT' ? { body: {} } : {}) });
      await api.request(method, path);
    }
    const text = JSON.stringify(api.log.entries());
    expect(text).not.toContain('private');
    expect(text).toContain('"path":"/suppression-list/{email}"');
  });
});
