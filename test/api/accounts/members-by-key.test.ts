import { describe, expect, it } from 'vitest';
import { useApi, type TestApi } from '../../support/api.ts';

/** Tests how a secret key manages the members of a project. */

type User = Awaited<ReturnType<TestApi['signUp']>>;

const link = 'https://app.shop.example';
const api = await useApi({
  PLATFORM_FROM_ADDRESS: 'noreply@platform.test',
  DASHBOARD_URL: link,
});

async function newUser(): Promise<User> {
  const user = await api.signUp();
  const change = api.db.updateTable('app_user').set({ email_verified: true });
  await change.where('id', '=', user.userId).execute();
  return user;
}

/**
 * A project with an owner, an administrator and a member, whose secret key may make administrators.
 */
async function useProject() {
  const [owner, admin, member] = [await newUser(), await newUser(), await newUser()];
  const project = await api.createProject(owner.cookie);
  await api.request('PATCH', `/users/@me/projects/${project.id}`, {
    cookie: owner.cookie,
    body: { keysMayNameAdmins: true },
  });
  for (const [user, role] of [
    [admin, 'ADMIN'],
    [member, 'MEMBER'],
  ] as const) {
    await api.db
      .insertInto('membership')
      .values({ project_id: project.id, user_id: user.userId, role })
      .execute();
  }
  const path = `/projects/${project.id}/members`;
  const by = { key: project.secretKey };
  const session = { cookie: owner.cookie };
  return {
    ...project,
    owner,
    admin,
    member,
    add: (email: string, role: string, as: object = by) =>
      api.request('POST', path, { ...as, body: { email, role } }),
    change: ({ userId }: User, role: string, as: object = by) =>
      api.request('PATCH', `${path}/${userId}`, { ...as, body: { role } }),
    remove: ({ userId }: User, as: object = by) => api.request('DELETE', `${path}/${userId}`, as),
    session,
    regenerate: async () =>
      (await api.request('POST', `/users/@me/projects/${project.id}/regenerate-keys`, session))
        .body,
  };
}

const mailsTo = ({ email }: User) =>
  api.db
    .selectFrom('system_mail')
    .select(['subject', 'html'])
    .where('to_email', '=', email)
    .where('subject', 'like', 'The members of the project%')
    .orderBy('created_at')
    .execute();

describe('a change of members by a secret key', () => {
  it('notifies every administrator, and no other member', async () => {
    const { owner, admin, member, add, change, remove } = await useProject();
    const bob = await newUser();
    expect((await add(bob.email, 'ADMIN')).status).toBe(201);
    expect((await change(bob, 'MEMBER')).status).toBe(200);
    expect((await remove(bob)).status).toBe(200);
    for (const user of [owner, admin]) {
      const mails = await mailsTo(user);
      expect(mails.map(({ subject }) => subject)).toEqual(
        Array.from({ length: 3 }, () => expect.stringContaining('members of the project “')),
      );
      expect(mails.map(({ html }) => html)).toEqual([
        expect.stringContaining(`invited ${bob.email} with the role ADMIN`),
        expect.stringContaining(`gave ${bob.email} the role MEMBER`),
        expect.stringContaining(`removed ${bob.email}`),
      ]);
      expect(mails[0]!.html).toContain(link);
    }
    expect([await mailsTo(member), await mailsTo(bob)]).toEqual([[], []]);
    expect(api.dispatched.at(-1)).toMatch(/^platform-mail-/);
  });

  it('notifies an administrator who loses the role by it, too', async () => {
    const { owner, admin, member, change, remove } = await useProject();
    await change(admin, 'MEMBER');
    expect(await mailsTo(admin)).toHaveLength(1);
    await change(member, 'ADMIN');
    await remove(member);
    expect(await mailsTo(member)).toHaveLength(1);
    expect(await mailsTo(owner)).toHaveLength(3);
  });

  it('sends no notice when nothing has changed, or a session made the change', async () => {
    const { owner, member, add, change, remove, session } = await useProject();
    const bob = await newUser();
    await change(member, 'MEMBER');
    expect((await add(member.email, 'MEMBER')).status).toBe(409);
    expect((await remove(owner)).status).toBe(403);
    await add(bob.email, 'MEMBER', session);
    await change(bob, 'ADMIN', session);
    await remove(bob, session);
    expect(await mailsTo(owner)).toEqual([]);
  });

  it('fills no mailbox: 20 mails an hour at most', async () => {
    const { owner, member, change } = await useProject();
    for (let time = 0; time < 24; time += 1) await change(member, time % 2 ? 'MEMBER' : 'ADMIN');
    expect(await mailsTo(owner)).toHaveLength(20);
  });
});

describe('regenerating the keys', () => {
  it('lists those whom a key has added or raised in the last 30 days', async () => {
    const { id, admin, member, add, change, session, regenerate } = await useProject();
    expect('membersByKey' in (await regenerate())).toBe(false);
    const [bob, eve, old] = [await newUser(), await newUser(), await newUser()];
    const { secret } = await regenerate();
    const key = { key: secret };
    await add(bob.email, 'MEMBER', key);
    await add(eve.email, 'ADMIN', session);
    await add(old.email, 'MEMBER', key);
    await change(member, 'ADMIN', key);
    await change(admin, 'ADMIN', key);
    await api.db
      .updateTable('invitation')
      .set({ by_key_at: new Date(Date.now() - 31 * 86_400_000) })
      .where('user_id', '=', old.userId)
      .execute();
    const listed = async () =>
      (await regenerate()).membersByKey.map((one: Record<string, unknown>) => [
        one['email'],
        one['role'],
        one['status'],
      ]);
    expect(await listed()).toEqual([
      [member.email, 'ADMIN', 'active'],
      [bob.email, 'MEMBER', 'invited'],
    ]);
    const { cookie } = bob;
    const accepted = await api.request('POST', `/users/@me/invitations/${id}/accept`, { cookie });
    expect(accepted.status).toBe(200);
    expect(await listed()).toEqual([
      [member.email, 'ADMIN', 'active'],
      [bob.email, 'MEMBER', 'active'],
    ]);
  });
});
