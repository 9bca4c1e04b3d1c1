import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { insertSession } from '../../../db/accounts/sessions.ts';
import { deleteExpired } from '../../../db/expired.ts';
import { updateSessionVersion } from '../../../db/accounts/users.ts';
import { cookieOf, useApi } from '../../support/api.ts';

const api = await useApi();

const password = 'a password';
const logIn = (email: string, userAgent = 'Test') =>
  api.request('POST', '/auth/login', {
    headers: { 'User-Agent': userAgent },
    body: { email, password },
  });
const me = (cookie: string, on = api) => on.request('GET', '/users/@me', { cookie });
const sessionsOf = async (cookie: string) =>
  (await api.request('GET', '/users/@me/sessions', { cookie })).body;
const end = (cookie: string, id: string) =>
  api.request('DELETE', `/users/@me/sessions/${id}`, { cookie });
const rowsOf = (userId: string) =>
  api.db.selectFrom('session').select(['id', 'version']).where('user_id', '=', userId).execute();

describe('GET /users/@me/sessions', () => {
  it('lists the sessions of the user, each with where it is used from', async () => {
    const { email, cookie } = await api.signUp();
    await logIn(email, 'A browser');
    await api.signUp();
    const sessions = await sessionsOf(cookie);
    const session = {
      id: expect.any(String),
      createdAt: expect.stringMatching(/Z$/),
      lastSeenAt: expect.stringMatching(/Z$/),
      freshUntil: expect.stringMatching(/Z$/),
      expiresAt: expect.stringMatching(/Z$/),
      ip: '127.0.0.1',
      method: 'password',
      provider: null,
      secondFactor: null,
    };
    expect(sessions).toEqual([
      { ...session, userAgent: 'A browser', current: false },
      { ...session, userAgent: 'node', current: true },
    ]);
  });

  it('shows when a session was last seen, and writes that every five minutes at most', async () => {
    const { userId, cookie } = await api.signUp();
    const id = (await rowsOf(userId))[0]?.id;
    const version = async () =>
      (await sql<{ xmin: string }>`select xmin from session where id = ${id}`.execute(api.db))
        .rows[0]?.xmin;
    const age = (minutes: number) =>
      sql`update session set last_seen_at = now() - ${minutes} * interval '1 minute', ip = null
        where id = ${id}`.execute(api.db);
    await age(4);
    const before = await version();
    await me(cookie);
    expect(await version()).toBe(before);
    await age(6);
    await Promise.all([1, 2, 3].map(() => me(cookie)));
    const [session] = await sessionsOf(cookie);
    expect(Date.now() - Date.parse(session.lastSeenAt)).toBeLessThan(60_000);
    expect(session.ip).toBe('127.0.0.1');
  });
});

describe('DELETE /users/@me/sessions', () => {
  it('ends all sessions but this one', async () => {
    const { email, cookie } = await api.signUp();
    const others = [cookieOf(await logIn(email)), cookieOf(await logIn(email))];
    const ended = await api.request('DELETE', '/users/@me/sessions', { cookie });
    expect(ended.body).toEqual({ success: true, ended: 2 });
    for (const other of others) expect((await me(other)).status).toBe(401);
    expect((await me(cookie)).status).toBe(200);
  });
});

describe('DELETE /users/@me/sessions/{id}', () => {
  it('ends that session and no other', async () => {
    const { email, cookie } = await api.signUp();
    const other = cookieOf(await logIn(email, 'Another browser'));
    const [{ id }] = await sessionsOf(cookie);
    const ended = await end(cookie, id);
    expect([ended.status, ended.body.success]).toEqual([200, true]);
    expect(ended.headers.get('set-cookie')).toBeNull();
    expect((await me(other)).status).toBe(401);
    expect((await me(cookie)).status).toBe(200);
    expect(await sessionsOf(cookie)).toHaveLength(1);
  });

  it('empties the cookie when it is the session of the request', async () => {
    const { cookie } = await api.signUp();
    const [{ id }] = await sessionsOf(cookie);
    const ended = await end(cookie, id);
    expect(ended.headers.get('set-cookie')).toMatch(/^everpost_session=;.*Max-Age=0/);
    expect((await me(cookie)).status).toBe(401);
  });

  it('returns 404 for the session of another user, and for an unknown one', async () => {
    const { cookie } = await api.signUp();
    const other = await api.signUp();
    const [{ id }] = await sessionsOf(other.cookie);
    for (const unknown of [id, randomUUID()]) {
      const refused = await end(cookie, unknown);
      expect([refused.status, refused.body.error.code]).toEqual([404, 'RESOURCE_NOT_FOUND']);
    }
    expect((await me(other.cookie)).status).toBe(200);
  });

  it('is refused to other sites', async () => {
    const { cookie } = await api.signUp();
    const [{ id }] = await sessionsOf(cookie);
    const refused = await api.request('DELETE', `/users/@me/sessions/${id}`, {
      cookie,
      headers: { Origin: 'https://evil.example' },
    });
    expect(refused.body.error.code).toBe('ORIGIN_NOT_ALLOWED');
  });
});

describe('the rows of sessions', () => {
  it('go with what ends all sessions, and with the user', async () => {
    const { email, userId, cookie } = await api.signUp();
    await logIn(email);
    await api.request('GET', '/auth/logout', { cookie });
    expect(await rowsOf(userId)).toEqual([]);
    const again = cookieOf(await logIn(email));
    const changed = await api.request('POST', '/users/@me/password', {
      cookie: again,
      body: { currentPassword: password, newPassword: 'another password' },
    });
    expect(await rowsOf(userId)).toEqual([{ id: expect.any(String), version: 3 }]);
    const gone = await api.request('DELETE', '/users/@me', {
      cookie: cookieOf(changed),
      body: { password: 'another password' },
    });
    expect(gone.status).toBe(200);
    expect(await rowsOf(userId)).toEqual([]);
  });

  it('are 200 at most: one more ends the one not seen for longest', async () => {
    const { email, userId, cookie } = await api.signUp();
    await sql`insert into session (user_id, version, method, expires_at, last_seen_at)
      select ${userId}, 1, 'password', now() + interval '1 day', now() - n * interval '1 hour'
        from generate_series(1, 220) n`.execute(api.db);
    await logIn(email);
    expect(await rowsOf(userId)).toHaveLength(200);
    expect((await me(cookie)).status).toBe(200);
    const [oldest] = (
      await sql<{ hours: number }>`select max(extract(epoch from now() - last_seen_at) / 3600)::int
        as hours from session where user_id = ${userId}`.execute(api.db)
    ).rows;
    expect(oldest?.hours).toBe(198);
  });

  it('are removed when they are over', async () => {
    const { userId, cookie } = await api.signUp();
    const { userId: other } = await api.signUp();
    await sql`update session set expires_at = now() - interval '1 second'
      where user_id = ${userId}`.execute(api.db);
    expect((await me(cookie)).status).toBe(401);
    await deleteExpired(api.db, 'session');
    expect(await rowsOf(userId)).toEqual([]);
    expect(await rowsOf(other)).toHaveLength(1);
  });

  it('are not made by a login that a change of the password has overtaken', async () => {
    const { userId } = await api.signUp();
    const session = {
      userId,
      version: 1,
      seconds: 60,
      ip: '127.0.0.1',
      userAgent: null,
      method: 'password' as const,
    };
    expect(await insertSession(api.db, session)).toEqual(expect.any(String));
    await updateSessionVersion(api.db, userId);
    expect(await insertSession(api.db, session)).toBeUndefined();
    expect(await insertSession(api.db, { ...session, userId: randomUUID() })).toBeUndefined();
    expect(await rowsOf(userId)).toEqual([]);
  });
});

describe('with https', async () => {
  const secure = await useApi({ API_URL: 'https://api.shop.example' });

  it('the cookie is bound to the host', async () => {
    const body = { email: `${randomUUID()}@users.test`, password };
    const made = await secure.request('POST', '/auth/signup', { body });
    const [name, ...attributes] = (made.headers.get('set-cookie') ?? '').split('; ');
    expect(name).toMatch(/^__Host-everpost_session=[\w.-]+$/);
    expect(attributes.toSorted()).toEqual([
      'HttpOnly',
      'Max-Age=604800',
      'Path=/',
      'SameSite=Lax',
      'Secure',
    ]);
    expect((await me(name ?? '', secure)).status).toBe(200);
  });

  it('a session under the plain name is refused: another host of the domain can plant one', async () => {
    const body = { email: `${randomUUID()}@users.test`, password };
    const planted = cookieOf(await secure.request('POST', '/auth/signup', { body }));
    const plain = planted.replace('__Host-', '');
    expect((await me(plain, secure)).status).toBe(401);
    const contacts = await secure.request('GET', '/contacts', { cookie: plain });
    expect(contacts.body.error.code).toBe('UNAUTHORIZED');
  });
});
