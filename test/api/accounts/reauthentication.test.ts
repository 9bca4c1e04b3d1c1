import { describe, expect, it } from 'vitest';
import { cookieOf, useApi } from '../../support/api.ts';
import { sessionSince } from '../../support/sessions.ts';

/** Irreversible actions need a login of the last two hours, or a secret key. */

const api = await useApi();

/** An owner with a project and a member, as seen by a session of that age. */
async function project(minutes: number, on = api) {
  const owner = await on.signUp();
  const member = await on.signUp();
  const { id, secretKey } = await on.createProject(owner.cookie);
  const invite = (body: object, by: object) =>
    on.request('POST', `/projects/${id}/members`, { ...by, body });
  await invite({ email: member.email }, { key: secretKey });
  const cookie = await sessionSince(on, owner.userId, minutes);
  return { id, secretKey, owner, member, cookie, invite };
}

const guarded: [name: string, method: string, path: string, body?: object][] = [
  ['regenerating keys', 'POST', '/users/@me/projects/{id}/regenerate-keys'],
  ['regenerating the webhook secret', 'POST', '/users/@me/projects/{id}/regenerate-webhook-secret'],
  ['resetting a project', 'POST', '/users/@me/projects/{id}/reset'],
  ['changing a role', 'PATCH', '/projects/{id}/members/{userId}', { role: 'ADMIN' }],
  ['inviting an administrator', 'POST', '/projects/{id}/members', { role: 'ADMIN' }],
  ['deleting a project', 'DELETE', '/users/@me/projects/{id}'],
];

describe.each(guarded)('%s', (_, method, template, body) => {
  const request = async ({ id, member }: Awaited<ReturnType<typeof project>>, by: object) => {
    const path = template.replace('{id}', id).replace('{userId}', member.userId);
    const isInvitation = template.endsWith('/members');
    const email = isInvitation ? (await api.signUp()).email : undefined;
    return api.request(method, path, { ...by, ...(body ? { body: { ...body, email } } : {}) });
  };

  it('is refused to a session of more than two hours, and taken after a login', async () => {
    const made = await project(121);
    const refused = await request(made, { cookie: made.cookie });
    expect([refused.status, refused.body.error.code]).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
    expect(refused.body.error.suggestion).toContain('POST /auth/login');
    const login = await api.request('POST', '/auth/login', {
      body: { email: made.owner.email, password: 'a password' },
    });
    const taken = await request(made, { cookie: cookieOf(login) });
    expect([taken.status, taken.body.error]).toEqual([expect.any(Number), undefined]);
  });

  it('is taken from a session of less than two hours', async () => {
    const made = await project(119);
    const taken = await request(made, { cookie: made.cookie });
    expect([taken.status, taken.body.error]).toEqual([expect.any(Number), undefined]);
  });
});

describe('a session of more than two hours', () => {
  it('still reads, writes and invites members', async () => {
    const { id, cookie, invite } = await project(3 * 24 * 60);
    const headers = { 'X-Project-Id': id };
    const { email } = await api.signUp();
    const answers = await Promise.all([
      api.request('GET', '/users/@me', { cookie }),
      api.request('POST', '/contacts', { cookie, headers, body: { email: 'ada@x.example' } }),
      api.request('PATCH', `/users/@me/projects/${id}`, { cookie, body: { name: 'Shop' } }),
      invite({ email }, { cookie }),
    ]);
    expect(answers.map(({ body }) => body.error)).toEqual(answers.map(() => undefined));
  });

  it('deletes the account with its password: that is a login', async () => {
    const { userId } = await api.signUp();
    const cookie = await sessionSince(api, userId, 200);
    const body = { password: 'a password' };
    expect((await api.request('DELETE', '/users/@me', { cookie, body })).status).toBe(200);
  });

  it('does not delete an account without a password', async () => {
    const { userId } = await api.signUp();
    await api.db
      .updateTable('app_user')
      .set({ type: 'GITHUB_OAUTH', password_hash: null, provider_id: userId })
      .where('id', '=', userId)
      .execute();
    const refused = await api.request('DELETE', '/users/@me', {
      cookie: await sessionSince(api, userId, 200),
    });
    expect(refused.body.error?.code).toBe('REAUTHENTICATION_REQUIRED');
    const cookie = await sessionSince(api, userId, 5);
    expect((await api.request('DELETE', '/users/@me', { cookie })).status).toBe(200);
  });
});

it('a secret key is not asked', async () => {
  const { id, member, secretKey: key } = await project(200);
  const { email } = await api.signUp();
  const path = `/projects/${id}/members`;
  expect((await api.request('POST', path, { key, body: { email } })).status).toBe(200);
  const changed = { key, body: { role: 'MEMBER' } };
  expect((await api.request('PATCH', `${path}/${member.userId}`, changed)).status).toBe(200);
});

it.each([
  ['5', 4, undefined],
  ['5', 6, 'REAUTHENTICATION_REQUIRED'],
  ['0', 5 * 24 * 60, undefined],
])('REAUTHENTICATION_MINUTES=%s: a session of %s minutes', async (setting, minutes, code) => {
  const other = await useApi({ REAUTHENTICATION_MINUTES: setting });
  const { id, cookie } = await project(minutes, other);
  const path = `/users/@me/projects/${id}/regenerate-keys`;
  const answer = await other.request('POST', path, { cookie });
  expect(answer.body.error?.code).toBe(code);
});
