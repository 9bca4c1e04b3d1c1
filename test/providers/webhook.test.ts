import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../providers/address-guard.ts';
import {
  createWebhookSender,
  type WebhookAttempt,
  type WebhookSenderSettings,
} from '../../providers/webhook.ts';
import { waitFor } from '../support/wait-for.ts';

interface Received {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

interface Receiver {
  url: string;
  port: number;
  received: Received[];
  connections: number;
  /** Connections open now. */
  open: number;
}

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

type Answer = (request: Received, response: Parameters<RequestListener>[1]) => void;

/** A web server on loopback that keeps what it is asked. */
async function startReceiver(
  answer: Answer = (_request, response) => response.end('ok'),
  create: (listener: RequestListener) => Server = createServer,
): Promise<Receiver> {
  const server = create((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const got = { method, url, headers, body: Buffer.concat(chunks) };
      receiver.received.push(got);
      answer(got, response);
    });
  });
  server.on('connection', (socket) => {
    receiver.connections += 1;
    receiver.open += 1;
    socket.on('close', () => (receiver.open -= 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const receiver: Receiver = { url, port, received: [], connections: 0, open: 0 };
  return receiver;
}

const secret = 'whsec_0123456789';

function send(
  url: string,
  call: Partial<WebhookAttempt> = {},
  settings: Partial<WebhookSenderSettings> = {},
) {
  const sender = createWebhookSender({ timeoutMs: 5_000, allowPrivate: true, ...settings });
  return sender.send({
    url,
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"a":"ä"}',
    deliveryId: 'delivery-1',
    secret,
    timestamp: 1_789_000_000,
    ...call,
  });
}

const signature = (body: string) =>
  `t=1789000000,v1=${createHmac('sha256', secret).update(`1789000000.${body}`).digest('hex')}`;

const v4 = (address: string) => ({ address, family: 4 });

/** An address guard to which loopback is public `times` times; after that it is the real one. */
function publicAtFirst(times = 1) {
  let asked = 0;
  return (address: string) => {
    asked += 1;
    return asked <= times || isPublicAddress(address);
  };
}

describe('a webhook on the wire', () => {
  it('carries body, delivery, a signature over the raw body, and the headers of the step', async () => {
    const receiver = await startReceiver();
    await send(`${receiver.url}/in?a=b%20c#part`, {
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
      'everpost-signature': signature('{"a":"ä"}'),
    });
    expect(Buffer.from(request!.headers['x-name'] as string, 'latin1').toString()).toBe('Жанна é');
  });

  it.each(['GET', 'DELETE'] as const)(
    'as %s without a body signs the empty one',
    async (method) => {
      const receiver = await startReceiver();
      await send(receiver.url, { method, body: null, headers: {} });
      const [request] = receiver.received;
      expect(request).toMatchObject({ method, body: Buffer.alloc(0) });
      expect(request!.headers['everpost-signature']).toBe(signature(''));
      expect(request!.headers['content-type']).toBeUndefined();
      expect(request!.headers['transfer-encoding']).toBeUndefined();
    },
  );

  it.each(['PUT', 'PATCH', 'DELETE'] as const)('as %s carries its body', async (method) => {
    const receiver = await startReceiver();
    await send(receiver.url, { method });
    expect(receiver.received[0]!.body.toString()).toBe('{"a":"ä"}');
  });

  it('leaves no connection behind', async () => {
    const receiver = await startReceiver();
    await send(receiver.url);
    await send(receiver.url);
    expect(receiver.connections).toBe(2);
    await waitFor('the end of both connections', () => receiver.open === 0);
  });
});

describe('an answer', () => {
  it.each([200, 204, 404, 429, 500, 503])('of %i is told with its details', async (statusCode) => {
    const receiver = await startReceiver((_request, response) => {
      response.writeHead(statusCode, { 'Content-Type': 'text/x', 'Retry-After': '7' });
      response.end(statusCode === 204 ? '' : 'text ä');
    });
    expect(await send(receiver.url)).toEqual({
      kind: 'answered',
      statusCode,
      contentType: 'text/x',
      retryAfter: '7',
      text: statusCode === 204 ? '' : 'text ä',
    });
  });

  it('is read up to 64 KB, then its connection is cut', async () => {
    const receiver = await startReceiver((_request, response) => {
      const chunk = 'ä'.repeat(1000);
      const write = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', write);
      response.on('error', () => {});
      // One byte ahead of two-byte letters, so that the limit falls into one.
      response.write('x');
      write();
    });
    const outcome = await send(receiver.url);
    expect(outcome).toMatchObject({ kind: 'answered', statusCode: 200 });
    expect(outcome.kind === 'answered' && outcome.text).toBe(`x${'ä'.repeat(32 * 1024 - 1)}`);
    await waitFor('the end of the connection', () => receiver.open === 0);
  });

  it('of exactly 64 KB is whole', async () => {
    const text = 'x'.repeat(64 * 1024);
    const receiver = await startReceiver((_request, response) => response.end(text));
    expect(await send(receiver.url)).toMatchObject({ text });
  });

  it('that breaks off is none', async () => {
    const receiver = await startReceiver((_request, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('half', () => response.destroy());
    });
    expect(await send(receiver.url)).toMatchObject({ kind: 'unreachable' });
  });

  it.each<[string, Answer]>([
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
    const receiver = await startReceiver(answer);
    const began = performance.now();
    expect(await send(receiver.url, {}, { timeoutMs: 300 })).toEqual({ kind: 'timeout' });
    expect(performance.now() - began).toBeLessThan(2_000);
    await waitFor('the end of the connection', () => receiver.open === 0);
  });

  it('of a resolver that never comes is a time-out', async () => {
    const lookup = () => new Promise<never>(() => {});
    const outcome = await send('http://hooks.example/', {}, { timeoutMs: 50, lookup });
    expect(outcome).toEqual({ kind: 'timeout' });
  });

  it('of a resolver that comes too late leads to no connection', async () => {
    const receiver = await startReceiver();
    let resolveName: () => void = () => {};
    const lookup = () =>
      new Promise<ReturnType<typeof v4>[]>((resolve) => {
        resolveName = () => resolve([v4('127.0.0.1')]);
      });
    const url = `http://hooks.example:${receiver.port}/`;
    expect(await send(url, {}, { timeoutMs: 50, lookup })).toEqual({ kind: 'timeout' });
    resolveName();
    // Another request is answered after it would have connected.
    await send(receiver.url);
    expect(receiver.connections).toBe(1);
  });
});

describe('a receiver that cannot be asked', () => {
  it('with a closed port is unreachable', async () => {
    const receiver = await startReceiver();
    await Promise.all(closing.splice(0).map((close) => close()));
    const outcome = await send(receiver.url);
    expect(outcome).toEqual({ kind: 'unreachable', error: expect.stringMatching(/ECONNREFUSED/) });
  });

  it('with a name nobody knows is unreachable', async () => {
    const lookup = async () => {
      throw new Error('getaddrinfo ENOTFOUND hooks.example');
    };
    expect(await send('http://hooks.example/', {}, { lookup })).toEqual({
      kind: 'unreachable',
      error: 'getaddrinfo ENOTFOUND hooks.example',
    });
    expect(await send('http://hooks.example/', {}, { lookup: async () => [] })).toEqual({
      kind: 'unreachable',
      error: 'hooks.example has no address.',
    });
  });

  it('is asked at its next address when the first is closed', async () => {
    const receiver = await startReceiver();
    const lookup = async () => [{ address: '::1', family: 6 }, v4('127.0.0.1')];
    const outcome = await send(`http://hooks.example:${receiver.port}/`, {}, { lookup });
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
    expect(await send(url, {}, { lookup })).toMatchObject({ kind: 'refused' });
  });

  it('with a header no client can send is refused', async () => {
    const receiver = await startReceiver();
    const outcome = await send(receiver.url, { headers: { Expect: '100-continue' } });
    expect(outcome).toMatchObject({ kind: 'refused' });
    expect(receiver.received).toEqual([]);
  });
});

describe('the address guard of a webhook', () => {
  const guarded = { allowPrivate: false };

  it.each([
    'http://127.0.0.1',
    'http://2130706433',
    'http://0x7f.1',
    'http://0177.0.0.1',
    'http://127.1',
    'http://127.0.0.1.',
    'http://１２７.0.0.1',
    'http://0',
    'http://[::1]',
    'http://[::]',
    'http://[::ffff:127.0.0.1]',
    'http://[::ffff:10.0.0.1]',
    'http://[64:ff9b::7f00:1]',
    'http://169.254.169.254',
    'http://localhost',
    'https://127.0.0.1',
  ])('refuses %s and calls nobody', async (origin) => {
    const receiver = await startReceiver();
    const outcome = await send(`${origin}:${receiver.port}/`, {}, guarded);
    expect(outcome).toEqual({
      kind: 'refused',
      error: expect.stringMatching(/is not at a public address\.$/),
    });
    expect(receiver.connections).toBe(0);
  });

  it('refuses a name with a private address among public ones', async () => {
    const receiver = await startReceiver();
    const lookup = async () => [v4('93.184.216.34'), v4('127.0.0.1')];
    const url = `http://hooks.example:${receiver.port}/`;
    expect(await send(url, {}, { ...guarded, lookup })).toEqual({
      kind: 'refused',
      error: 'hooks.example is not at a public address.',
    });
    expect(receiver.connections).toBe(0);
  });

  it('connects to the address it checked, whatever the resolver says next', async () => {
    const receiver = await startReceiver();
    const answers = ['127.0.0.2', '127.0.0.1', '127.0.0.1'];
    let asked = 0;
    const lookup = async () => [v4(answers[asked++]!)];
    const outcome = await send(
      `http://hooks.example:${receiver.port}/`,
      {},
      // Nobody listens at 127.0.0.2, which plays the public address.
      { ...guarded, timeoutMs: 1_000, lookup, isPublic: (address) => address === '127.0.0.2' },
    );
    expect(['unreachable', 'timeout']).toContain(outcome.kind);
    expect(asked).toBe(1);
    expect(receiver.connections).toBe(0);
  });

  it.each([301, 302, 303, 307, 308])('refuses a %i into the private net', async (status) => {
    const hidden = await startReceiver();
    const targets = [hidden.url, `http://[::ffff:127.0.0.1]:${hidden.port}/`, '//127.0.0.1/'];
    for (const location of targets) {
      const receiver = await startReceiver((_request, response) =>
        response.writeHead(status, { Location: location }).end(),
      );
      const outcome = await send(receiver.url, {}, { ...guarded, isPublic: publicAtFirst() });
      expect(outcome).toMatchObject({ kind: 'refused' });
      expect(receiver.received).toHaveLength(1);
    }
    expect(hidden.connections).toBe(0);
  });

  it('asks and checks anew when a redirect leads back to the same name', async () => {
    const receiver = await startReceiver((_request, response) =>
      response.writeHead(307, { Location: '/again' }).end(),
    );
    let asked = 0;
    const lookup = async () => [v4(asked++ === 0 ? '127.0.0.1' : '10.0.0.1')];
    const url = `http://hooks.example:${receiver.port}/`;
    const isPublic = publicAtFirst();
    expect(await send(url, {}, { ...guarded, lookup, isPublic })).toMatchObject({
      kind: 'refused',
    });
    expect(receiver.received).toHaveLength(1);
  });

  it.each(['ftp://shop.example/', 'http://a:b@shop.example/', 'http://[', 'javascript:1'])(
    'refuses a redirect to %s',
    async (location) => {
      const receiver = await startReceiver((_request, response) =>
        response.writeHead(302, { Location: location }).end(),
      );
      expect(await send(receiver.url)).toMatchObject({ kind: 'refused' });
    },
  );
});

describe('a redirect', () => {
  /** A receiver that redirects `/` once, elsewhere or to its own `/end`. */
  const redirecting = (status: number, location = '/end') =>
    startReceiver(({ url }, response) => {
      if (url === '/') response.writeHead(status, { Location: location }).end('moved');
      else response.end('here');
    });

  it.each([
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'POST', 'GET'],
    [303, 'PUT', 'GET'],
    [303, 'DELETE', 'GET'],
    [301, 'PUT', 'PUT'],
    [302, 'PATCH', 'PATCH'],
    [307, 'POST', 'POST'],
    [308, 'POST', 'POST'],
    [308, 'DELETE', 'DELETE'],
  ] as const)('%i after %s asks by %s, signed anew', async (status, method, then) => {
    const receiver = await redirecting(status);
    expect(await send(receiver.url, { method })).toMatchObject({ statusCode: 200, text: 'here' });
    const last = receiver.received[1]!;
    const body = then === 'GET' ? '' : '{"a":"ä"}';
    expect(last).toMatchObject({ method: then, url: '/end' });
    expect(last.body.toString()).toBe(body);
    expect(last.headers).toMatchObject({
      'everpost-delivery': 'delivery-1',
      'everpost-signature': signature(body),
    });
    expect(last.headers['content-type']).toBe(then === 'GET' ? undefined : 'application/json');
  });

  it('to another origin takes no credentials along, within one it does', async () => {
    const headers = { authorization: 'Bearer x', Cookie: 'a=b', 'X-Own': 'c' };
    const other = await startReceiver();
    const away = await redirecting(307, `${other.url}/end`);
    await send(away.url, { headers });
    expect(other.received[0]!.headers).toMatchObject({
      'x-own': 'c',
      'everpost-signature': signature('{"a":"ä"}'),
    });
    expect(other.received[0]!.headers.authorization).toBeUndefined();
    expect(other.received[0]!.headers.cookie).toBeUndefined();

    const home = await redirecting(307);
    await send(home.url, { headers });
    expect(home.received[1]!.headers).toMatchObject({ authorization: 'Bearer x', cookie: 'a=b' });
  });

  it('is followed 5 times, the sixth is refused', async () => {
    const chain = (length: number) =>
      startReceiver(({ url }, response) => {
        const hop = Number(url.slice(1));
        if (hop < length) response.writeHead(307, { Location: `/${hop + 1}` }).end();
        else response.end('end');
      });
    const five = await chain(5);
    expect(await send(`${five.url}/0`)).toMatchObject({ statusCode: 200, text: 'end' });
    const six = await chain(6);
    expect(await send(`${six.url}/0`)).toEqual({
      kind: 'refused',
      error: 'The receiver redirected more than 5 times.',
    });
    expect(six.received).toHaveLength(6);
  });

  it.each([300, 302, 304])('of %i that names no place is an answer', async (status) => {
    const receiver = await startReceiver((_request, response) => response.writeHead(status).end());
    expect(await send(receiver.url)).toMatchObject({ kind: 'answered', statusCode: status });
  });
});

describe('a webhook over TLS', () => {
  // Made for this test, for the name hooks.example, and good for nothing else.
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
    startReceiver(undefined, (listener) => createTlsServer({ key, cert }, listener));
  const lookup = async () => [v4('127.0.0.1')];

  it('is not sent to a receiver whose certificate nobody knows', async () => {
    const receiver = await startTlsReceiver();
    const url = `https://hooks.example:${receiver.port}/`;
    expect(await send(url, {}, { lookup })).toEqual({
      kind: 'unreachable',
      error: expect.stringMatching(/certificate/),
    });
    expect(receiver.received).toEqual([]);
  });

  it('is sent by the name of the URL to the address that was checked', async () => {
    const receiver = await startTlsReceiver();
    const folder = mkdtempSync(path.join(tmpdir(), 'everpost-webhook-'));
    closing.push(async () => rmSync(folder, { recursive: true }));
    const authority = path.join(folder, 'ca.pem');
    writeFileSync(authority, cert);
    // Node reads its own list of authorities once, at the start of a process.
    const program = `
      import { createWebhookSender } from './providers/webhook.ts';
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
        cwd: path.join(import.meta.dirname, '../..'),
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
