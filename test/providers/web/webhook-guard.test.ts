import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../../providers/web/address-guard.ts';
import { createCertificate } from '../../support/fakes/certificate.ts';
import {
  sendWebhook,
  useWireReceiver,
  v4,
  webhookSignature,
} from '../../support/fakes/webhook-wire.ts';
import { useFolder } from '../../support/use.ts';

/**
 * Sends a webhook from a process that trusts a certificate; names are loopback. Returns the
 * outcome.
 */
async function sendFromProcess(url: string, pem: string): Promise<unknown> {
  const dir = await useFolder();
  const certificate = path.join(dir, 'ca.pem');
  await writeFile(certificate, pem);
  const wire = path.join(import.meta.dirname, '../../support/fakes/webhook-wire.ts');
  const script = `
    const { sendWebhook, v4 } = await import(${JSON.stringify(wire)});
    const lookup = async () => [v4('127.0.0.1')];
    console.log(JSON.stringify(await sendWebhook(${JSON.stringify(url)}, {}, { lookup })));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '--eval', script],
    { env: { ...process.env, NODE_EXTRA_CA_CERTS: certificate } },
  );
  return JSON.parse(stdout);
}

/** An address guard to which loopback is public `times` times; after that it is the real one. */
function publicAtFirst(times = 1) {
  let asked = 0;
  return (address: string) => {
    asked += 1;
    return asked <= times || isPublicAddress(address);
  };
}

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
    const receiver = await useWireReceiver();
    const outcome = await sendWebhook(`${origin}:${receiver.port}/`, {}, guarded);
    expect(outcome).toEqual({
      kind: 'refused',
      error: expect.stringMatching(
        /is not at a public address, and WEBHOOK_ALLOW_PRIVATE is not true\.$/,
      ),
    });
    expect(receiver.connections).toBe(0);
  });

  it('lets receivers on this machine be called where that is allowed, and no others', async () => {
    const receiver = await useWireReceiver();
    const local = { ...guarded, allowLoopback: true };
    const call = (host: string) => sendWebhook(`http://${host}:${receiver.port}/`, {}, local);
    for (const host of ['127.0.0.1', 'localhost']) {
      expect((await call(host)).kind).toBe('answered');
    }
    for (const host of ['10.0.0.1', '169.254.169.254', '0', '[::]', '192.168.1.1']) {
      expect((await call(host)).kind).toBe('refused');
    }
  });

  it('refuses a name with a private address among public ones', async () => {
    const receiver = await useWireReceiver();
    const lookup = async () => [v4('93.184.216.34'), v4('127.0.0.1')];
    const url = `http://hooks.example:${receiver.port}/`;
    expect(await sendWebhook(url, {}, { ...guarded, lookup })).toEqual({
      kind: 'refused',
      error: 'hooks.example is not at a public address, and WEBHOOK_ALLOW_PRIVATE is not true.',
    });
    expect(receiver.connections).toBe(0);
  });

  it('connects to the address it checked, whatever the resolver says next', async () => {
    const receiver = await useWireReceiver();
    const answers = ['127.0.0.2', '127.0.0.1', '127.0.0.1'];
    let asked = 0;
    const lookup = async () => [v4(answers[asked++]!)];
    const outcome = await sendWebhook(
      `http://hooks.example:${receiver.port}/`,
      {},
      // 127.0.0.2 stands for a public address without a server.
      { ...guarded, timeoutMs: 1_000, lookup, isPublic: (address) => address === '127.0.0.2' },
    );
    expect(['unreachable', 'timeout']).toContain(outcome.kind);
    expect(asked).toBe(1);
    expect(receiver.connections).toBe(0);
  });

  it.each([301, 302, 303, 307, 308])('refuses a %i into the private net', async (status) => {
    const hidden = await useWireReceiver();
    const targets = [hidden.url, `http://[::ffff:127.0.0.1]:${hidden.port}/`, '//127.0.0.1/'];
    for (const location of targets) {
      const receiver = await useWireReceiver((_request, response) =>
        response.writeHead(status, { Location: location }).end(),
      );
      const outcome = await sendWebhook(
        receiver.url,
        {},
        { ...guarded, isPublic: publicAtFirst() },
      );
      expect(outcome).toMatchObject({ kind: 'refused' });
      expect(receiver.received).toHaveLength(1);
    }
    expect(hidden.connections).toBe(0);
  });

  it('asks and checks anew when a redirect leads back to the same name', async () => {
    const receiver = await useWireReceiver((_request, response) =>
      response.writeHead(307, { Location: '/again' }).end(),
    );
    let asked = 0;
    const lookup = async () => [v4(asked++ === 0 ? '127.0.0.1' : '10.0.0.1')];
    const url = `http://hooks.example:${receiver.port}/`;
    const isPublic = publicAtFirst();
    expect(await sendWebhook(url, {}, { ...guarded, lookup, isPublic })).toMatchObject({
      kind: 'refused',
    });
    expect(receiver.received).toHaveLength(1);
  });

  it.each(['ftp://shop.example/', 'http://a:b@shop.example/', 'http://[', 'javascript:1'])(
    'refuses a redirect to %s',
    async (location) => {
      const receiver = await useWireReceiver((_request, response) =>
        response.writeHead(302, { Location: location }).end(),
      );
      expect(await sendWebhook(receiver.url)).toMatchObject({ kind: 'refused' });
    },
  );
});

describe('a redirect', () => {
  /** A receiver that redirects `/` once, to another host or to its own `/end`. */
  const redirecting = (status: number, location = '/end') =>
    useWireReceiver(({ url }, response) => {
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
    expect(await sendWebhook(receiver.url, { method })).toMatchObject({
      statusCode: 200,
      text: 'here',
    });
    const last = receiver.received[1]!;
    const body = then === 'GET' ? '' : '{"a":"ä"}';
    expect(last).toMatchObject({ method: then, url: '/end' });
    expect(last.body.toString()).toBe(body);
    expect(last.headers).toMatchObject({
      'everpost-delivery': 'delivery-1',
      'everpost-signature': webhookSignature(body),
    });
    expect(last.headers['content-type']).toBe(then === 'GET' ? undefined : 'application/json');
  });

  it('to another origin takes no header of the step along, within one it does', async () => {
    const own = { authorization: 'Bearer x', Cookie: 'a=b', 'X-Auth-Token': 'c' };
    const headers = { ...own, 'Content-Type': 'text/plain' };
    const other = await useWireReceiver();
    const away = await redirecting(307, `${other.url}/end`);
    await sendWebhook(away.url, { headers });
    const [got] = other.received;
    expect(got!.headers).toMatchObject({
      'content-type': 'text/plain',
      'everpost-delivery': 'delivery-1',
      'everpost-signature': webhookSignature('{"a":"ä"}'),
    });
    for (const name of Object.keys(own)) expect(got!.headers[name.toLowerCase()]).toBeUndefined();

    const home = await redirecting(307);
    await sendWebhook(home.url, { headers });
    expect(home.received[1]!.headers).toMatchObject({
      authorization: 'Bearer x',
      cookie: 'a=b',
      'x-auth-token': 'c',
    });
  });

  it('to another origin and back takes them nowhere', async () => {
    const first = await useWireReceiver(({ url }, response) => {
      if (url === '/end') response.end('here');
      else response.writeHead(307, { Location: `${second.url}/` }).end();
    });
    const second = await useWireReceiver((_request, response) =>
      response.writeHead(307, { Location: `${first.url}/end` }).end(),
    );
    await sendWebhook(first.url, { headers: { 'X-Auth-Token': 'c' } });
    expect(first.received.map(({ headers }) => headers['x-auth-token'])).toEqual(['c', undefined]);
  });

  it('to another origin does not take a body with a secret along', async () => {
    const other = await useWireReceiver();
    const away = await redirecting(308, `${other.url}/end`);
    expect(await sendWebhook(away.url, { bodyIsSecret: true })).toEqual({
      kind: 'refused',
      error:
        'The receiver redirected a request with a secret to another origin, which must not get the secret.',
    });
    expect(other.connections).toBe(0);
    const asking = await redirecting(303, `${other.url}/end`);
    expect(await sendWebhook(asking.url, { bodyIsSecret: true })).toMatchObject({ text: 'ok' });
    expect(other.received[0]!.body.toString()).toBe('');
  });

  it('from https to http is refused', async () => {
    const { pem, privateKey } = createCertificate('hooks.example');
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const plain = await useWireReceiver();
    const secure = await useWireReceiver(
      (_request, response) => response.writeHead(307, { Location: plain.url }).end(),
      (listener) => createServer({ key, cert: pem }, listener),
    );
    const outcome = await sendFromProcess(`https://hooks.example:${secure.port}/`, pem);
    expect(outcome).toEqual({
      kind: 'refused',
      error: 'The receiver redirected from https to http.',
    });
    expect(secure.received).toHaveLength(1);
    expect(plain.connections).toBe(0);
  });

  it('is followed 5 times, the sixth is refused', async () => {
    const chain = (length: number) =>
      useWireReceiver(({ url }, response) => {
        const hop = Number(url.slice(1));
        if (hop < length) response.writeHead(307, { Location: `/${hop + 1}` }).end();
        else response.end('end');
      });
    const five = await chain(5);
    expect(await sendWebhook(`${five.url}/0`)).toMatchObject({ statusCode: 200, text: 'end' });
    const six = await chain(6);
    expect(await sendWebhook(`${six.url}/0`)).toEqual({
      kind: 'refused',
      error: 'The receiver redirected more than 5 times.',
    });
    expect(six.received).toHaveLength(6);
  });

  it.each([300, 302, 304])('of %i that names no place is an answer', async (status) => {
    const receiver = await useWireReceiver((_request, response) =>
      response.writeHead(status).end(),
    );
    expect(await sendWebhook(receiver.url)).toMatchObject({ kind: 'answered', statusCode: status });
  });
});
