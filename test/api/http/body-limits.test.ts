import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../../../api/endpoints.ts';
import { limits } from '../../../domain/limits.ts';
import { useApi } from '../../support/api.ts';

const api = await useApi({ INBOUND_MIME_SECRET: 'a secret of the hook' });
const { secretKey: key } = await api.createProject((await api.signUp()).cookie);

const KB = 1024;
const MB = 1024 * KB;
const json = { 'Content-Type': 'application/json' };
const zeroId = '00000000-0000-4000-8000-000000000000';

/** Returns the largest body of an endpoint, in bytes. */
function limitOf({ path, access }: (typeof endpoints)[number]): number {
  if (path === '/webhooks/incoming/mime') return 10 * MB;
  if (path.startsWith('/webhooks/providers/')) return 5 * MB;
  if (path.includes('/webhooks/')) return MB;
  if (access === 'open') return 16 * KB;
  if (path.startsWith('/v1/send')) return 50 * MB;
  if (path === '/uploads/image') return 10 * MB + 64 * KB;
  if (path === '/contacts/import') return 5 * MB + 64 * KB;
  if (path === '/plan') return limits.planBodyBytes;
  return /^\/(?:templates|campaigns)(?:\/|$)/.test(path) ? 5 * MB : MB;
}

/** Sends the head of a request and so much of its body. Returns status and code. */
function speak(path: string, { method = 'POST', headers = {}, pieces = [] as string[] }) {
  const { hostname, port } = new URL(api.url);
  const head = Object.entries({ Host: hostname, Connection: 'close', ...headers });
  return new Promise<{ status: number; code: string | undefined }>((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(port), hostname);
    socket.setEncoding('utf8');
    socket.on('error', reject);
    socket.on('data', (text: string) => (answer += text));
    socket.on('close', () => {
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
      resolve({ status, code: /"code":"([A-Z_]+)"/.exec(answer)?.[1] });
    });
    const lines = head.map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    for (const piece of pieces) socket.write(piece);
  });
}

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

describe('a body', () => {
  it.each(endpoints.map((endpoint) => [endpoint.method, endpoint.path, endpoint] as const))(
    'of %s %s is refused when it is a byte longer than may be',
    async (method, path, endpoint) => {
      const limit = limitOf(endpoint);
      const to = path.replaceAll(/\{\w+\}/g, zeroId);
      const headers = { ...json, 'Content-Length': String(limit + 1) };
      const over = await speak(to, { method, headers });
      expect(over.status).toBe(413);
      const code = endpoint.upload ? 'FILE_TOO_LARGE' : 'PAYLOAD_TOO_LARGE';
      expect(over.code).toBe(code);
    },
  );

  it.each([
    ['/auth/login', 16 * KB, {}],
    ['/unsubscribe/x', 16 * KB, {}],
    ['/webhooks/sns', MB, {}],
    ['/contacts', MB, { key: true }],
    ['/templates', 5 * MB, { key: true }],
    ['/v1/send', 50 * MB, { key: true }],
  ])('to %s of exactly %s bytes is read', async (path, limit, as: { key?: boolean }) => {
    const body = `{"a":"${'x'.repeat(limit - 8)}"}`;
    const { status } = await api.request('POST', path, { ...(as.key ? { key } : {}), body });
    expect([200, 403, 422]).toContain(status);
  });

  it.each([
    ['/unsubscribe/x', 16 * KB, 'PAYLOAD_TOO_LARGE', {}],
    ['/auth/login', 16 * KB, 'PAYLOAD_TOO_LARGE', {}],
    ['/contacts', MB, 'PAYLOAD_TOO_LARGE', { key: true }],
    ['/contacts/import', 5 * MB + 64 * KB, 'FILE_TOO_LARGE', { key: true }],
  ])('to %s that does not say its length is read up to %s bytes', async (path, limit, code, as) => {
    const isUpload = path.endsWith('/import');
    const headers = {
      'Content-Type': isUpload ? 'multipart/form-data; boundary=b' : 'application/json',
      'Transfer-Encoding': 'chunked',
      ...('key' in as ? { Authorization: `Bearer ${key}` } : {}),
    };
    // The body never ends: the response comes before the whole body.
    const pieces = Array.from({ length: Math.ceil(limit / (8 * KB)) + 1 }, () =>
      chunk('x'.repeat(8 * KB)),
    );
    expect(await speak(path, { headers, pieces })).toEqual({ status: 413, code });
  });

  it('that is compressed is refused with 415, on every endpoint, before credentials are checked', async () => {
    for (const path of [
      '/contacts',
      '/v1/send',
      '/unsubscribe/x',
      '/webhooks/sns',
      '/auth/login',
    ]) {
      for (const encoding of ['gzip', 'identity']) {
        const { status, body } = await api.request('POST', path, {
          headers: { ...json, 'Content-Encoding': encoding },
          body: gzipSync('{}'),
        });
        expect([path, status, body.error.code]).toEqual([path, 415, 'UNSUPPORTED_MEDIA_TYPE']);
      }
    }
  });

  it('that is too large answers so, compressed or not', async () => {
    const headers = { ...json, 'Content-Encoding': 'gzip', 'Content-Length': String(17 * KB) };
    expect((await speak('/auth/login', { headers })).status).toBe(413);
  });

  it('of very many values answers 422 before they are made', async () => {
    for (const [path, count] of [
      ['/contacts', MB / 3 - 10],
      ['/v1/send', 50 * (MB / 3) - 10],
    ] as const) {
      const text = `{"data":[${'[],'.repeat(count)}[]]}`;
      const before = process.memoryUsage().heapUsed + text.length;
      const { status, body } = await api.request('POST', path, { key, body: text });
      expect(status).toBe(422);
      expect(body.error.errors).toEqual([
        { field: '', code: 'too_big', message: expect.stringContaining('100000') },
      ]);
      expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * MB);
    }
  });

  it('of as many values as a mail may need is taken', async () => {
    const data = Object.fromEntries(Array.from({ length: 90_000 }, (_, n) => [n, 0]));
    const { body } = await api.request('POST', '/contacts', {
      key,
      body: { email: 'a@x.example', data },
    });
    // The body is read, and refused for its content.
    expect(body.error.errors[0].field).toBe('data');
  });
});
