import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { request } from 'node:http';
import path from 'node:path';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  deleteProjectPage,
  deleteRemovedProject,
} from '../../../db/transactions/projects/delete-project.ts';
import { useApi } from '../../support/api.ts';
import { formWith } from '../../support/projects/upload.ts';
import { waitFor } from '../../support/wait-for.ts';
import { useFolder } from '../../support/use.ts';

const dir = await useFolder();
const api = await useApi({ STORAGE_LOCAL_DIR: dir });

async function createProject() {
  const { cookie } = await api.signUp();
  return { cookie, ...(await api.createProject(cookie)) };
}

type Project = Awaited<ReturnType<typeof createProject>>;

/** Begins a request whose body waits for `finish`, which returns the response. */
async function begin(
  { secretKey }: Project,
  to: string,
  { headers, body }: { headers: Record<string, string>; body: string | Uint8Array },
) {
  const bytes = Buffer.from(body);
  const started = await counted();
  const client = request(`${api.url}${to}`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${secretKey}`,
      ...headers,
      'Content-Length': String(bytes.length),
    },
  });
  const answer = new Promise<{ status: number; code: string | undefined }>((resolve, reject) => {
    client.on('error', reject);
    client.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => (text += piece));
      response.on('end', () => {
        const { error } = JSON.parse(text) as { error?: { code: string } };
        resolve({ status: response.statusCode ?? 0, code: error?.code });
      });
    });
  });
  client.write(bytes.subarray(0, 1));
  await waitFor('the caller to be known', async () => ((await counted()) > started ? true : null));
  return {
    finish() {
      client.end(bytes.subarray(1));
      return answer;
    },
  };
}

/** Requests that the API has counted, which it does right before it reads a body. */
let count = 0;
const counted = async () => count;
beforeAll(() => {
  const { rateLimits } = api.services;
  const original = rateLimits.count;
  rateLimits.count = async (...args) => {
    await original(...args);
    count += 1;
  };
});

/** Resets or deletes a project completely, as its run does. */
async function remove({ id, cookie }: Project, how: 'reset' | 'delete') {
  const at = `/users/@me/projects/${id}`;
  const { status } =
    how === 'reset'
      ? await api.request('POST', `${at}/reset`, { cookie })
      : await api.request('DELETE', at, { cookie });
  expect(status).toBe(200);
  while (!(await deleteProjectPage(api.db, id)).isOver);
  await deleteRemovedProject(api.db, id);
}

/** Counts the rows of a removed project in tables that requests write. */
async function rowsOf(projectId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select ((select count(*) from contact where project_id = ${projectId})
      + (select count(*) from event where project_id = ${projectId})
      + (select count(*) from job where project_id = ${projectId})
      + (select count(*) from segment where project_id = ${projectId})
      + (select count(*) from workflow where project_id = ${projectId})
      + (select count(*) from template where project_id = ${projectId})
      + (select count(*) from domain where project_id = ${projectId}))::int as count`.execute(
    api.db,
  );
  return rows[0]?.count ?? 0;
}

const json = (body: object) => ({
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});

describe.each(['reset', 'delete'] as const)('a request that ends after a %s', (how) => {
  it.each([
    ['/v1/track', json({ event: 'seen', email: 'ada@people.test' })],
    ['/events/track', json({ name: 'seen' })],
    ['/contacts', json({ email: 'ada@people.test' })],
    ['/contacts/bulk-delete', json({ contactIds: [randomUUID()] })],
    ['/segments', json({ name: 'S', type: 'STATIC' })],
    ['/workflows', json({ name: 'W' })],
    ['/templates', json({ name: 'T', subject: 's', body: 'b', type: 'TRANSACTIONAL' })],
    ['/domains', json({ domain: `${randomUUID()}.test` })],
  ])('writes nothing: %s', async (to, body) => {
    const project = await createProject();
    const slow = await begin(project, to, body);
    await remove(project, how);
    expect(await slow.finish()).toEqual({ status: 404, code: 'PROJECT_NOT_FOUND' });
    expect(await rowsOf(project.id)).toBe(0);
  });

  it('imports nothing', async () => {
    const project = await createProject();
    const { headers = {}, body } = await formWith('email\nada@people.test\n');
    const slow = await begin(project, '/contacts/import', { headers, body: body as Uint8Array });
    await remove(project, how);
    expect(await slow.finish()).toEqual({ status: 404, code: 'PROJECT_NOT_FOUND' });
    expect(await rowsOf(project.id)).toBe(0);
  });
});

describe('a request of an administrator who is none any more when it ends', () => {
  it.each([
    ['was removed', null, { status: 404, code: 'PROJECT_NOT_FOUND' }],
    ['is a member now', 'MEMBER', { status: 403, code: 'INSUFFICIENT_ROLE' }],
  ])('adds nobody: %s', async (_, role, refusal) => {
    const project = await createProject();
    const [admin, friend] = [await api.signUp(), await api.signUp()];
    const membership = { project_id: project.id, user_id: admin.userId, role: 'ADMIN' };
    await api.db.insertInto('membership').values(membership).execute();
    const { headers, body } = json({ email: friend.email });
    const slow = await begin(project, `/projects/${project.id}/members`, {
      // A key would act for the project, not for the administrator.
      headers: { ...headers, Authorization: '', Cookie: admin.cookie },
      body,
    });
    const own = api.db.selectFrom('membership').where('project_id', '=', project.id);
    if (role)
      await api.db
        .updateTable('membership')
        .set({ role })
        .where('user_id', '=', admin.userId)
        .execute();
    else await api.db.deleteFrom('membership').where('user_id', '=', admin.userId).execute();
    expect(await slow.finish()).toEqual(refusal);
    expect(await own.select('user_id').where('user_id', '=', friend.userId).execute()).toEqual([]);
  });
});

describe('an image that is there after its project', () => {
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]);
  const upload = async (project: Project) => {
    const { headers = {}, body } = await formWith(png, {
      field: 'image',
      filename: 'a.png',
      type: 'image/png',
    });
    return begin(project, '/uploads/image', { headers, body: body as Uint8Array });
  };

  it('was deleted is removed', async () => {
    const project = await createProject();
    const slow = await upload(project);
    await remove(project, 'delete');
    expect(await slow.finish()).toEqual({ status: 404, code: 'PROJECT_NOT_FOUND' });
    expect(await readdir(dir)).not.toContain(project.id);
  });

  it('was reset stays, as the files of a reset project do', async () => {
    const project = await createProject();
    const slow = await upload(project);
    await remove(project, 'reset');
    expect(await slow.finish()).toEqual({ status: 200, code: undefined });
    expect(await readdir(path.join(dir, project.id))).toHaveLength(1);
  });
});
