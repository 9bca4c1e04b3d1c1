import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

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

  it('refuses a secret key with 401 UNAUTHORIZED: a key is nobody', async () => {
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
