import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { tasksOf } from '../../support/sweep-now.ts';

/** Events and mails about named keys that end. */

const api = await useApi();
const { db } = api;
const dayMs = 86_400_000;
const tasks = tasksOf(api, { platformFrom: 'team@everpost.test' });

/** A project with an administrator and a member besides its owner. */
async function newProject() {
  const owner = await api.signUp();
  const { id, secretKey } = await api.createProject(owner.cookie);
  const [admin, member] = [await api.signUp(), await api.signUp()];
  await db
    .insertInto('membership')
    .values([
      { project_id: id, user_id: admin.userId, role: 'ADMIN' },
      { project_id: id, user_id: member.userId, role: 'MEMBER' },
    ])
    .execute();
  const call = (method: string, path: string, body?: unknown) =>
    api.request(method, path, { key: secretKey, body });
  return { id, owner, admin, member, call };
}
type Project = Awaited<ReturnType<typeof newProject>>;

const inDays = (days: number, ms = 0) => new Date(Date.now() + days * dayMs + ms).toISOString();

async function makeKey({ call }: Pick<Project, 'call'>, expiresAt: string, name = 'Shop') {
  const { status, body } = await call('POST', '/api-keys', { name, scopes: ['*'], expiresAt });
  expect(status).toBe(201);
  return body.id as string;
}

/** Lets days pass for a key: its end and its notices come earlier. */
const passDays = (id: string, days: number) =>
  sql`update api_key set expires_at = expires_at - ${days} * interval '24 hours',
      notice_at = notice_at - ${days} * interval '24 hours' where id = ${id}`.execute(db);

const eventsOf = async (projectId: string) =>
  db
    .selectFrom('event')
    .select(['name', 'contact_id', 'data'])
    .where('project_id', '=', projectId)
    .orderBy('id')
    .execute();
const daysOf = async (projectId: string) =>
  (await eventsOf(projectId)).map(({ data }) => (data as { daysLeft?: number }).daysLeft ?? 0);
const mailsTo = async ({ email }: { email: string }) =>
  (
    await db
      .selectFrom('system_mail')
      .select('subject')
      .where('to_email', '=', email)
      .orderBy('created_at')
      .execute()
  ).map(({ subject }) => subject);

describe('the end of a named key', () => {
  it('is announced 30, 7 and 1 days before, and when it comes; two mails to administrators', async () => {
    const project = await newProject();
    const keyId = await makeKey(project, inDays(100));
    for (const days of [70, 23, 6, 1]) {
      await passDays(keyId, days);
      await tasks.ANNOUNCE_KEY_ENDS();
      await tasks.ANNOUNCE_KEY_ENDS();
    }
    const events = await eventsOf(project.id);
    expect(events.map(({ name }) => name)).toEqual([
      ...Array.from({ length: 3 }, () => 'api_key.expiring'),
      'api_key.expired',
    ]);
    expect(await daysOf(project.id)).toEqual([30, 7, 1, 0]);
    for (const user of [project.owner, project.admin]) {
      expect(await mailsTo(user)).toEqual([
        expect.stringContaining('in 7 days'),
        expect.stringContaining('in a day'),
      ]);
    }
    expect(await mailsTo(project.member)).toEqual([]);
    const { body } = await api.request('GET', '/security-events?event=api_key.expired', {
      cookie: project.owner.cookie,
      headers: { 'X-Project-Id': project.id },
    });
    expect(body.data).toMatchObject([
      {
        event: 'api_key.expired',
        actor: { type: 'system', id: null, name: 'server' },
        target: { type: 'api_key', id: keyId },
        count: 1,
      },
    ]);
  });

  it('that is announced late is announced in order', async () => {
    const project = await newProject();
    await passDays(await makeKey(project, inDays(100)), 100);
    await tasks.ANNOUNCE_KEY_ENDS();
    expect(await daysOf(project.id)).toEqual([30, 7, 1, 0]);
  });

  it('that has changed is announced anew, without what lies before the change', async () => {
    const project = await newProject();
    const keyId = await makeKey(project, inDays(100));
    await passDays(keyId, 70);
    await project.call('PATCH', `/api-keys/${keyId}`, { expiresAt: inDays(5) });
    await tasks.ANNOUNCE_KEY_ENDS();
    expect(await daysOf(project.id)).toEqual([]);
    await passDays(keyId, 4);
    await project.call('POST', `/api-keys/${keyId}/rotate`, {});
    await tasks.ANNOUNCE_KEY_ENDS();
    expect(await daysOf(project.id)).toEqual([1]);
    await project.call('POST', `/api-keys/${keyId}/rotate`, { expiresAt: inDays(31) });
    await passDays(keyId, 1);
    await tasks.ANNOUNCE_KEY_ENDS();
    expect(await daysOf(project.id)).toEqual([1, 30]);
    await project.call('PATCH', `/api-keys/${keyId}`, { expiresAt: null });
    await passDays(keyId, 40);
    await tasks.ANNOUNCE_KEY_ENDS();
    expect(await daysOf(project.id)).toEqual([1, 30]);
  });

  it('is not announced for a revoked key, or in a deleted project', async () => {
    const [project, deleted] = [await newProject(), await newProject()];
    const revokedId = await makeKey(project, inDays(10));
    expect((await project.call('DELETE', `/api-keys/${revokedId}`)).status).toBe(204);
    const goneId = await makeKey(deleted, inDays(10));
    const { cookie } = deleted.owner;
    const path = `/users/@me/projects/${deleted.id}`;
    expect((await api.request('DELETE', path, { cookie })).status).toBe(200);
    for (const id of [revokedId, goneId]) await passDays(id, 10);
    await tasks.ANNOUNCE_KEY_ENDS();
    expect(await eventsOf(project.id)).toEqual([]);
    expect(await eventsOf(deleted.id)).toEqual([]);
    const { rows } = await sql`select from api_key where notice_at <= now()`.execute(db);
    expect(rows).toEqual([]);
  });

  it('is announced in a project that was reset', async () => {
    const project = await newProject();
    const keyId = await makeKey(project, inDays(10));
    const path = `/users/@me/projects/${project.id}/reset`;
    expect((await api.request('POST', path, { cookie: project.owner.cookie })).status).toBe(200);
    await passDays(keyId, 10);
    await tasks.ANNOUNCE_KEY_ENDS();
    const { body } = await project.call('GET', '/events?name=api_key.expired');
    expect(JSON.stringify(body)).toContain(keyId);
  });

  it('of many keys at once is one mail', async () => {
    const project = await newProject();
    const expiresAt = inDays(10);
    for (let count = 0; count < 25; count += 1) {
      await passDays(await makeKey(project, expiresAt), 3);
    }
    await tasks.ANNOUNCE_KEY_ENDS();
    expect(await mailsTo(project.owner)).toEqual([
      expect.stringMatching(/^25 API keys .* in 7 days$/),
    ]);
  });

  it('that a program keeps changing sends no more than 100 mails an hour, in its project alone', async () => {
    const [project, other] = [await newProject(), await newProject()];
    const added = { project_id: other.id, user_id: project.owner.userId, role: 'ADMIN' };
    await db.insertInto('membership').values(added).execute();
    const keyId = await makeKey(project, inDays(10));
    for (let count = 0; count < 103; count += 1) {
      await sql`update api_key set expires_at = now() + interval '7 days' - interval '1 second',
          notice_at = now() - interval '1 second'
        where id = ${keyId}`.execute(db);
      await tasks.ANNOUNCE_KEY_ENDS();
    }
    expect(await eventsOf(project.id)).toHaveLength(103);
    expect(await mailsTo(project.owner)).toHaveLength(100);
    await passDays(await makeKey(other, inDays(10)), 3);
    await tasks.ANNOUNCE_KEY_ENDS();
    expect(await mailsTo(project.owner)).toHaveLength(101);
  });

  it('is an event that no request can track', async () => {
    const { call } = await newProject();
    for (const event of ['api_key.expiring', 'api_key.expired']) {
      const { status, body } = await call('POST', '/v1/track', { email: 'a@x.example', event });
      expect([status, body.error.errors]).toMatchObject([422, [{ code: 'reserved_event' }]]);
    }
  });
});
