import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { waitFor } from '../../support/wait-for.ts';
import {
  sendWebhook,
  postEvent,
  useRawReceiver,
  useWireReceiver,
  v4,
  webhookSignature,
  type WireAnswer,
} from '../../support/fakes/webhook-wire.ts';
import { useFolder } from '../../support/use.ts';

describe('a webhook on the wire', () => {
  it('carries body, delivery, a signature over the raw body, and the headers of the step', async () => {
    const receiver = await useWireReceiver();
    await sendWebhook(`${receiver.url}/in?a=b%20c#part`, {
      headers: { 'content-type': 'text/plain', 'X-Name': 'Жанна é' },
    });
    const [request] = receiver.received;
    expect(request).toMatchObject({ method: 'POST', url: '/in?a=b%20c' });
    expect(request!.body.toString()).toBe('{"a":"ä"}');
    expect(request!.headers).toMatchObject({
      host: `127.0.0.1:${receiver.port}`,
      'content-type': 'text/plain',
      'content-length': '10',
      'user-agent': 'Everpost/1',
      'everpost-delivery': 'delivery-1',
      'everpost-signature': webhookSignature('{"a":"ä"}'),
    });
    expect(Buffer.from(request!.headers['x-name'] as string, 'latin1').toString()).toBe('Жанна é');
  });

  it.each(['GET', 'DELETE'] as const)(
    'as %s without a body signs the empty one',
    async (method) => {
      const receiver = await useWireReceiver();
      await sendWebhook(receiver.url, { method, body: null, headers: {} });
      const [request] = receiver.received;
      expect(request).toMatchObject({ method, body: Buffer.alloc(0) });
      expect(request!.headers['everpost-signature']).toBe(webhookSignature(''));
      expect(request!.headers['content-type']).toBeUndefined();
      expect(request!.headers['transfer-encoding']).toBeUndefined();
    },
  );

  it.each(['PUT', 'PATCH', 'DELETE'] as const)('as %s carries its body', async (method) => {
    const receiver = await useWireReceiver();
    await sendWebhook(receiver.url, { method });
    expect(receiver.received[0]!.body.toString()).toBe('{"a":"ä"}');
  });

  it('leaves no connection behind', async () => {
    const receiver = await useWireReceiver();
    await sendWebhook(receiver.url);
    await sendWebhook(receiver.url);
    expect(receiver.connections).toBe(2);
    await waitFor('the end of both connections', () => receiver.open === 0);
  });
});

describe('an answer', () => {
  it.each([200, 204, 404, 429, 500, 503])(
    'of %i is reported with its details',
    async (statusCode) => {
      const receiver = await useWireReceiver((_request, response) => {
        response.writeHead(statusCode, { 'Content-Type': 'text/x', 'Retry-After': '7' });
        response.end(statusCode === 204 ? '' : 'text ä');
      });
      expect(await sendWebhook(receiver.url)).toEqual({
        kind: 'answered',
        statusCode,
        contentType: 'text/x',
        retryAfter: '7',
        text: statusCode === 204 ? '' : 'text ä',
        isCut: false,
      });
    },
  );

  it('is read up to 64 KB, then its connection is cut', async () => {
    const receiver = await useWireReceiver((_request, response) => {
      const chunk = 'ä'.repeat(1000);
      const write = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', write);
      response.on('error', () => {});
      // One byte before two-byte letters, so that the limit is inside one of them.
      response.write('x');
      write();
    });
    const outcome = await sendWebhook(receiver.url);
    expect(outcome).toMatchObject({ kind: 'answered', statusCode: 200, isCut: true });
    expect(outcome.kind === 'answered' && outcome.text).toBe(`x${'ä'.repeat(32 * 1024 - 1)}`);
    await waitFor('the end of the connection', () => receiver.open === 0);
  });

  it('of exactly 64 KB is whole', async () => {
    const text = 'x'.repeat(64 * 1024);
    const receiver = await useWireReceiver((_request, response) => response.end(text));
    expect(await sendWebhook(receiver.url)).toMatchObject({ text });
  });

  it('that breaks off is none', async () => {
    const receiver = await useWireReceiver((_request, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('half', () => response.destroy());
    });
    expect(await sendWebhook(receiver.url)).toMatchObject({ kind: 'unreachable' });
  });

  it.each<[string, WireAnswer]>([
    ['says nothing', () => {}],
    ['never ends its head', (_request, response) => response.writeProcessing()],
    [
      'drips its body',
      (_request, response) => {
        const drip = setInterval(() => response.write('.'), 20);
        response.on('close', () => clearInterval(drip));
      },
    ],
    [
      'redirects slowly for ever',
      (_request, response) => {
        setTimeout(() => response.writeHead(307, { Location: '/again' }).end(), 100);
      },
    ],
  ])('of a receiver that %s ends at the time limit', async (_what, answer) => {
    const receiver = await useWireReceiver(answer);
    const began = performance.now();
    expect(await sendWebhook(receiver.url, {}, { timeoutMs: 300 })).toEqual({ kind: 'timeout' });
    // Without a limit these receivers would never end.
    expect(performance.now() - began).toBeLessThan(15_000);
    await waitFor('the end of the connection', () => receiver.open === 0);
  });

  it('of a resolver that never comes is a time-out', async () => {
    const lookup = () => new Promise<never>(() => {});
    const outcome = await sendWebhook('http://hooks.example/', {}, { timeoutMs: 50, lookup });
    expect(outcome).toEqual({ kind: 'timeout' });
  });

  it('of a resolver that comes too late leads to no connection', async () => {
    const receiver = await useWireReceiver();
    let resolveName: () => void = () => {};
    const lookup = () =>
      new Promise<ReturnType<typeof v4>[]>((resolve) => {
        resolveName = () => resolve([v4('127.0.0.1')]);
      });
    const url = `http://hooks.example:${receiver.port}/`;
    expect(await sendWebhook(url, {}, { timeoutMs: 50, lookup })).toEqual({ kind: 'timeout' });
    resolveName();
    // Another request is answered after the time at which it would have connected.
    await sendWebhook(receiver.url);
    expect(receiver.connections).toBe(1);
  });
});

describe('an answer as other servers write it', () => {
  const ok =
    'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"ok":1}';

  it.each([
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 100 Continue\r\n\r\n'.repeat(3),
    'HTTP/1.1 100 Continue\r\nX-A: b\r\nDate: x\r\n\r\n',
    'HTTP/1.1 102 Processing\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n',
  ])('is the final one, whatever it announces before: %j', async (before) => {
    const receiver = await useRawReceiver(before + ok);
    expect(await sendWebhook(receiver.url)).toMatchObject({ statusCode: 200, text: '{"ok":1}' });
    expect(await postEvent(receiver.url)).toMatchObject({ statusCode: 200 });
    expect(receiver.asked()).toBe(2);
  });

  it('is none when the receiver changes the protocol', async () => {
    const receiver = await useRawReceiver(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    );
    expect(await sendWebhook(receiver.url)).toMatchObject({ kind: 'unreachable' });
  });

  const json = '{"ok":true,"id":7,"name":"Zoë"}';
  const coded: [string, Buffer][] = [
    ['gzip', gzipSync(json)],
    ['GZIP', gzipSync(json)],
    ['x-gzip', gzipSync(json)],
    ['br', brotliCompressSync(json)],
    ['deflate', deflateSync(json)],
    ['deflate', deflateRawSync(json)],
    ['identity', Buffer.from(json)],
    ['identity, gzip', gzipSync(json)],
    ['gzip, br', brotliCompressSync(gzipSync(json))],
    // The header is wrong: the body is not compressed.
    ['gzip', Buffer.from(json)],
    ['br', Buffer.from(json)],
  ];

  it.each(coded)('is read without its coding: %s', async (coding, bytes) => {
    const receiver = await useWireReceiver((_request, response) => {
      const status = _request.url === '/bad' ? 500 : 200;
      response.writeHead(status, { 'Content-Encoding': coding }).end(bytes);
    });
    expect(await sendWebhook(receiver.url)).toMatchObject({ text: json, isCut: false });
    expect(await postEvent(`${receiver.url}/bad`)).toMatchObject({ statusCode: 500, text: json });
  });

  it('with an unknown encoding counts, without its body', async () => {
    const receiver = await useWireReceiver((_request, response) =>
      response.writeHead(200, { 'Content-Encoding': 'zstd' }).end('\x28\xb5\x2f\xfd'),
    );
    expect(await sendWebhook(receiver.url)).toMatchObject({ statusCode: 200, text: '' });
  });

  it('counts when its coding breaks off, as far as it can be read', async () => {
    const long = Array.from({ length: 500 }, (_, index) => `line ${index}`).join('\n');
    const half = gzipSync(long).subarray(0, 600);
    const receiver = await useWireReceiver((_request, response) =>
      response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(half),
    );
    const outcome = await sendWebhook(receiver.url);
    expect(outcome).toMatchObject({ statusCode: 200 });
    expect(outcome.kind === 'answered' && long.startsWith(outcome.text)).toBe(true);
    expect(outcome.kind === 'answered' && outcome.text.length).toBeGreaterThan(100);
  });

  const zeros = Buffer.alloc(100 * 1024 * 1024);
  it.each<[string, Buffer]>([
    ['gzip', gzipSync(zeros)],
    ['br', brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
    ['deflate', deflateSync(zeros)],
    ['gzip, gzip', gzipSync(gzipSync(zeros))],
  ])('that would unpack to 100 MB (%s) is read up to 64 KB', async (coding, bomb) => {
    const receiver = await useWireReceiver((_request, response) =>
      response.writeHead(200, { 'Content-Encoding': coding }).end(bomb),
    );
    const before = process.memoryUsage().rss;
    const outcome = await sendWebhook(receiver.url);
    expect(outcome).toMatchObject({ statusCode: 200, isCut: true });
    expect(outcome.kind === 'answered' && outcome.text.length).toBeLessThanOrEqual(64 * 1024);
    expect(process.memoryUsage().rss - before).toBeLessThan(40 * 1024 * 1024);
  });

  it.each([
    ['text/plain; charset=iso-8859-1', Buffer.from('Zoë', 'latin1')],
    ['text/plain; charset="ISO-8859-1"', Buffer.from('Zoë', 'latin1')],
    ['text/plain;format=flowed;CHARSET = windows-1252', Buffer.from('Zoë', 'latin1')],
    ['text/plain; charset=utf-16le', Buffer.from('Zoë', 'utf16le')],
    ['text/plain', Buffer.from('\ufeffZoë', 'utf16le')],
    ['text/plain; charset=utf-8', Buffer.from('\ufeffZoë')],
    ['text/plain; charset=klingon', Buffer.from('Zoë')],
    ["text/plain; charset='utf-8'", Buffer.from('Zoë')],
    ['text/plain; charset=', Buffer.from('Zoë')],
    ['', Buffer.from('Zoë')],
  ])('of the type %s is read in its encoding', async (type, bytes) => {
    const receiver = await useWireReceiver((_request, response) =>
      response.writeHead(200, type === '' ? {} : { 'Content-Type': type }).end(bytes),
    );
    expect(await sendWebhook(receiver.url)).toMatchObject({ text: 'Zoë' });
  });

  it.each([
    ['/straße?q=ü', Buffer.from('/straße?q=ü'), '/stra%C3%9Fe?q=%C3%BC'],
    ['/straße in Latin-1', Buffer.from('/straße', 'latin1'), '/stra%DFe'],
    ['/a b', Buffer.from('/a b'), '/a%20b'],
    ['/a%20b%ff', Buffer.from('/a%20b%ff'), '/a%20b%ff'],
  ])('that leads to %s is followed byte by byte', async (_what, location, path) => {
    const head = Buffer.from('HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ');
    const target = await useWireReceiver();
    const to = Buffer.concat([Buffer.from(target.url), location]);
    const receiver = await useRawReceiver(Buffer.concat([head, to, Buffer.from('\r\n\r\n')]));
    expect(await sendWebhook(receiver.url)).toMatchObject({ statusCode: 200 });
    expect(target.received.map(({ url }) => url.toLowerCase())).toEqual([path.toLowerCase()]);
  });

  it('that leads to no host is refused', async () => {
    for (const host of ['http://\xff.example/', 'http://', 'http:// x/']) {
      const receiver = await useRawReceiver(
        Buffer.from(
          `HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ${host}\r\n\r\n`,
          'latin1',
        ),
      );
      expect(await sendWebhook(receiver.url)).toMatchObject({ kind: 'refused' });
    }
  });
});

describe('a receiver that cannot be asked', () => {
  it('with a closed port is unreachable', async () => {
    const receiver = await useWireReceiver();
    await receiver.close();
    const outcome = await sendWebhook(receiver.url);
    expect(outcome).toEqual({ kind: 'unreachable', error: expect.stringMatching(/ECONNREFUSED/) });
  });

  it('with an unknown name is unreachable', async () => {
    const lookup = async () => {
      throw new Error('getaddrinfo ENOTFOUND hooks.example');
    };
    expect(await sendWebhook('http://hooks.example/', {}, { lookup })).toEqual({
      kind: 'unreachable',
      error: 'getaddrinfo ENOTFOUND hooks.example',
    });
    expect(await sendWebhook('http://hooks.example/', {}, { lookup: async () => [] })).toEqual({
      kind: 'unreachable',
      error: 'hooks.example has no address.',
    });
  });

  it('is asked at its next address when the first is closed', async () => {
    const receiver = await useWireReceiver();
    const lookup = async () => [{ address: '::1', family: 6 }, v4('127.0.0.1')];
    const outcome = await sendWebhook(`http://hooks.example:${receiver.port}/`, {}, { lookup });
    expect(outcome).toMatchObject({ kind: 'answered', statusCode: 200 });
    expect(receiver.received[0]!.headers.host).toBe(`hooks.example:${receiver.port}`);
  });

  it.each([
    'ftp://shop.example/',
    'file:///etc/passwd',
    'https://',
    'http://[::1',
    'http://ada:secret@shop.example/',
    'https://shop.example@evil.example/',
    'http://x y/',
  ])('at %s is refused', async (url) => {
    const lookup = async () => {
      throw new Error('must not be asked');
    };
    expect(await sendWebhook(url, {}, { lookup })).toMatchObject({ kind: 'refused' });
  });

  it.each([
    ['Expect', '100-continue'],
    ['upgrade', 'websocket'],
    ['Transfer-Encoding', 'chunked'],
    ['X A', 'b'],
    ['X-A', 'b\nc'],
  ])('with a header no client can send (%s: %j) is refused', async (name, value) => {
    const receiver = await useWireReceiver();
    const outcome = await sendWebhook(receiver.url, { headers: { [name]: value } });
    expect(outcome).toMatchObject({ kind: 'refused' });
    expect(receiver.received).toEqual([]);
  });
});

describe('a webhook over TLS', () => {
  // Created for this test and for the name hooks.example.
  const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgGvqFSS48VsRyYYFd
cSBt+Y0R6QMzeYmb4DS1tra8DcGhRANCAATxPQ7Pb5s57q4oowGflKMVJRcR5jTF
R2A5lAqDt/Quj3KLIqFEt6tnoYgnS/8CWLEMpf2o8r6gmGWZq5wMpa9h
-----END PRIVATE KEY-----
`;
  const cert = `-----BEGIN CERTIFICATE-----
MIIBoTCCAUegAwIBAgIUCfq/+WN+VhwMbsneQiidNmNZ3KQwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNaG9va3MuZXhhbXBsZTAgFw0yNjExMjEwMzE1MjZaGA8yMTI2
MTAyODAzMTUyNlowGDEWMBQGA1UEAwwNaG9va3MuZXhhbXBsZTBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABPE9Ds9vmznuriijAZ+UoxUlFxHmNMVHYDmUCoO39C6P
cosioUS3q2ehiCdL/wJYsQyl/ajyvqCYZZmrnAylr2GjbTBrMB0GA1UdDgQWBBSE
DfCU/TUeA5dD3wxt/w6BX/O16DAfBgNVHSMEGDAWgBSEDfCU/TUeA5dD3wxt/w6B
X/O16DAPBgNVHRMBAf8EBTADAQH/MBgGA1UdEQQRMA+CDWhvb2tzLmV4YW1wbGUw
CgYIKoZIzj0EAwIDSAAwRQIhAIeP15KREYtUJDu/sWUl/D/N4phdO5DosPnj8VKC
IJ/GAiA/gUMMiUyE7h7SnnT1kJ9I0+AkKzGU5UZyTqND0nvK2g==
-----END CERTIFICATE-----
`;
  const startTlsReceiver = () =>
    useWireReceiver(undefined, (listener) => createTlsServer({ key, cert }, listener));
  const lookup = async () => [v4('127.0.0.1')];

  it('is not sent to a receiver with an untrusted certificate', async () => {
    const receiver = await startTlsReceiver();
    const url = `https://hooks.example:${receiver.port}/`;
    expect(await sendWebhook(url, {}, { lookup })).toEqual({
      kind: 'unreachable',
      error: expect.stringMatching(/certificate/),
    });
    expect(receiver.received).toEqual([]);
  });

  it('is sent by the name of the URL to the address that was checked', async () => {
    const receiver = await startTlsReceiver();
    const folder = await useFolder();
    const authority = path.join(folder, 'ca.pem');
    writeFileSync(authority, cert);
    // Node reads its own list of authorities once, at the start of a process.
    const program = `
      import { createWebhookSender } from './providers/web/webhook.ts';
      const sender = createWebhookSender({
        timeoutMs: 5000,
        allowPrivate: true,
        lookup: async () => [{ address: '127.0.0.1', family: 4 }],
      });
      const call = { method: 'POST', headers: {}, body: 'b', deliveryId: 'd', secret: 's', timestamp: 1 };
      const names = ['hooks.example', 'other.example'];
      const outcomes = names.map((name) =>
        sender.send({ ...call, url: 'https://' + name + ':${receiver.port}/' }));
      process.stdout.write(JSON.stringify(await Promise.all(outcomes)));
    `;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', program],
      {
        cwd: path.join(import.meta.dirname, '../../..'),
        env: { ...process.env, NODE_EXTRA_CA_CERTS: authority },
      },
    );
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({ kind: 'answered', statusCode: 200, text: 'ok' }),
      { kind: 'unreachable', error: expect.stringMatching(/other\.example/) },
    ]);
    expect(receiver.received.map(({ headers }) => headers.host)).toEqual([
      `hooks.example:${receiver.port}`,
    ]);
  });
});
