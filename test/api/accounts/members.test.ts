import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { codeOf, useApi } from '../../support/api.ts';

const api = await useApi();
const owner = await api.signUp();
const project = await api.createProject(owner.cookie);

const path = (userId = '') => `/projects/${project.id}/members${userId && `/${userId}`}`;
const by = ({ cookie }: { cookie: string }) => ({ cookie });
const add = (email: string, as = by(owner), more: object = {}) =>
  api.request('POST', path(), { ...as, body: { email, ...more } });

describe('members', () => {
  it('are listed with the owner first', async () => {
    const bob = await api.signUp();
    const added = await add(` ${bob.email.toUpperCase()} `);
    expect([added.status, added.body]).toEqual([
      200,
      {
        success: true,
        data: { userId: bob.userId, email: bob.email, role: 'MEMBER', status: 'active' },
      },
    ]);
    const { status, body } = await api.request('GET', path(), by(bob));
    expect(status).toBe(200);
    expect(body.success).toBe(true);
    expect(body.data[0]).toEqual({
      userId: owner.userId,
      email: owner.email,
      role: 'OWNER',
      status: 'active',
      addedBy: null,
      managedBy: null,
      createdAt: expect.stringMatching(/Z$/),
    });
    expect(body.data).toContainEqual(
      expect.objectContaining({ userId: bob.userId, role: 'MEMBER', status: 'active' }),
    );
  });

  it('must have an account: 404 USER_NOT_FOUND', async () => {
    expect(codeOf(await add(`${randomUUID()}@users.test`))).toEqual([404, 'USER_NOT_FOUND']);
  });

  it('are members once: 409 MEMBER_EXISTS, also for the owner', async () => {
    const bob = await api.signUp();
    await add(bob.email);
    expect(codeOf(await add(bob.email))).toEqual([409, 'MEMBER_EXISTS']);
    expect(codeOf(await add(owner.email))).toEqual([409, 'MEMBER_EXISTS']);
  });

  it('cannot be made owners: 422', async () => {
    const bob = await api.signUp();
    const refused = await add(bob.email, by(owner), { role: 'OWNER' });
    expect([refused.status, refused.body.error.errors[0].code]).toEqual([
      422,
      'invalid_enum_value',
    ]);
  });

  it('may be added, changed and removed with the secret key', async () => {
    const bob = await api.signUp();
    const key = { key: project.secretKey };
    const added = await api.request('POST', path(), { ...key, body: { email: bob.email } });
    expect(added.status).toBe(200);
    await api.request('PATCH', path(bob.userId), { ...by(owner), body: { role: 'ADMIN' } });
    const changed = await api.request('PATCH', path(bob.userId), {
      ...key,
      body: { role: 'MEMBER' },
    });
    expect(changed.body.data).toEqual({
      userId: bob.userId,
      email: bob.email,
      role: 'MEMBER',
      status: 'active',
    });
    const removed = await api.request('DELETE', path(bob.userId), key);
    expect([removed.status, removed.body]).toEqual([
      200,
      { success: true, data: { message: expect.any(String) } },
    ]);
    expect((await api.request('GET', path(), by(bob))).status).toBe(404);
  });

  it('protects the owner from everybody with 403 OWNER_PROTECTED', async () => {
    const admin = await api.signUp();
    await add(admin.email, by(owner), { role: 'ADMIN' });
    for (const as of [by(owner), by(admin), { key: project.secretKey }]) {
      const removal = await api.request('DELETE', path(owner.userId), as);
      expect(codeOf(removal)).toEqual([403, 'OWNER_PROTECTED']);
      const change = await api.request('PATCH', path(owner.userId), {
        ...as,
        body: { role: 'MEMBER' },
      });
      expect(codeOf(change)).toEqual([403, 'OWNER_PROTECTED']);
    }
  });

  it('cannot remove themselves: 403 SELF_REMOVAL', async () => {
    const admin = await api.signUp();
    await add(admin.email, by(owner), { role: 'ADMIN' });
    const refused = await api.request('DELETE', path(admin.userId), by(admin));
    expect(codeOf(refused)).toEqual([403, 'SELF_REMOVAL']);
  });

  it('answers 404 MEMBER_NOT_FOUND for who is none', async () => {
    const stranger = await api.signUp();
    const removal = await api.request('DELETE', path(stranger.userId), by(owner));
    expect(codeOf(removal)).toEqual([404, 'MEMBER_NOT_FOUND']);
  });

  it('answers strangers, with cookie or key, 404 PROJECT_NOT_FOUND', async () => {
    const stranger = await api.signUp();
    const { secretKey } = await api.createProject(stranger.cookie);
    for (const as of [by(stranger), { key: secretKey }]) {
      for (const [method, at, body] of [
        ['GET', path()],
        ['POST', path(), { email: stranger.email }],
        ['PATCH', path(owner.userId), { role: 'MEMBER' }],
        ['DELETE', path(owner.userId)],
      ] as const) {
        const refused = await api.request(method, at, { ...as, ...(body ? { body } : {}) });
        expect(codeOf(refused), `${method} ${at}`).toEqual([404, 'PROJECT_NOT_FOUND']);
      }
    }
  });
});

describe('a MEMBER', () => {
  it('may look at it', async () => {
    const bob = await api.signUp();
    await add(bob.email);
    for (const at of ['members', 'setup-state', 'security']) {
      const answer = await api.request('GET', `/projects/${project.id}/${at}`, by(bob));
      expect(answer.status, at).toBe(200);
    }
  });
});
