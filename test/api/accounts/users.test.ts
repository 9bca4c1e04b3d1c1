import { describe, expect, it } from 'vitest';
import { cookieOf, useApi } from '../../support/api.ts';

const api = await useApi();

describe('GET /users/@me', () => {
  it('answers the user of the cookie and nothing that is secret', async () => {
    const { cookie, userId, email } = await api.signUp();
    const { status, body } = await api.request('GET', '/users/@me', { cookie });
    expect(status).toBe(200);
    expect(Object.keys(body).toSorted()).toEqual([
      'createdAt',
      'email',
      'emailVerified',
      'id',
      'type',
    ]);
    expect(body).toMatchObject({ id: userId, email, type: 'PASSWORD', emailVerified: true });
  });

  it('works for a user whose address is not verified', async () => {
    const { cookie, userId } = await api.signUp();
    await api.db
      .updateTable('app_user')
      .set({ email_verified: false })
      .where('id', '=', userId)
      .execute();
    const { status, body } = await api.request('GET', '/users/@me', { cookie });
    expect([status, body.emailVerified]).toEqual([200, false]);
  });

  it('refuses a secret key with 401 UNAUTHORIZED, because a key is no user', async () => {
    const { cookie } = await api.signUp();
    const { secretKey } = await api.createProject(cookie);
    const { status, body } = await api.request('GET', '/users/@me', { key: secretKey });
    expect([status, body.error.code]).toEqual([401, 'UNAUTHORIZED']);
  });

  it('answers 401 UNAUTHORIZED once the user is deleted', async () => {
    const { cookie, userId } = await api.signUp();
    await api.db.deleteFrom('app_user').where('id', '=', userId).execute();
    const { status, body } = await api.request('GET', '/users/@me', { cookie });
    expect([status, body.error.code]).toEqual([401, 'UNAUTHORIZED']);
  });
});

describe('DELETE /users/@me', () => {
  const remove = (cookie: string, body?: unknown) =>
    api.request('DELETE', '/users/@me', { cookie, ...(body === undefined ? {} : { body }) });

  it('ends the account, its memberships and its session', async () => {
    const { cookie, userId, email } = await api.signUp();
    const owner = await api.signUp();
    const { id } = await api.createProject(owner.cookie);
    await api.db
      .insertInto('membership')
      .values({ project_id: id, user_id: userId, role: 'ADMIN' })
      .execute();
    const gone = await remove(cookie, { password: 'a password' });
    expect([gone.status, gone.body]).toEqual([200, { success: true, message: expect.any(String) }]);
    expect(gone.headers.get('set-cookie')).toMatch(/^everpost_session=;.*Max-Age=0/);
    expect((await api.request('GET', '/users/@me', { cookie })).status).toBe(401);
    const members = await api.request('GET', `/projects/${id}/members`, { cookie: owner.cookie });
    expect(members.body.data).toHaveLength(1);
    const again = await api.request('POST', '/auth/signup', {
      body: { email, password: 'a password' },
    });
    expect(again.status).toBe(200);
    expect(again.body.data.id).not.toBe(userId);
  });

  it('asks for the right password: 401 INVALID_CREDENTIALS', async () => {
    const { cookie } = await api.signUp();
    for (const body of [undefined, {}, { password: 'another' }]) {
      const refused = await remove(cookie, body);
      expect([refused.status, refused.body.error.code]).toEqual([401, 'INVALID_CREDENTIALS']);
    }
    expect((await api.request('GET', '/users/@me', { cookie })).status).toBe(200);
  });

  it('is refused with 409 CONFLICT while the user owns a project', async () => {
    const { cookie } = await api.signUp();
    const { id } = await api.createProject(cookie);
    const refused = await remove(cookie, { password: 'a password' });
    expect([refused.status, refused.body.error.code]).toEqual([409, 'CONFLICT']);
    await api.request('DELETE', `/users/@me/projects/${id}`, { cookie });
    expect((await remove(cookie, { password: 'a password' })).status).toBe(200);
  });
});

describe('POST /users/@me/password', () => {
  const change = (cookie: string, currentPassword: string, newPassword = 'a new password') =>
    api.request('POST', '/users/@me/password', { cookie, body: { currentPassword, newPassword } });

  it('sets it, gives a new cookie and ends all other sessions', async () => {
    const { cookie, email } = await api.signUp();
    const login = (password: string) =>
      api.request('POST', '/auth/login', { body: { email, password } });
    const other = cookieOf(await login('a password'));
    const changed = await change(cookie, 'a password');
    expect([changed.status, changed.body]).toEqual([
      200,
      { success: true, data: { message: expect.any(String) } },
    ]);
    const me = (session: string) => api.request('GET', '/users/@me', { cookie: session });
    expect((await me(cookieOf(changed))).status).toBe(200);
    expect([(await me(cookie)).status, (await me(other)).status]).toEqual([401, 401]);
    expect((await login('a password')).status).toBe(401);
    expect((await login('a new password')).status).toBe(200);
  });

  it('asks for the current one: 401 INVALID_CREDENTIALS', async () => {
    const { cookie } = await api.signUp();
    const refused = await change(cookie, 'another');
    expect([refused.status, refused.body.error.code]).toEqual([401, 'INVALID_CREDENTIALS']);
    expect((await change(cookie, 'a password', 'short')).status).toBe(422);
  });

  it('changes once when two ask at the same moment', async () => {
    const { cookie } = await api.signUp();
    const answers = await Promise.all([1, 2].map(() => change(cookie, 'a password')));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401]);
  });
});
