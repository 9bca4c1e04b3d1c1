import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimDueEmails } from '../../db/emails.ts';
import {
  deleteProjectPage,
  deleteRemovedProject,
  goneWithParent,
  keptOnReset,
  removedTables,
  removeProject,
} from '../../db/project-deletion.ts';
import { type Engine, startEngine } from '../support/engine.ts';
import { createTemplate, createWorkflow } from '../support/journeys.ts';
import { waitFor } from '../support/wait-for.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await startEngine();
});
afterAll(() => engine.close());

/** Every table with rows of projects, as the database has them. */
async function projectTables(): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.columns
      where table_schema = 'public' and column_name = 'project_id'
      order by 1`.execute(engine.api.db);
  return rows.map((row) => row.name);
}

/** How many rows of a project each table has; those without any are left out. */
async function rowsOf(projectId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of await projectTables()) {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from ${sql.table(table)}
        where project_id = ${projectId}`.execute(engine.api.db);
    if (rows[0]?.count) counts[table] = rows[0].count;
  }
  return counts;
}

/** A project with something in it, some of which is at work. */
async function busyProject() {
  const { api } = engine;
  const { cookie } = await api.signUp();
  const project = await api.createProject(cookie);
  const domain = `${randomUUID()}.test`;
  const call: Engine['call'] = (method, path, body) =>
    api.request(method, path, { key: project.secretKey, body });
  const within: Engine = { ...engine, project, domain, call };
  await call('POST', '/domains', { domain });
  const templateId = await createTemplate(within);
  const workflow = await createWorkflow(within, {
    eventName: 'signed up',
    steps: [
      { type: 'SEND_EMAIL', name: 'Mail', templateId },
      { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'never' } },
    ],
    ways: [
      ['TRIGGER', 'Mail'],
      ['Mail', 'Wait'],
    ],
  });
  const people = [`${randomUUID()}@people.test`, `${randomUUID()}@people.test`];
  const attachments = [{ filename: 'a.txt', content: 'aGk=', contentType: 'text/plain' }];
  const mail = { from: `team@${domain}`, subject: 'Hi', body: '<p>Hi</p>', attachments };
  for (const email of people) {
    await call('POST', '/v1/track', { event: 'signed up', email });
    await call('POST', '/v1/send', { ...mail, to: email });
  }
  const { body: executions } = await waitFor('waiting executions', async () => {
    const answer = await call('GET', `/workflows/${workflow.id}/executions?status=WAITING`);
    return answer.body.total === people.length ? answer : null;
  });
  const runs = executions.executions.map(
    (row: { id: string }) => `execution-${row.id}`,
  ) as string[];
  await api.request('POST', '/segments', {
    key: project.secretKey,
    body: { name: 'Some', type: 'STATIC' },
  });
  const news = { name: 'News', subject: 'News', body: 'News', from: mail.from };
  const campaign = await call('POST', '/campaigns', { ...news, audienceType: 'ALL' });
  expect(campaign.status).toBe(201);
  return { ...project, cookie, domain, call, mail, people, workflowId: workflow.id, runs };
}

async function statusOf(runId: string): Promise<string> {
  const { status } = await engine.temporal.client.workflow.getHandle(runId).describe();
  return status.name;
}

const ended = (runId: string) =>
  waitFor(
    `${runId} to end`,
    async () => ((await statusOf(runId).catch(() => 'not yet')) === 'COMPLETED' ? true : null),
    60_000,
  );

/** The id of the rows of a project. */
async function rowIdOf(publicId: string): Promise<string> {
  const row = await engine.api.db
    .selectFrom('project')
    .select('id')
    .where(sql<boolean>`coalesce(public_id, id) = ${publicId}`)
    .where('removal', 'is', null)
    .executeTakeFirstOrThrow();
  return row.id;
}

describe('the tables of a project', () => {
  it('are all removed, gone with a parent, or kept for a reason', async () => {
    const outbox = ['orphan_run', 'run_wake'];
    const known = [
      ...removedTables.map(({ table }) => table),
      ...goneWithParent,
      ...keptOnReset,
      ...outbox,
    ];
    expect(known.toSorted()).toEqual(await projectTables());
  });

  it('are found by an index, so that a page costs no look at the whole table', async () => {
    await engine.api.db.connection().execute(async (db) => {
      await sql`set enable_seqscan = off`.execute(db);
      for (const { table, of } of removedTables) {
        const mine = of
          ? sql`${sql.raw(of)} where project_id = ${randomUUID()})`
          : sql`project_id = ${randomUUID()}`;
        const { rows } = await sql<{ 'QUERY PLAN': string }>`
          explain select ctid from ${sql.table(table)} where ${mine} limit 10`.execute(db);
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
        expect(plan, table).toContain('Index');
      }
    });
  });
});

describe('a reset', () => {
  it('empties the project at once and keeps keys, domains and members', async () => {
    const project = await busyProject();
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
    const after = await engine.api.request('GET', '/users/@me/projects', project);
    expect(after.body).toEqual([{ ...before.body[0], updatedAt: expect.any(String) }]);
  });

  it('lets the same keys go on at once, also with the same people', async () => {
    const project = await busyProject();
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
    await ended(`project-reset-${project.id}`);
    expect((await project.call('GET', '/contacts')).body.total).toBe(1);
  });

  it('keeps the id outside, for members and keys alike', async () => {
    const { api } = engine;
    const project = await busyProject();
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
    const project = await busyProject();
    const had = Object.keys(await rowsOf(project.id));
    expect(had).toEqual(
      expect.arrayContaining(['attachment', 'contact', 'email', 'event', 'execution', 'wait']),
    );
    await engine.api.request('POST', `/users/@me/projects/${project.id}/reset`, {
      cookie: project.cookie,
    });
    await ended(`project-reset-${project.id}`);
    expect(await rowsOf(project.id)).toEqual({});
    for (const run of [...project.runs, `delivery-${project.id}`]) {
      expect(await statusOf(run), run).not.toBe('RUNNING');
    }
    const now = await rowIdOf(project.id);
    expect(now).not.toBe(project.id);
    expect(Object.keys(await rowsOf(now)).toSorted()).toEqual(['domain', 'membership']);
  });

  it('works twice, the second time while the first goes on', async () => {
    const project = await busyProject();
    const path = `/users/@me/projects/${project.id}/reset`;
    await engine.api.request('POST', path, { cookie: project.cookie });
    const between = await rowIdOf(project.id);
    await project.call('POST', '/contacts', { email: project.people[0] });
    const again = await engine.api.request('POST', path, { cookie: project.cookie });
    expect(again.status).toBe(200);
    expect((await project.call('GET', '/contacts')).body.total).toBe(0);
    await ended(`project-reset-${project.id}`);
    expect([await rowsOf(project.id), await rowsOf(between)]).toEqual([{}, {}]);
    const rows = await engine.api.db
      .selectFrom('project')
      .select('id')
      .where(sql<boolean>`coalesce(public_id, id) = ${project.id}`)
      .execute();
    expect(rows).toHaveLength(1);
  });
});

describe('a deletion', () => {
  it('ends keys, membership and domains at once', async () => {
    const project = await busyProject();
    const gone = await engine.api.request('DELETE', `/users/@me/projects/${project.id}`, {
      cookie: project.cookie,
    });
    expect([gone.status, gone.body]).toEqual([200, { success: true, message: expect.any(String) }]);
    const refused = await project.call('GET', '/contacts');
    expect([refused.status, refused.body.error.code]).toEqual([401, 'INVALID_API_KEY']);
    const tracked = await engine.api.request('POST', '/v1/track', {
      key: project.publicKey,
      body: { event: 'x', email: 'x@people.test' },
    });
    expect(tracked.status).toBe(401);
    const list = await engine.api.request('GET', '/users/@me/projects', project);
    expect(list.body).toEqual([]);
    const again = await engine.api.request('DELETE', `/users/@me/projects/${project.id}`, {
      cookie: project.cookie,
    });
    expect([again.status, again.body.error.code]).toEqual([404, 'PROJECT_NOT_FOUND']);
    const taken = await engine.call('POST', '/domains', { domain: project.domain });
    expect(taken.status).toBe(201);
  });

  it('leaves nothing behind, in the database, in Temporal and on the disk', async () => {
    const project = await busyProject();
    await engine.api.services.files?.put(`${project.id}/${randomUUID()}.png`, {
      bytes: Buffer.from('x'),
      contentType: 'image/png',
    });
    await engine.api.request('DELETE', `/users/@me/projects/${project.id}`, {
      cookie: project.cookie,
    });
    await ended(`project-delete-${project.id}`);
    expect(await rowsOf(project.id)).toEqual({});
    for (const run of [...project.runs, `delivery-${project.id}`]) {
      expect(await statusOf(run), run).not.toBe('RUNNING');
    }
    const left = await sql<{ count: number }>`
      select (select count(*) from project where id = ${project.id})
        + (select count(*) from idempotency where owner_id = ${project.id})
        + (select count(*) from token_bucket where key like ${`%${project.id}%`}) as count`.execute(
      engine.api.db,
    );
    expect(Number(left.rows[0]?.count)).toBe(0);
  });

  it('leaves mail that is being handed over until that is settled', async () => {
    const project = await busyProject();
    const { db } = engine.api;
    const [email] = project.people;
    await engine.stopWorker();
    const { body: sent } = await project.call('POST', '/v1/send', { ...project.mail, to: email });
    const [claim] = await claimDueEmails(db, {
      projectId: project.id,
      attemptId: randomUUID(),
      max: 1,
      leaseSeconds: 120,
      throttled: false,
    });
    expect(claim?.id).toBe(sent.data.emails[0].email);
    await engine.api.request('DELETE', `/users/@me/projects/${project.id}`, {
      cookie: project.cookie,
    });
    await engine.startWorker();
    await waitFor('all other mail to be gone', async () => {
      const { email: emails } = await rowsOf(project.id);
      return emails === 1 ? true : null;
    });
    expect(await deleteProjectPage(db, project.id)).toEqual({ deleted: 0, isOver: false });
    const { email: emails, contact: contacts } = await rowsOf(project.id);
    expect([emails, contacts]).toEqual([1, 2]);
    await db
      .updateTable('email')
      .set({ lease_until: sql<Date>`now()` })
      .where('id', '=', claim!.id)
      .execute();
    await ended(`project-delete-${project.id}`);
    expect(await rowsOf(project.id)).toEqual({});
  });

  it('keeps what asks the mail provider to forget a domain until somebody has heard it', async () => {
    const { api } = engine;
    const { cookie } = await api.signUp();
    const { id, secretKey: key } = await api.createProject(cookie);
    const { body: domain } = await api.request('POST', '/domains', {
      key,
      body: { domain: `${randomUUID()}.test` },
    });
    const wakes = () =>
      api.db
        .selectFrom('run_wake')
        .select('kind')
        .where('project_id', '=', id)
        .where('run_id', '=', `domain-${domain.id}`)
        .execute();
    await waitFor('the run of the domain', async () =>
      (await wakes()).length === 0 ? true : null,
    );
    await api.db.transaction().execute((tx) => removeProject(tx, id));
    await deleteRemovedProject(api.db, id);
    expect(await wakes()).toEqual([{ kind: 'domainPoller' }]);
  });

  it('works in pages: a page is never the whole of a large project', async () => {
    const { cookie } = await engine.api.signUp();
    const { id } = await engine.api.createProject(cookie);
    await sql`insert into contact (project_id, email, subscribed)
      select ${id}, n || '@people.test', true from generate_series(1, 2500) n`.execute(
      engine.api.db,
    );
    await engine.stopWorker();
    await engine.api.request('DELETE', `/users/@me/projects/${id}`, { cookie });
    const page = await deleteProjectPage(engine.api.db, id);
    expect(page).toEqual({ deleted: 1000, isOver: false });
    expect((await rowsOf(id))['contact']).toBe(1500);
    await engine.startWorker();
    await ended(`project-delete-${id}`);
    expect(await rowsOf(id)).toEqual({});
  });
});
