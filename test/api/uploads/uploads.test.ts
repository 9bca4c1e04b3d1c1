import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  deleteProjectPage,
  deleteRemovedProject,
  listRemovals,
} from '../../../db/transactions/projects/delete-project.ts';
import { codeOf, useApi } from '../../support/api.ts';
import { formWith } from '../../support/projects/upload.ts';
import { useFolder } from '../../support/use.ts';

const dir = await useFolder();
const api = await useApi({ STORAGE_LOCAL_DIR: dir });
const project = await api.createProject((await api.signUp()).cookie);

const signatures = {
  'image/png': [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  'image/jpeg': [0xff, 0xd8, 0xff, 0xe0],
  'image/gif': [...Buffer.from('GIF89a')],
  'image/webp': [...Buffer.from('RIFF\0\0\0\0WEBP')],
};
const extensions = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
};

/** Returns bytes with the signature of the image type. */
function image(type: keyof typeof signatures, size = 20_480): Buffer {
  const bytes = Buffer.alloc(size, 7);
  bytes.set(signatures[type]);
  return bytes;
}

async function upload(
  content: string | Uint8Array,
  type = 'image/png',
  { filename = 'logo.png', field = 'image', key = project.secretKey } = {},
) {
  return api.request('POST', '/uploads/image', {
    key,
    ...(await formWith(content, { field, filename, type })),
  });
}

describe('POST /uploads/image', () => {
  it.each(Object.keys(signatures) as (keyof typeof signatures)[])(
    'keeps %s and serves the same bytes to everybody',
    async (type) => {
      const bytes = image(type);
      const { status, body } = await upload(bytes, type);
      expect(status).toBe(200);
      expect(body).toEqual({
        url: `${api.url}/uploads/files/${body.key}`,
        key: expect.stringMatching(
          new RegExp(
            `^${project.id}/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.${extensions[type]}$`,
          ),
        ),
        filename: 'logo.png',
        contentType: type,
        size: 20_480,
      });
      const served = await fetch(body.url);
      expect(served.status).toBe(200);
      expect(served.headers.get('content-type')).toBe(type);
      expect(served.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(served.headers.get('content-disposition')).toBe('inline');
      expect(served.headers.get('x-content-type-options')).toBe('nosniff');
      expect(Buffer.from(await served.arrayBuffer()).equals(bytes)).toBe(true);
      const encoded = await fetch(`${api.url}/uploads/files/${encodeURIComponent(body.key)}`);
      expect(encoded.status).toBe(200);
    },
  );

  it('refuses text that calls itself a PNG with 400 FILE_CONTENT_MISMATCH', async () => {
    expect(codeOf(await upload('just text', 'image/png'))).toEqual([400, 'FILE_CONTENT_MISMATCH']);
    const gif = await upload(image('image/gif'), 'image/png');
    expect(codeOf(gif)).toEqual([400, 'FILE_CONTENT_MISMATCH']);
    expect(codeOf(await upload('', 'image/png'))).toEqual([400, 'FILE_CONTENT_MISMATCH']);
  });

  it('refuses SVG and all other types with 415', async () => {
    for (const type of ['image/svg+xml', 'text/html', 'application/octet-stream']) {
      expect(codeOf(await upload('<svg/>', type))).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    }
  });

  it('takes 10 MiB and refuses a byte more with 413 FILE_TOO_LARGE', async () => {
    const limit = 10 * 1024 * 1024;
    expect((await upload(image('image/png', limit))).status).toBe(200);
    expect(codeOf(await upload(image('image/png', limit + 1)))).toEqual([413, 'FILE_TOO_LARGE']);
  });

  it('asks for the field image: 422 required', async () => {
    for (const request of [
      await upload(image('image/png'), 'image/png', { field: 'file' }),
      await api.request('POST', '/uploads/image', { key: project.secretKey }),
    ]) {
      expect(request.status).toBe(422);
      expect(request.body.error.errors).toEqual([
        expect.objectContaining({ field: 'image', code: 'required' }),
      ]);
    }
  });

  it('refuses JSON with 415 and broken multipart with 400', async () => {
    const json = await api.request('POST', '/uploads/image', {
      key: project.secretKey,
      body: { image: 'x' },
    });
    expect(json.status).toBe(415);
    const broken = await api.request('POST', '/uploads/image', {
      key: project.secretKey,
      headers: { 'Content-Type': 'multipart/form-data' },
      body: 'x',
    });
    expect(codeOf(broken)).toEqual([400, 'INVALID_REQUEST_BODY']);
  });

  it('refuses a public key with 401 INVALID_API_KEY', async () => {
    const refused = await upload(image('image/png'), 'image/png', { key: project.publicKey });
    expect(codeOf(refused)).toEqual([401, 'INVALID_API_KEY']);
  });

  it.each(['../../x.png', '..\\..\\x.png', '/etc/passwd.png', 'x.png.html', 'é.png'])(
    'never makes the name %s part of a path',
    async (filename) => {
      const { status, body } = await upload(image('image/png'), 'image/png', { filename });
      expect(status).toBe(200);
      expect(body.key).toMatch(/^[0-9a-f-]{36}\/[0-9a-f-]{36}\.png$/);
      expect(await readdir(dir)).toEqual([project.id]);
      const files = await readdir(path.join(dir, project.id));
      expect(files.every((file) => /^[0-9a-f-]{36}\.(png|jpg|gif|webp)$/.test(file))).toBe(true);
    },
  );
});

describe('a quota of a project', async () => {
  const folder = await useFolder();
  const small = await useApi({ STORAGE_LOCAL_DIR: folder, UPLOAD_QUOTA_MB: '1' });
  const newKey = async () => small.createProject((await small.signUp()).cookie);
  const uploadTo = async ({ secretKey }: { secretKey: string }, size: number) =>
    small.request('POST', '/uploads/image', {
      key: secretKey,
      ...(await formWith(image('image/png', size), { field: 'image', type: 'image/png' })),
    });
  const stored = (id: string) => readdir(path.join(folder, id)).catch(() => []);

  it('is kept by parallel uploads, and is that of one project', async () => {
    const [mine, other] = [await newKey(), await newKey()];
    const answers = await Promise.all(Array.from({ length: 10 }, () => uploadTo(mine, 300 * 1024)));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(answers.length - refused.length).toBe(3);
    const full = [413, 'UPLOAD_QUOTA_EXCEEDED'];
    expect(refused.map((answer) => codeOf(answer))).toEqual(refused.map(() => full));
    const last = await uploadTo(mine, 300 * 1024);
    expect(last.body.error.details).toEqual({ limit: 1024 * 1024, used: 900 * 1024 });
    expect(await stored(mine.id)).toHaveLength(3);
    expect((await uploadTo(mine, 124 * 1024)).status).toBe(200);
    expect(codeOf(await uploadTo(mine, 20))).toEqual(full);
    expect((await uploadTo(other, 1024 * 1024)).status).toBe(200);
    expect(codeOf(await uploadTo(await newKey(), 1024 * 1024 + 1))).toEqual(full);
  });

  it('counts no file that could not be stored', async () => {
    const project = await newKey();
    const { files } = small.services;
    const { put } = files!;
    files!.put = async (key, file) => {
      await put(key, file);
      throw new Error('The disk is full.');
    };
    expect((await uploadTo(project, 900 * 1024)).status).toBe(500);
    files!.put = put;
    expect(await stored(project.id)).toEqual([]);
    expect((await uploadTo(project, 900 * 1024)).status).toBe(200);
  });

  it('goes on after a reset, as the files do, and ends with the project', async () => {
    const { cookie } = await small.signUp();
    const project = await small.createProject(cookie);
    await uploadTo(project, 900 * 1024);
    const at = `/users/@me/projects/${project.id}`;
    await small.request('POST', `${at}/reset`, { cookie });
    await removeRows(project.id);
    expect((await uploadTo(project, 900 * 1024)).status).toBe(413);
    await small.request('DELETE', at, { cookie });
    await removeRows(project.id);
    const left = small.db.selectFrom('upload_usage').where('owner_id', '=', project.id);
    expect(await left.select('bytes').execute()).toEqual([]);
    const files = small.db.selectFrom('upload').where('owner_id', '=', project.id);
    expect(await files.select('key').execute()).toEqual([]);
  });

  /** Deletes the rows, as the runs of a reset or deletion do. */
  async function removeRows(publicId: string): Promise<void> {
    for (const removal of ['reset', 'delete'] as const) {
      for (const id of await listRemovals(small.db, publicId, removal)) {
        while (!(await deleteProjectPage(small.db, id)).isOver);
        await deleteRemovedProject(small.db, id);
      }
    }
  }

  it('is none with UPLOAD_QUOTA_MB=0', async () => {
    const free = await useApi({ STORAGE_LOCAL_DIR: folder, UPLOAD_QUOTA_MB: '0' });
    expect(free.services.config.uploadQuotaBytes).toBeNull();
    const { secretKey: key } = await free.createProject((await free.signUp()).cookie);
    const form = await formWith(image('image/png'), { field: 'image', type: 'image/png' });
    expect((await free.request('POST', '/uploads/image', { key, ...form })).status).toBe(200);
  });
});

describe('GET /uploads/files/{key}', () => {
  it.each([
    '..%2f..%2fetc%2fpasswd',
    '%2e%2e%2f%2e%2e%2fx.png',
    `${randomUUID()}/${randomUUID()}.png`,
    `${randomUUID()}/..%2f..%2fx.png`,
    `a/b/c/${randomUUID()}.png`,
    'x.png',
    '.png',
    '%2fetc%2fpasswd.png',
    `${'a'.repeat(300)}/x.png`,
  ])('answers %s 404 FILE_NOT_FOUND', async (key) => {
    const { status, body } = await api.request('GET', `/uploads/files/${key}`);
    expect([status, body.error.code]).toEqual([404, 'FILE_NOT_FOUND']);
  });
});

describe('without storage', () => {
  it('uploads answer 503 UPLOADS_DISABLED, and /config says so', async () => {
    const bare = await useApi({ STORAGE_DRIVER: 'none' });
    const { secretKey } = await bare.createProject((await bare.signUp()).cookie);
    const refused = await bare.request('POST', '/uploads/image', {
      key: secretKey,
      ...(await formWith(image('image/png'), {
        field: 'image',
        filename: 'a.png',
        type: 'image/png',
      })),
    });
    const config = await bare.request('GET', '/config');
    const file = await bare.request('GET', `/uploads/files/${randomUUID()}/${randomUUID()}.png`);
    expect(codeOf(refused)).toEqual([503, 'UPLOADS_DISABLED']);
    expect(config.body.features.storage).toEqual({ s3Enabled: false });
    expect(file.status).toBe(404);
  });
});
