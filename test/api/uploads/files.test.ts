import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { codeOf, type TestRequest, useApi } from '../../support/api.ts';
import { insertNamedKey } from '../../support/projects/named-keys.ts';
import { formWith } from '../../support/projects/upload.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { useFolder } from '../../support/use.ts';

const dir = await useFolder();
const api = await useApi({ STORAGE_LOCAL_DIR: dir, UPLOAD_QUOTA_MB: '1' });
const { db } = api;
const files = api.services.files!;
const { put, remove } = files;
const ada = await api.signUp();
const newProject = () => api.createProject(ada.cookie);
type Project = Awaited<ReturnType<typeof newProject>>;

afterEach(() => Object.assign(files, { put, remove }));

async function upload({ key, cookie, headers }: TestRequest, size = 1000) {
  const bytes = Buffer.alloc(size, 7);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const form = await formWith(bytes, { field: 'image', filename: 'a.png', type: 'image/png' });
  const sent = { ...form.headers, ...headers };
  return api.request('POST', '/uploads/image', {
    ...(key && { key }),
    ...(cookie && { cookie }),
    body: form.body,
    headers: sent,
  });
}

const list = async ({ secretKey: key }: Project, query = '') =>
  (await api.request('GET', `/uploads?${query}`, { key })).body;
const usage = async (of: Project) => (await list(of)).usage as { files: number; bytes: number };
const removeFile = ({ secretKey: key }: Project, file: string) =>
  api.request('DELETE', `/uploads/files/${file}`, { key });
const onDisk = (of: Project) => readdir(path.join(dir, of.id)).catch(() => []);

/** Ends the time of requests that do not come to an end, and sweeps. */
async function sweepLater(): Promise<void> {
  await sql`update upload set remove_at = now() - interval '1 minute' where remove_at is not null`.execute(
    db,
  );
  await tasksOf(api, {}).CLEAR_UPLOADS();
}

describe('GET /uploads', () => {
  it('lists files newest first, with their size, who uploaded them, and the usage', async () => {
    const project = await newProject();
    const named = await insertNamedKey(db, project.id, { scopes: ['uploads:write'] });
    const { body: first } = await upload({ key: named.key }, 1000);
    const { body: second } = await upload(
      { cookie: ada.cookie, headers: { 'x-project-id': project.id } },
      2000,
    );
    const { url, key } = second;
    expect(await list(project)).toEqual({
      data: [
        {
          key,
          url,
          contentType: 'image/png',
          size: 2000,
          createdAt: expect.stringMatching(/Z$/),
          createdBy: { type: 'user', id: ada.userId, name: ada.email },
        },
        expect.objectContaining({
          key: first.key,
          size: 1000,
          createdBy: { type: 'key', id: named.id, name: expect.any(String) },
        }),
      ],
      hasMore: false,
      total: 2,
      usage: { files: 2, bytes: 3000, limit: 1024 * 1024 },
    });
  });

  it('goes on at a cursor, and shows no file of another project', async () => {
    const [project, other] = [await newProject(), await newProject()];
    for (let n = 0; n < 3; n += 1) await upload({ key: project.secretKey });
    await upload({ key: other.secretKey });
    const first = await list(project, 'limit=2');
    expect([first.data.length, first.hasMore, first.total]).toEqual([2, true, 3]);
    const second = await list(project, `limit=2&cursor=${first.cursor}`);
    expect([second.data.length, second.hasMore, second.total]).toEqual([1, false, 0]);
    const keys = [...first.data, ...second.data].map(({ key }: { key: string }) => key);
    expect(new Set(keys).size).toBe(3);
    expect(keys.every((key) => key.startsWith(project.id))).toBe(true);
    const foreign = await list(other, `cursor=${first.cursor}`);
    expect(foreign.data.every(({ key }: { key: string }) => key.startsWith(other.id))).toBe(true);
    const broken = await api.request('GET', '/uploads?cursor=zz', { key: project.secretKey });
    expect(broken.status).toBe(422);
  });

  it('goes on after a reset of the project', async () => {
    const project = await newProject();
    const { body } = await upload({ key: project.secretKey });
    const reset = `/users/@me/projects/${project.id}/reset`;
    await api.request('POST', reset, { cookie: ada.cookie });
    expect((await list(project)).data).toMatchObject([{ key: body.key }]);
    expect((await removeFile(project, body.key)).status).toBe(204);
  });
});

describe('DELETE /uploads/files/{key}', () => {
  it('deletes a file, frees its quota, and writes it into the security log', async () => {
    const project = await newProject();
    const { body } = await upload({ key: project.secretKey }, 900 * 1024);
    expect((await upload({ key: project.secretKey }, 900 * 1024)).status).toBe(413);
    expect((await removeFile(project, body.key)).status).toBe(204);
    expect((await fetch(body.url)).status).toBe(404);
    expect(await onDisk(project)).toEqual([]);
    expect(await list(project)).toMatchObject({ data: [], usage: { files: 0, bytes: 0 } });
    expect((await upload({ key: project.secretKey }, 900 * 1024)).status).toBe(200);
    const { body: log } = await api.request('GET', '/security-events?event=upload.*', {
      key: project.secretKey,
    });
    expect(log.data).toMatchObject([
      { event: 'upload.deleted', target: { type: 'upload', id: body.key }, changes: null },
    ]);
  });

  it('answers 404 FILE_NOT_FOUND for files of other projects, and for deleted ones', async () => {
    const [project, other] = [await newProject(), await newProject()];
    const { body } = await upload({ key: project.secretKey });
    const missing = [404, 'FILE_NOT_FOUND'];
    expect(codeOf(await removeFile(other, body.key))).toEqual(missing);
    expect(codeOf(await removeFile(other, 'x'))).toEqual(missing);
    expect((await fetch(body.url)).status).toBe(200);
    const parallel = await Promise.all([1, 2, 3].map(() => removeFile(project, body.key)));
    expect(parallel.map(({ status }) => status).toSorted()).toEqual([204, 404, 404]);
    expect(await usage(project)).toMatchObject({ files: 0, bytes: 0 });
  });

  it('deletes the file later if the process dies or the storage fails before', async () => {
    const project = await newProject();
    const { body } = await upload({ key: project.secretKey });
    files.remove = async () => {
      throw new Error('The storage is away.');
    };
    expect((await removeFile(project, body.key)).status).toBe(204);
    // The storage still has it, so it still counts.
    expect(await list(project)).toMatchObject({ data: [], usage: { files: 0, bytes: 1000 } });
    await sweepLater();
    expect(await onDisk(project)).toHaveLength(1);
    files.remove = remove;
    await sweepLater();
    expect(await onDisk(project)).toEqual([]);
    expect(await usage(project)).toMatchObject({ files: 0, bytes: 0 });
  });
});

describe('a file whose process died while it was stored', () => {
  it('is deleted after ten minutes, and no longer counts', async () => {
    const project = await newProject();
    const { body } = await upload({ key: project.secretKey });
    await db
      .updateTable('upload')
      .set({ state: 'storing', remove_at: new Date(Date.now() + 60_000) })
      .where('key', '=', body.key)
      .execute();
    await tasksOf(api, {}).CLEAR_UPLOADS();
    expect(await onDisk(project)).toHaveLength(1);
    await sweepLater();
    expect(await onDisk(project)).toEqual([]);
    expect((await usage(project)).bytes).toBe(0);
  });

  it('is refused with 503 and not kept if it was only slow', async () => {
    const project = await newProject();
    files.put = async (key, file) => {
      await sweepLater();
      await put(key, file);
    };
    const answer = await upload({ key: project.secretKey });
    expect(codeOf(answer)).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(await onDisk(project)).toEqual([]);
    expect(await usage(project)).toMatchObject({ files: 0, bytes: 0 });
  });
});
