import { createServer, type ServerResponse } from 'node:http';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { formWith } from '../../support/projects/upload.ts';
import { startApiProcess } from '../../support/processes/processes.ts';
import { useEngine } from '../../support/engine.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { listen, use } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

/** An API process that is killed while the storage works. */

const storage = await useStorage();
const settings = {
  STORAGE_DRIVER: 's3',
  S3_ENDPOINT: storage.url,
  S3_BUCKET: 'files',
  S3_ACCESS_KEY_ID: 'id',
  S3_ACCESS_KEY_SECRET: 'secret',
};
const engine = await useEngine(settings);
const { db } = engine.api;

/** Starts a storage of objects that can stop to respond to a method. */
async function useStorage() {
  const objects = new Set<string>();
  const held: ServerResponse[] = [];
  const silent = { method: '' };
  const server = createServer((request, response) => {
    const { method, url = '' } = request;
    request.resume().on('end', () => {
      // A PUT that gets no response may have stored its object.
      if (method === 'PUT') objects.add(url.split('?')[0]!);
      if (method === silent.method) return void held.push(response);
      if (method === 'DELETE') objects.delete(url.split('?')[0]!);
      response.writeHead(method === 'DELETE' ? 204 : 200).end();
    });
  });
  return use({ ...(await listen(server)), objects, held, silent });
}

/** Uploads a file to an API process. */
async function upload(to: { url: string }): Promise<{ key: string }> {
  const bytes = Buffer.alloc(1000, 7);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const form = await formWith(bytes, { field: 'image', filename: 'a.png', type: 'image/png' });
  const response = await fetch(`${to.url}/uploads/image`, {
    method: 'POST',
    headers: { ...form.headers, authorization: `Bearer ${engine.project.secretKey}` },
    body: form.body as Uint8Array<ArrayBuffer>,
  });
  return (await response.json()) as { key: string };
}

const usage = async () => (await engine.call('GET', '/uploads')).body.usage;

async function sweepLater(): Promise<void> {
  await sql`update upload set remove_at = now() - interval '1 minute' where remove_at is not null`.execute(
    db,
  );
  await sweepNow(engine);
}

it.each(['PUT', 'DELETE'])(
  'deletes the file later if the API is killed during its %s',
  async (method) => {
    const api = await startApiProcess(engine, settings);
    const file = method === 'DELETE' ? await upload(api) : null;
    storage.silent.method = method;
    const asked = file ? api.call('DELETE', `/uploads/files/${file.key}`) : upload(api);
    const broken = expect(asked).rejects.toThrow();
    await waitFor('the storage to be asked', async () => storage.held.length > 0);
    await api.kill();
    await broken;
    storage.held.length = 0;
    storage.silent.method = '';
    expect([storage.objects.size, await usage()]).toEqual([
      1,
      expect.objectContaining({ files: 0, bytes: 1000 }),
    ]);
    await sweepLater();
    expect([storage.objects.size, await usage()]).toEqual([
      0,
      expect.objectContaining({ files: 0, bytes: 0 }),
    ]);
  },
);
