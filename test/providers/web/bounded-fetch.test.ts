import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createFetcher } from '../../../providers/web/bounded-fetch.ts';
import { useRawReceiver, useWireReceiver } from '../../support/fakes/webhook-wire.ts';

const fetchBytes = createFetcher({});
const text = (url: string, bytesMax = 1024) =>
  fetchBytes(new URL(url), bytesMax).then((bytes) => bytes.toString());

describe('a file of a service', () => {
  it.each(['100 Continue', '102 Processing', '103 Early Hints'])(
    'is fetched whatever comes before it: %s',
    async (before) => {
      const { url } = await useRawReceiver(
        `HTTP/1.1 ${before}\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfile`,
      );
      expect(await text(url)).toBe('file');
    },
  );

  it('is read without its coding', async () => {
    for (const [coding, bytes] of [
      ['gzip', gzipSync('file')],
      ['br', brotliCompressSync('file')],
    ] as const) {
      const { url } = await useWireReceiver((_request, response) =>
        response.writeHead(200, { 'Content-Encoding': coding }).end(bytes),
      );
      expect(await text(url)).toBe('file');
    }
  });

  it('is refused when it is too large, coded or not', async () => {
    const large = Buffer.alloc(2_000_000, 'x');
    for (const [coding, bytes] of [
      ['identity', large],
      ['gzip', gzipSync(large)],
    ] as const) {
      const { url } = await useWireReceiver((_request, response) =>
        response.writeHead(200, { 'Content-Encoding': coding }).end(bytes),
      );
      await expect(text(url)).rejects.toThrow(/answered more than \d+ bytes/);
    }
  });

  it('is refused when the answer is not 2xx: a redirect is not followed', async () => {
    const { url } = await useWireReceiver((_request, response) =>
      response.writeHead(302, { Location: '/other' }).end(),
    );
    await expect(text(url)).rejects.toThrow('answered 302');
  });
});
