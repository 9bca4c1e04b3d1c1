import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { busyProject, ended, rowsOf, statusOf } from '../../support/histories/busy-project.ts';
import { useEngine } from '../../support/engine.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();

/** Returns the id by which rows refer to the project. */
async function rowIdOf(publicId: string): Promise<string> {
  const row = await engine.api.db
    .selectFrom('project')
    .select('id')
    .where(sql<boolean>`coalesce(public_id, id) = ${publicId}`)
    .where('removal', 'is', null)
    .executeTakeFirstOrThrow();
  return row.id;
}

describe('a reset', () => {
  it('empties the project at once and keeps keys, domains and members', async () => {
    const project = await busyProject(engine);
    const path = `/users/@me/projects/${project.id}`;
    const before = await engine.api.request('GET', '/users/@me/projects', project);
    const members = await project.call('GET', `/projects/${project.id}/members`);
    const domains = await project.call('GET', `/domains/project/${project.id}`);
    expect(members.body.data).toHaveLength(1);
    expect(domains.body).toHaveLength(1);

    const reset = await engine.api.request('POST', `${path}/reset`, { cookie: project.cookie });
    expect([reset.status, reset.body]).toEqual([
      200,
      { success: true, message: expect.any(String) },
    ]);

    for (const list of [
      '/contacts',
      '/templates',
      '/campaigns',
      '/segments',
      '/workflows',
      '/emails',
      '/events',
    ]) {
      const { status, body } = await project.call('GET', list);
      expect(status, list).toBe(200);
      expect(body.total ?? (body.data ?? body.events ?? body).length, list).toBe(0);
    }
    expect((await project.call('GET', `/workflows/${project.workflowId}`)).status).toBe(404);
    expect(await project.call('GET', `/projects/${project.id}/members`)).toMatchObject({
      body: members.body,
    });
    expect((await project.call('GET', `/domains/project/${project.id}`)).body).toEqual(
      domains.body,
    );
    expect((await project.call('GET', '/secrets')).body).toMatchObject([{ name: 'CRM_TOKEN' }]);
    const after = await engine.api.request('GET', '/users/@me/projects', project);
    expect(after.body).toEqual([{ ...before.body[0], updatedAt: expect.any(String) }]);
  });

  it('lets the same keys go on at once, also with the same people', async () => {
    const project = await busyProject(engine);
    const path = `/users/@me/projects/${project.id}/reset`;
    await engine.api.request('POST', path, { cookie: project.cookie });
    const [email] = project.people;
    const made = await project.call('POST', '/contacts', { email });
    expect([made.status, made.body.projectId]).toEqual([201, project.id]);
    const sent = await project.call('POST', '/v1/send', { ...project.mail, to: email });
    expect(sent.status).toBe(200);
    const { body } = await waitFor('the mail to be delivered', async () => {
      const answer = await engine.api.request('GET', `/local/mailbox?to=${email}`);
      const mine = answer.body.filter(
        (mail: { id: string }) => mail.id === sent.body.data.emails[0].email,
      );
      return mine.length > 0 ? { body: mine } : null;
    });
    expect(body).toHaveLength(1);
    await ended(engine, `project-reset-${project.id}`);
    expect((await project.call('GET', '/contacts')).body.total).toBe(1);
  });

  it('keeps the id outside, for members and keys alike', async () => {
    const { api } = engine;
    const project = await busyProject(engine);
    const { cookie } = project;
    const path = `/users/@me/projects/${project.id}`;
    await api.request('POST', `${path}/reset`, { cookie });
    const inside = await rowIdOf(project.id);
    const headers = { 'X-Project-Id': project.id };
    const answers = [
      await api.request('GET', '/contacts', { cookie, headers }),
      await api.request('POST', '/templates', {
        cookie,
        headers,
        body: { name: 'T', subject: 'S', body: 'B', type: 'MARKETING', from: project.mail.from },
      }),
      await api.request('PATCH', path, { cookie, body: { name: 'Again' } }),
      await api.request('GET', `${path}/security`, { cookie }),
      await api.request('GET', `/projects/${project.id}/setup-state`, { key: project.secretKey }),
      await api.request('GET', `/domains/project/${project.id}`, { cookie }),
      await api.request('POST', '/domains', {
        cookie,
        body: { domain: `${randomUUID()}.test`, projectId: project.id },
      }),
      await api.request('POST', `${path}/regenerate-keys`, { cookie }),
    ];
    for (const { status, body } of answers) {
      expect(status, JSON.stringify(body)).toBeLessThan(300);
      expect(JSON.stringify(body)).not.toContain(inside);
    }
    expect(answers[1]?.body.projectId).toBe(project.id);
    expect(answers[2]?.body).toMatchObject({ id: project.id, name: 'Again' });
    expect(answers[3]?.body.status.projectId).toBe(project.id);
    expect(answers[5]?.body).toMatchObject([{ projectId: project.id }]);
    expect(answers[6]?.body.projectId).toBe(project.id);
    const old = await api.request('GET', '/contacts', { key: project.secretKey });
    expect(old.status).toBe(401);
    const unknown = await api.request('GET', '/contacts', {
      cookie,
      headers: { 'X-Project-Id': randomUUID() },
    });
    expect(unknown.status).toBe(403);
    const check = await api.request('GET', `/domains/${answers[6]?.body.id}/verify`, { cookie });
    expect(check.body.projectId).toBe(project.id);
  });

  it('leaves no row and no run of what there was', async () => {
    const project = await busyProject(engine);
    const had = Object.keys(await rowsOf(engine, project.id));
    expect(had).toEqual(
      expect.arrayContaining(['attachment', 'contact', 'email', 'event', 'execution', 'wait']),
    );
    await engine.api.request('POST', `/users/@me/projects/${project.id}/reset`, {
      cookie: project.cookie,
    });
    await ended(engine, `project-reset-${project.id}`);
    expect(await rowsOf(engine, project.id)).toEqual({});
    for (const run of [...project.runs, `delivery-${project.id}`]) {
      expect(await statusOf(engine, run), run).not.toBe('RUNNING');
    }
    const now = await rowIdOf(project.id);
    expect(now).not.toBe(project.id);
    expect(Object.keys(await rowsOf(engine, now)).toSorted()).toEqual([
      'domain',
      'membership',
      'secret',
      'security_event',
    ]);
  });

  it('works twice, the second time while the first goes on', async () => {
    const project = await busyProject(engine);
    const path = `/users/@me/projects/${project.id}/reset`;
    await engine.api.request('POST', path, { cookie: project.cookie });
    const between = await rowIdOf(project.id);
    await project.call('POST', '/contacts', { email: project.people[0] });
    const again = await engine.api.request('POST', path, { cookie: project.cookie });
    expect(again.status).toBe(200);
    expect((await project.call('GET', '/contacts')).body.total).toBe(0);
    await ended(engine, `project-reset-${project.id}`);
    expect([await rowsOf(engine, project.id), await rowsOf(engine, between)]).toEqual([{}, {}]);
    const rows = await engine.api.db
      .selectFrom('project')
      .select('id')
      .where(sql<boolean>`coalesce(public_id, id) = ${project.id}`)
      .execute();
    expect(rows).toHaveLength(1);
  });
});
