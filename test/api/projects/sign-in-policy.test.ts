import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { codeOf, cookieOf, useApi } from '../../support/api.ts';
import { addAuthenticator, cookiesOf } from '../../support/second-factor.ts';
import { sessionSince } from '../../support/sessions.ts';

const api = await useApi();

async function projectWithMember() {
  const owner = await api.signUp();
  const member = await api.signUp();
  const { id, secretKey: key } = await api.createProject(owner.cookie);
  await api.request('POST', `/projects/${id}/members`, { key, body: { email: member.email } });
  const path = `/users/@me/projects/${id}/sign-in-policy`;
  const set = (cookie: string, requireSecondFactor: boolean) =>
    api.request('PUT', path, { cookie, body: { requireSecondFactor } });
  const contacts = (by: { cookie?: string; key?: string }) =>
    api.request('GET', '/contacts', { ...by, headers: by.cookie ? { 'X-Project-Id': id } : {} });
  return { id, key, owner, member, path, set, contacts };
}

describe('a project that demands a second factor', () => {
  it('is closed at once to sessions without one, and open after a code', async () => {
    const { id, key, owner, member, path, set, contacts } = await projectWithMember();
    const app = await addAuthenticator(api, owner.cookie);
    const changed = await set(app.cookie, true);
    expect(changed.body).toEqual({
      requireSecondFactor: true,
      rules: [],
      updatedAt: expect.stringMatching(/Z$/),
    });
    const refused = await contacts({ cookie: member.cookie });
    expect(codeOf(refused)).toEqual([403, 'SECOND_FACTOR_REQUIRED']);
    expect(refused.body.error.details).toEqual({ enrolled: false });
    for (const closed of [`/projects/${id}/members`, path, `/users/@me/projects/${id}/security`]) {
      const answer = await api.request('GET', closed, { cookie: member.cookie });
      expect([closed, ...codeOf(answer)]).toEqual([closed, 403, 'SECOND_FACTOR_REQUIRED']);
    }
    expect((await contacts({ key })).status).toBe(200);
    expect((await contacts({ cookie: app.cookie })).status).toBe(200);
    const theirs = await addAuthenticator(api, member.cookie);
    expect((await contacts({ cookie: theirs.cookie })).status).toBe(200);
    const last = await api.request('DELETE', `/users/@me/factors/${theirs.id}`, {
      cookie: theirs.cookie,
    });
    expect(codeOf(last)).toEqual([409, 'FACTOR_NEEDED']);
    const login = await api.request('POST', '/auth/login', {
      body: { email: member.email, password: 'a password' },
    });
    const proven = await api.request('POST', '/auth/second-factor', {
      cookie: cookiesOf(login),
      body: { code: theirs.code() },
    });
    expect((await contacts({ cookie: cookieOf(proven) })).status).toBe(200);
  });

  it('is still in the list of its members, without secrets, and can be left', async () => {
    const { id, owner, member, set } = await projectWithMember();
    const app = await addAuthenticator(api, owner.cookie);
    await set(app.cookie, true);
    await sql`update membership set role = 'ADMIN' where user_id = ${member.userId}`.execute(
      api.db,
    );
    const { cookie } = member;
    const { body } = await api.request('GET', '/users/@me/projects', { cookie });
    expect(body).toMatchObject([{ id, secondFactorRequired: true, webhookSigningSecret: null }]);
    const { body: own } = await api.request('GET', '/users/@me/projects', { cookie: app.cookie });
    expect(own[0]).not.toHaveProperty('secondFactorRequired');
    expect(own[0].webhookSigningSecret).toMatch(/^whsec_/);
    const { body: factors } = await api.request('GET', '/users/@me/factors', { cookie });
    expect(factors.required).toBe(true);
    const left = await api.request('DELETE', `/users/@me/projects/${id}/membership`, { cookie });
    expect(left.status).toBe(200);
  });

  it('keeps the demand when it is reset', async () => {
    const { id, owner, member, set, contacts } = await projectWithMember();
    const app = await addAuthenticator(api, owner.cookie);
    await set(app.cookie, true);
    await api.request('POST', `/users/@me/projects/${id}/reset`, { cookie: app.cookie });
    expect(codeOf(await contacts({ cookie: member.cookie }))).toEqual([
      403,
      'SECOND_FACTOR_REQUIRED',
    ]);
  });
});

describe('the demand', () => {
  it('can only be made by an owner whose session has a factor and is fresh', async () => {
    const { owner, member, set } = await projectWithMember();
    expect(codeOf(await set(member.cookie, true))).toEqual([403, 'INSUFFICIENT_ROLE']);
    await sql`update membership set role = 'ADMIN' where user_id = ${member.userId}`.execute(
      api.db,
    );
    expect(codeOf(await set(member.cookie, true))).toEqual([403, 'INSUFFICIENT_ROLE']);
    expect(codeOf(await set(owner.cookie, true))).toEqual([403, 'SECOND_FACTOR_REQUIRED']);
    expect((await set(owner.cookie, false)).status).toBe(200);
    const old = await sessionSince(api, owner.userId, 121);
    expect(codeOf(await set(old, true))).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
  });
});

it('an old session makes, changes and rotates no API keys, but revokes them', async () => {
  const { id, owner } = await projectWithMember();
  const headers = { 'X-Project-Id': id };
  const body = { name: 'Shop', scopes: ['contacts:read'] };
  const made = await api.request('POST', '/api-keys', { cookie: owner.cookie, headers, body });
  expect(made.status).toBe(201);
  const cookie = await sessionSince(api, owner.userId, 121);
  const path = `/api-keys/${made.body.id}`;
  const refused = await Promise.all([
    api.request('POST', '/api-keys', { cookie, headers, body }),
    api.request('PATCH', path, { cookie, headers, body: { name: 'Other' } }),
    api.request('POST', `${path}/rotate`, { cookie, headers, body: {} }),
  ]);
  const reason = [403, 'REAUTHENTICATION_REQUIRED'];
  expect(refused.map(codeOf)).toEqual([reason, reason, reason]);
  expect((await api.request('DELETE', path, { cookie, headers })).status).toBe(204);
});
