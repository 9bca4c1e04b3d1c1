import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { claimDueEmails } from '../../../db/emails/emails.ts';
import {
  deleteProjectPage,
  deleteRemovedProject,
  goneWithParent,
  keptOnReset,
  removedTables,
  removeProject,
} from '../../../db/transactions/projects/delete-project.ts';
import {
  busyProject,
  ended,
  projectTables,
  rowsOf,
  statusOf,
} from '../../support/histories/busy-project.ts';
import { useEngine } from '../../support/engine.ts';
import {
  countProviderState,
  insertProviderState,
  insertTestProvider,
} from '../../support/projects/mail-providers.ts';
import { listUnwatched } from '../../support/heartbeats.ts';
import { waitFor } from '../../support/wait-for.ts';
import { writeMail } from '../../support/mail-tables.ts';

const engine = await useEngine();

describe('the tables of a project', () => {
  it('are all removed, gone with a parent, or kept for a reason', async () => {
    const known = [
      ...removedTables.map(({ table }) => table),
      ...goneWithParent,
      ...keptOnReset,
      'outbox',
    ];
    // Counts of links name a campaign, a template or a step instead of the project.
    const ofLinks = ['email_link', 'link_tally'];
    const tables = [...(await projectTables(engine)), ...ofLinks];
    expect(known.toSorted()).toEqual(tables.toSorted());
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

describe('a deletion', () => {
  it('ends keys, membership and domains at once', async () => {
    const project = await busyProject(engine);
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
    const project = await busyProject(engine);
    await engine.api.services.files?.put(`${project.id}/${randomUUID()}.png`, {
      bytes: Buffer.from('x'),
      contentType: 'image/png',
    });
    const provider = await insertTestProvider(engine.api, project.id, { feedback: 'none' });
    await insertProviderState(engine.api.db, provider.id);
    await engine.api.request('DELETE', `/users/@me/projects/${project.id}`, {
      cookie: project.cookie,
    });
    await ended(engine, `project-delete-${project.id}`);
    expect(await rowsOf(engine, project.id)).toEqual({});
    for (const run of [...project.runs, `delivery-${project.id}`]) {
      expect(await statusOf(engine, run), run).not.toBe('RUNNING');
    }
    const left = await sql<{ count: number }>`
      select (select count(*) from project where id = ${project.id})
        + (select count(*) from idempotency where owner_id = ${project.id})
        + (select count(*) from token_bucket where key like ${`%${project.id}%`}) as count`.execute(
      engine.api.db,
    );
    expect(Number(left.rows[0]?.count)).toBe(0);
    expect(await countProviderState(engine.api.db, provider.id)).toBe(0);
    expect(await listUnwatched(engine, `project-delete-${project.id}`)).toEqual([]);
  });

  it('leaves mail that is being handed over until that is settled', async () => {
    const project = await busyProject(engine);
    const { db } = engine.api;
    const [email] = project.people;
    await engine.stopWorker();
    await project.call('POST', '/v1/send', { ...project.mail, to: email });
    // Any of them: other mail of the project may be due as well.
    const [claim] = await claimDueEmails(db, {
      projectId: project.id,
      attemptId: randomUUID(),
      max: 1,
      leaseSeconds: 120,
      throttled: false,
    });
    expect(claim?.project_id).toBe(project.id);
    await engine.api.request('DELETE', `/users/@me/projects/${project.id}`, {
      cookie: project.cookie,
    });
    await engine.startWorker();
    await waitFor('all other mail to be gone', async () => {
      const { email: emails } = await rowsOf(engine, project.id);
      return emails === 1 ? true : null;
    });
    expect(await deleteProjectPage(db, project.id)).toEqual({ deleted: 0, isOver: false });
    const { email: emails, contact: contacts } = await rowsOf(engine, project.id);
    expect([emails, contacts]).toEqual([1, 2]);
    await writeMail(db, (tx) =>
      tx
        .updateTable('email')
        .set({ lease_until: sql<Date>`now() - interval '1 minute'` })
        .where('id', '=', claim!.id)
        .execute(),
    );
    await ended(engine, `project-delete-${project.id}`);
    expect(await rowsOf(engine, project.id)).toEqual({});
  });

  it('keeps the request to delete a domain until the mail provider has received it', async () => {
    const { api } = engine;
    const { cookie } = await api.signUp();
    const { id, secretKey: key } = await api.createProject(cookie);
    const { body: domain } = await api.request('POST', '/domains', {
      key,
      body: { domain: `${randomUUID()}.test` },
    });
    const wakes = () =>
      api.db
        .selectFrom('outbox')
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
    expect((await rowsOf(engine, id))['contact']).toBe(1500);
    await engine.startWorker();
    await ended(engine, `project-delete-${id}`);
    expect(await rowsOf(engine, id)).toEqual({});
  });
});
