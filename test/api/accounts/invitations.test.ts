import { describe, expect, it } from 'vitest';
import { listAdministrators } from '../../../db/accounts/members.ts';
import { codeOf, useApi, type TestApi } from '../../support/api.ts';
import { waitFor } from '../../support/wait-for.ts';

/** On a server that sends account mail, members are invited, and accept or decline. */

type User = Awaited<ReturnType<TestApi['signUp']>>;

const api = await useApi({
  PLATFORM_FROM_ADDRESS: 'noreply@platform.test',
  DASHBOARD_URL: 'https://app.shop.example',
});
const owner = await newUser();
const project = await api.createProject(owner.cookie);

async function newUser(verified = true): Promise<User> {
  const user = await api.signUp();
  const change = api.db.updateTable('app_user').set({ email_verified: verified });
  await change.where('id', '=', user.userId).execute();
  return user;
}

const members = `/projects/:id/members`;
const at = (path: string, id = project.id) => path.replace(':id', id);
const invite = (email: string, more: object = {}, to = project.id) =>
  api.request('POST', at(members, to), { cookie: owner.cookie, body: { email, ...more } });
const accept = ({ cookie }: User, id = project.id) =>
  api.request('POST', `/users/@me/invitations/${id}/accept`, { cookie });
const leave = ({ cookie }: User, id = project.id) =>
  api.request('DELETE', `/users/@me/projects/${id}/membership`, { cookie });
const invitationsOf = async ({ cookie }: User) =>
  (await api.request('GET', '/users/@me/invitations', { cookie })).body;
const contacts = ({ cookie }: User, id = project.id) =>
  api.request('GET', '/contacts', { cookie, headers: { 'X-Project-Id': id } });
const mailsTo = (email: string) =>
  api.db
    .selectFrom('system_mail')
    .select(['subject', 'html'])
    .where('to_email', '=', email)
    .where('subject', 'like', 'Invitation%')
    .execute();

describe('who is invited', () => {
  it('gets one mail, and is listed as invited', async () => {
    const bob = await newUser();
    const { status, body } = await invite(bob.email, { role: 'ADMIN' });
    const invited = { userId: bob.userId, email: bob.email, role: 'ADMIN', status: 'invited' };
    expect([status, body]).toEqual([201, { success: true, data: invited }]);
    const mails = await mailsTo(bob.email);
    expect(mails).toEqual([
      {
        subject: 'Invitation to the project “My shop”',
        html: expect.stringContaining(`${owner.email} invites you`),
      },
    ]);
    expect(mails[0]?.html).toContain('href="https://app.shop.example"');
    const listed = await api.request('GET', at(members), { cookie: owner.cookie });
    expect(listed.body.data[0]).toMatchObject({ userId: owner.userId, status: 'active' });
    const createdAt = expect.stringMatching(/Z$/);
    const addedBy = { type: 'user', id: owner.userId, name: owner.email };
    expect(listed.body.data).toContainEqual({ ...invited, addedBy, managedBy: null, createdAt });
  });

  it('is a stranger to the project, as an ADMIN, too, until the invitation is accepted', async () => {
    const bob = await newUser();
    await invite(bob.email, { role: 'ADMIN' });
    const { cookie } = bob;
    expect(codeOf(await contacts(bob))).toEqual([403, 'PROJECT_ACCESS_DENIED']);
    for (const path of ['members', 'setup-state', 'security']) {
      const refused = await api.request('GET', `/projects/${project.id}/${path}`, { cookie });
      expect(codeOf(refused), path).toEqual([404, 'PROJECT_NOT_FOUND']);
    }
    expect((await api.request('GET', '/users/@me/projects', { cookie })).body).toEqual([]);
    expect(await listAdministrators(api.db, project.id)).not.toContain(bob.email);
    expect((await accept(bob)).status).toBe(200);
    expect((await contacts(bob)).status).toBe(200);
    expect(await listAdministrators(api.db, project.id)).toContain(bob.email);
  });

  it('is invited once: 409 MEMBER_EXISTS, as a member, too', async () => {
    const bob = await newUser();
    await invite(bob.email);
    expect(codeOf(await invite(bob.email))).toEqual([409, 'MEMBER_EXISTS']);
    await accept(bob);
    expect(codeOf(await invite(bob.email))).toEqual([409, 'MEMBER_EXISTS']);
    expect(codeOf(await invite(owner.email))).toEqual([409, 'MEMBER_EXISTS']);
    expect(await mailsTo(bob.email)).toHaveLength(1);
  });

  it('is invited once when two ask at the same moment', async () => {
    const bob = await newUser();
    const answers = await Promise.all([1, 2, 3].map(() => invite(bob.email)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
    expect(await mailsTo(bob.email)).toHaveLength(1);
  });

  it('may be given another role, or uninvited', async () => {
    const bob = await newUser();
    await invite(bob.email);
    const path = `${at(members)}/${bob.userId}`;
    const { cookie } = owner;
    const changed = await api.request('PATCH', path, { cookie, body: { role: 'ADMIN' } });
    expect([changed.status, changed.body.data]).toEqual([
      200,
      { userId: bob.userId, email: bob.email, role: 'ADMIN', status: 'invited' },
    ]);
    expect(await invitationsOf(bob)).toMatchObject([{ role: 'ADMIN' }]);
    expect((await api.request('DELETE', path, { cookie })).status).toBe(200);
    expect(codeOf(await api.request('DELETE', path, { cookie }))).toEqual([
      404,
      'MEMBER_NOT_FOUND',
    ]);
    expect(await invitationsOf(bob)).toEqual([]);
    expect(codeOf(await accept(bob))).toEqual([404, 'PROJECT_NOT_FOUND']);
  });

  it('gets at most ten invitations by mail within an hour; the others wait in the list', async () => {
    const bob = await newUser();
    const path = `${at(members)}/${bob.userId}`;
    for (let i = 0; i < 11; i += 1) {
      expect((await invite(bob.email)).status).toBe(201);
      if (i < 10) await api.request('DELETE', path, { cookie: owner.cookie });
    }
    expect(await mailsTo(bob.email)).toHaveLength(10);
    expect(await invitationsOf(bob)).toHaveLength(1);
  });

  it('reads no link in the name of the project', async () => {
    const bob = await newUser();
    const evil = await api.createProject(owner.cookie, 'Visit https://evil.example <b>now</b>');
    await invite(bob.email, {}, evil.id);
    const [mail] = await mailsTo(bob.email);
    expect(mail?.subject).toBe('Invitation to the project “Visit https evil example <b>now</b>”');
    expect(mail?.html).toContain('“Visit https evil example &lt;b&gt;now&lt;/b&gt;”');
    expect(mail?.html).not.toContain('evil.example');
  });
});

describe('an invitation', () => {
  it('is listed for its user, the newest first, also before the address is verified', async () => {
    const bob = await newUser(false);
    const second = await api.createProject(owner.cookie, 'Second shop');
    await invite(bob.email);
    await invite(bob.email, { role: 'ADMIN' }, second.id);
    const createdAt = expect.stringMatching(/Z$/);
    expect(await invitationsOf(bob)).toEqual([
      { projectId: second.id, projectName: 'Second shop', role: 'ADMIN', createdAt },
      { projectId: project.id, projectName: 'My shop', role: 'MEMBER', createdAt },
    ]);
    for (const refused of [await accept(bob), await leave(bob)]) {
      expect(codeOf(refused)).toEqual([403, 'EMAIL_VERIFICATION_REQUIRED']);
    }
    expect(codeOf(await contacts(bob))).toEqual([403, 'PROJECT_ACCESS_DENIED']);
  });

  it('is accepted once, by its user alone', async () => {
    const bob = await newUser();
    const eve = await newUser();
    await invite(bob.email);
    expect(codeOf(await accept(eve))).toEqual([404, 'PROJECT_NOT_FOUND']);
    expect(codeOf(await accept(owner))).toEqual([404, 'PROJECT_NOT_FOUND']);
    const accepted = await accept(bob);
    expect([accepted.status, accepted.body]).toEqual([
      200,
      expect.objectContaining({ id: project.id, name: 'My shop', role: 'MEMBER' }),
    ]);
    expect(accepted.body.secret).toMatch(/^sk_…/);
    expect(accepted.body.webhookSigningSecret).toBeNull();
    expect(codeOf(await accept(bob))).toEqual([404, 'PROJECT_NOT_FOUND']);
    expect(await invitationsOf(bob)).toEqual([]);
    const mine = await api.request('GET', '/users/@me/projects', { cookie: bob.cookie });
    expect(mine.body).toEqual([accepted.body]);
  });

  it('is declined', async () => {
    const bob = await newUser();
    await invite(bob.email);
    const { status, body } = await leave(bob);
    expect([status, body]).toEqual([200, { success: true, message: expect.any(String) }]);
    expect(codeOf(await accept(bob))).toEqual([404, 'PROJECT_NOT_FOUND']);
    expect(codeOf(await leave(bob))).toEqual([404, 'PROJECT_NOT_FOUND']);
  });

  it('to a disabled project cannot be accepted, and can be declined', async () => {
    const bob = await newUser();
    const ada = await newUser();
    const { id } = await api.createProject(ada.cookie);
    await api.request('POST', at(members, id), { cookie: ada.cookie, body: { email: bob.email } });
    await api.db
      .updateTable('project')
      .set({ disabled_reason: 'MANUAL' })
      .where('id', '=', id)
      .execute();
    expect(codeOf(await accept(bob, id))).toEqual([403, 'PROJECT_DISABLED']);
    expect((await leave(bob, id)).status).toBe(200);
    expect(await invitationsOf(bob)).toEqual([]);
  });

  it('stays with a project that is reset, and goes with one that is deleted', async () => {
    const bob = await newUser();
    const { id } = await api.createProject(owner.cookie, 'Reset shop');
    const gone = await api.createProject(owner.cookie);
    await invite(bob.email, {}, id);
    await invite(bob.email, {}, gone.id);
    const { cookie } = owner;
    await api.request('POST', `/users/@me/projects/${id}/reset`, { cookie });
    await api.request('DELETE', `/users/@me/projects/${gone.id}`, { cookie });
    expect(await invitationsOf(bob)).toMatchObject([{ projectId: id, projectName: 'Reset shop' }]);
    const accepted = await accept(bob, id);
    expect([accepted.status, accepted.body.id]).toEqual([200, id]);
    expect((await contacts(bob, id)).status).toBe(200);
    expect(codeOf(await accept(bob, gone.id))).toEqual([404, 'PROJECT_NOT_FOUND']);
    expect((await leave(bob, id)).status).toBe(200);
  });

  it('ends with the account of who is invited', async () => {
    const bob = await newUser();
    await invite(bob.email);
    const { cookie } = bob;
    await api.request('DELETE', '/users/@me', { cookie, body: { password: 'a password' } });
    const listed = await api.request('GET', at(members), { cookie: owner.cookie });
    expect(JSON.stringify(listed.body)).not.toContain(bob.userId);
  });

  it('ends when the user becomes a member in another way', async () => {
    const bob = await newUser();
    await invite(bob.email, { role: 'ADMIN' });
    const row = { project_id: project.id, user_id: bob.userId, role: 'MEMBER' };
    await api.db.insertInto('membership').values(row).execute();
    expect(await invitationsOf(bob)).toEqual([]);
    expect(codeOf(await accept(bob))).toEqual([404, 'PROJECT_NOT_FOUND']);
  });

  it('that is taken back while it is accepted leaves no member', async () => {
    for (let round = 0; round < 5; round += 1) {
      const bob = await newUser();
      await invite(bob.email);
      const path = `${at(members)}/${bob.userId}`;
      const [, removed] = await Promise.all([
        accept(bob),
        api.request('DELETE', path, { cookie: owner.cookie }),
      ]);
      expect(removed.status).toBe(200);
      await waitFor('bob to be out', async () => (await contacts(bob)).status === 403);
      expect(await invitationsOf(bob)).toEqual([]);
    }
  });
});

describe('a member', () => {
  it('may leave: what they saw is closed to them', async () => {
    const bob = await newUser();
    await invite(bob.email);
    await accept(bob);
    expect((await contacts(bob)).status).toBe(200);
    const { status, body } = await leave(bob);
    expect([status, body]).toEqual([200, { success: true, message: expect.any(String) }]);
    expect(codeOf(await contacts(bob))).toEqual([403, 'PROJECT_ACCESS_DENIED']);
    expect(codeOf(await leave(bob))).toEqual([404, 'PROJECT_NOT_FOUND']);
    expect((await invite(bob.email)).status).toBe(201);
  });

  it('cannot leave as the owner: 403 OWNER_PROTECTED', async () => {
    expect(codeOf(await leave(owner))).toEqual([403, 'OWNER_PROTECTED']);
  });
});
