import { describe, expect, it } from 'vitest';
import { codeOf, useApi } from '../../support/api.ts';
import { insertNamedKey } from '../../support/projects/named-keys.ts';
import { sessionSince } from '../../support/sessions.ts';

/** Tests which API keys may make members administrators. */

const api = await useApi();

async function useProject() {
  const owner = await api.signUp();
  const project = await api.createProject(owner.cookie);
  const { key: named } = await insertNamedKey(api.db, project.id, { scopes: ['*'] });
  const path = `/projects/${project.id}/members`;
  return {
    ...project,
    owner,
    named,
    invite: (email: string, role: string, by: object) =>
      api.request('POST', path, { ...by, body: { email, role } }),
    raise: (userId: string, role: string, by: object) =>
      api.request('PATCH', `${path}/${userId}`, { ...by, body: { role } }),
    remove: (userId: string, by: object) => api.request('DELETE', `${path}/${userId}`, by),
    members: async () => (await api.request('GET', path, { cookie: owner.cookie })).body.data,
    allow: (keysMayNameAdmins: unknown, cookie = owner.cookie) =>
      api.request('PATCH', `/users/@me/projects/${project.id}`, {
        cookie,
        body: { keysMayNameAdmins },
      }),
  };
}

describe('without leave of the owner', () => {
  it('a key invites and removes members, and makes no administrator', async () => {
    const { secretKey, named, invite, raise, remove } = await useProject();
    for (const key of [secretKey, named]) {
      const bob = await api.signUp();
      expect(codeOf(await invite(bob.email, 'ADMIN', { key }))).toEqual([403, 'SESSION_REQUIRED']);
      expect((await invite(bob.email, 'MEMBER', { key })).status).toBe(200);
      expect(codeOf(await raise(bob.userId, 'ADMIN', { key }))).toEqual([403, 'SESSION_REQUIRED']);
      expect((await raise(bob.userId, 'MEMBER', { key })).status).toBe(200);
      expect((await remove(bob.userId, { key })).status).toBe(200);
    }
  });

  it('a key may lower an administrator, and repeat the role that one has', async () => {
    const { secretKey: key, owner, invite, raise } = await useProject();
    const bob = await api.signUp();
    await invite(bob.email, 'ADMIN', { cookie: owner.cookie });
    expect((await raise(bob.userId, 'ADMIN', { key })).status).toBe(200);
    expect((await raise(bob.userId, 'MEMBER', { key })).body.data.role).toBe('MEMBER');
    expect(codeOf(await raise(bob.userId, 'ADMIN', { key }))).toEqual([403, 'SESSION_REQUIRED']);
  });

  it('neither does a repeat of a request that the owner has allowed before', async () => {
    const { secretKey: key, allow, id } = await useProject();
    const bob = await api.signUp();
    const invite = () =>
      api.request('POST', `/projects/${id}/members`, {
        key,
        headers: { 'Idempotency-Key': 'once' },
        body: { email: bob.email, role: 'ADMIN' },
      });
    await allow(true);
    expect((await invite()).status).toBe(200);
    await allow(false);
    expect(codeOf(await invite())).toEqual([403, 'SESSION_REQUIRED']);
  });

  it('is refused before the rest of the body is checked', async () => {
    const { secretKey: key, invite } = await useProject();
    expect(codeOf(await invite('no address', 'ADMIN', { key }))).toEqual([403, 'SESSION_REQUIRED']);
  });
});

describe('with `keysMayNameAdmins`', () => {
  it('the secret key of the pair makes administrators, a named key still does not', async () => {
    const { secretKey: key, named, invite, raise, allow } = await useProject();
    expect((await allow(true)).body.keysMayNameAdmins).toBe(true);
    const [bob, eve] = [await api.signUp(), await api.signUp()];
    expect((await invite(bob.email, 'ADMIN', { key })).status).toBe(200);
    await invite(eve.email, 'MEMBER', { key });
    expect((await raise(eve.userId, 'ADMIN', { key })).status).toBe(200);
    const zoe = await api.signUp();
    const refused = await invite(zoe.email, 'ADMIN', { key: named });
    expect(codeOf(refused)).toEqual([403, 'SESSION_REQUIRED']);
    expect('keysMayNameAdmins' in (await allow(false)).body).toBe(false);
    expect(codeOf(await invite(zoe.email, 'ADMIN', { key }))).toEqual([403, 'SESSION_REQUIRED']);
  });

  it('is set by the owner only, after a recent login, and leaves a security event', async () => {
    const { owner, invite, allow, id } = await useProject();
    const admin = await api.signUp();
    await invite(admin.email, 'ADMIN', { cookie: owner.cookie });
    expect(codeOf(await allow(true, admin.cookie))).toEqual([403, 'INSUFFICIENT_ROLE']);
    expect(codeOf(await allow('maybe', admin.cookie))).toEqual([403, 'INSUFFICIENT_ROLE']);
    expect(codeOf(await allow('maybe'))).toEqual([422, 'VALIDATION_ERROR']);
    await allow(true);
    const events = await api.request('GET', '/security-events?event=project.changed', {
      cookie: owner.cookie,
      headers: { 'X-Project-Id': id },
    });
    expect(events.body.data).toMatchObject([
      {
        target: { type: 'project', id },
        changes: [{ field: 'keysMayNameAdmins', before: false, after: true }],
      },
    ]);
    const old = await sessionSince(api, owner.userId, 200);
    expect(codeOf(await allow(false, old))).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
  });

  it('stays when the project is reset', async () => {
    const { owner, secretKey: key, invite, allow, id } = await useProject();
    await allow(true);
    const path = `/users/@me/projects/${id}/reset`;
    expect((await api.request('POST', path, { cookie: owner.cookie })).status).toBe(200);
    const bob = await api.signUp();
    expect((await invite(bob.email, 'ADMIN', { key })).status).toBe(200);
  });
});

describe('members', () => {
  it('say who added them', async () => {
    const { owner, secretKey, named, invite, members } = await useProject();
    const users = [await api.signUp(), await api.signUp(), await api.signUp()];
    for (const [at, by] of [{ cookie: owner.cookie }, { key: secretKey }, { key: named }].entries())
      await invite(users[at]!.email, 'MEMBER', by);
    expect((await members()).map((one: Record<string, unknown>) => one['addedBy'])).toEqual([
      null,
      { type: 'user', id: owner.userId, name: owner.email },
      { type: 'key', id: 'secret', name: 'Secret key' },
      { type: 'key', id: expect.any(String), name: expect.any(String) },
    ]);
  });

  it('of two changes at once, a key never sees a role that is no longer true', async () => {
    const { owner, secretKey: key, invite, raise, members } = await useProject();
    const bob = await api.signUp();
    await invite(bob.email, 'ADMIN', { cookie: owner.cookie });
    const [lowered, raised] = await Promise.all([
      raise(bob.userId, 'MEMBER', { cookie: owner.cookie }),
      raise(bob.userId, 'ADMIN', { key }),
    ]);
    expect(lowered.status).toBe(200);
    expect([200, 403]).toContain(raised.status);
    expect((await members())[1].role).toBe('MEMBER');
  });
});
