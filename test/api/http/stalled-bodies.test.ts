import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { formWith } from '../../support/projects/upload.ts';
import { useShop } from '../../support/projects/shop.ts';
import { atEnd } from '../../support/use.ts';

/** Requests whose body does not arrive, beside requests of other projects. */

const shop = await useShop();
const { api, project, other } = shop;
const KB = 1024;
const MB = 1024 * KB;
const anonymous = '';

interface Stalled {
  /** The key that is sent; empty: none. */
  key: string;
  path: string;
  headers: Record<string, string | number>;
  /** How many bytes are sent. */
  sent: number;
}

/** Begins a request and does not complete it. `answered`: status and message of the response. */
function stall({ key, path, headers, sent }: Stalled) {
  const client = request(`${api.url}${path}`, {
    method: 'POST',
    agent: false,
    headers: {
      'Content-Type': 'application/json',
      ...(key && { Authorization: `Bearer ${key}` }),
      ...headers,
    },
  });
  const answered = new Promise<[status: number | undefined, text: string]>((resolve) => {
    client.on('error', () => resolve([undefined, '']));
    client.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('close', () => resolve([response.statusCode, text]));
    });
  });
  atEnd(() => client.destroy());
  const arrived = new Promise<void>((resolve) => client.write('x'.repeat(sent), () => resolve()));
  return { client, answered, arrived };
}

/** Stalls so many requests at once, and waits until the server has received what was sent. */
async function stallMany(count: number, given: Stalled) {
  const stalled = Array.from({ length: count }, () => stall(given));
  await Promise.all(stalled.map(({ arrived, answered }) => Promise.race([arrived, answered])));
  return stalled;
}

/** Sends a mail with an attachment. Returns the response and its duration in milliseconds. */
async function sendLarge(key: string, bytes = 2 * MB) {
  const began = performance.now();
  const content = 'A'.repeat(bytes);
  const { status, body } = await api.request('POST', '/v1/send', {
    key,
    body: {
      to: 'ada@people.test',
      from: `a@${shop.domain}`,
      subject: 'Hi',
      body: 'Hi',
      attachments: [{ filename: 'a.bin', content, contentType: 'application/octet-stream' }],
    },
  });
  return { status, code: body.error?.code, ms: performance.now() - began };
}

/** The request of a project that does not own the domain. */
const refused = { status: 403, code: 'DOMAIN_NOT_REGISTERED' };
const chunked = { 'Transfer-Encoding': 'chunked' };
const multipart = { 'Content-Type': 'multipart/form-data; boundary=b' };
const long = (bytes: number) => ({ 'Content-Length': bytes });
const image = { ...multipart, ...long(10 * MB) };
const file = { ...multipart, ...chunked };

const { cookie } = await api.signUp();
const newKey = async () => (await api.createProject(cookie)).secretKey;
const keys = await Promise.all(Array.from({ length: 4 }, newKey));

describe('bodies that are announced and do not come', () => {
  const bytes = 100 * KB;
  it.each<[name: string, count: number, by: string[], given: Omit<Stalled, 'key'>]>([
    ['large ones', 2, keys, { path: '/v1/send', headers: long(50 * MB), sent: bytes }],
    ['many', 40, keys, { path: '/v1/send', headers: long(50 * MB), sent: 1 }],
    ['chunked ones', 9, keys, { path: '/v1/send', headers: chunked, sent: bytes }],
    ['images', 9, keys, { path: '/uploads/image', headers: image, sent: bytes }],
    ['chunked files', 9, keys, { path: '/contacts/import', headers: file, sent: bytes }],
    [
      'of strangers',
      100,
      [anonymous],
      { path: '/webhooks/sns', headers: long(MB), sent: 900 * KB },
    ],
  ])('delay nobody else: %s', async (_, count, by, given) => {
    await Promise.all(by.map((key) => stallMany(count, { ...given, key })));
    const others = await Promise.all([sendLarge(other.secretKey), sendLarge(other.secretKey)]);
    for (const { ms, ...answer } of others) {
      expect(answer).toEqual(refused);
      expect(ms).toBeLessThan(5_000);
    }
    const { headers = {}, body } = await formWith('x'.repeat(MB), {
      field: 'image',
      type: 'image/png',
    });
    const began = performance.now();
    const upload = await api.request('POST', '/uploads/image', {
      key: other.secretKey,
      headers,
      body,
    });
    expect(upload.status).toBe(400);
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it('delay the other bodies of their project for a second or two', async () => {
    const given = {
      key: project.secretKey,
      path: '/v1/send',
      headers: long(50 * MB),
      sent: 100 * KB,
    };
    await stallMany(3, given);
    const { status, ms } = await sendLarge(project.secretKey);
    expect(status).toBe(200);
    expect(ms).toBeLessThan(6_000);
  });

  it('of strangers leave room for the webhooks of others', async () => {
    await stallMany(100, {
      key: anonymous,
      path: '/webhooks/sns',
      headers: long(MB),
      sent: 900 * KB,
    });
    const began = performance.now();
    const { status } = await api.request('POST', '/webhooks/sns', {
      body: `"${'x'.repeat(500 * KB)}"`,
    });
    expect(status).toBeLessThan(500);
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});

it('large bodies of one project that come at once are all read, one after the other', async () => {
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => sendLarge(other.secretKey, 13 * MB)),
  );
  expect(answers.map(({ code }) => code)).toEqual(answers.map(() => refused.code));
}, 30_000);

describe('a body that comes too slowly', () => {
  it.concurrent.each<[string, Stalled]>([
    ['of a stranger', { key: anonymous, path: '/auth/login', headers: long(16 * KB), sent: 1 }],
    ['of an event', { key: project.publicKey, path: '/v1/track', headers: chunked, sent: 10 }],
    [
      'of a mail, nearly all of which has come',
      { key: project.secretKey, path: '/v1/send', headers: long(500 * KB), sent: 499 * KB },
    ],
    [
      'of an image',
      {
        key: project.secretKey,
        path: '/uploads/image',
        headers: { ...multipart, ...chunked },
        sent: 1,
      },
    ],
  ])(
    '%s is refused after 15 seconds, and its connection ends',
    async (_, given) => {
      const began = Date.now();
      const { client, answered } = stall(given);
      const trickle = setInterval(() => client.write('x'), 500);
      const [status, text] = await answered;
      clearInterval(trickle);
      expect([status, JSON.parse(text).error.code]).toEqual([400, 'INVALID_REQUEST_BODY']);
      expect(text).toContain('too slowly');
      expect(Date.now() - began).toBeGreaterThan(14_000);
      expect(Date.now() - began).toBeLessThan(25_000);
    },
    40_000,
  );

  it.concurrent('is read on as long as a megabyte comes in each 15 seconds', async () => {
    const { client, answered } = stall({
      key: project.secretKey,
      path: '/v1/send',
      headers: long(3 * MB),
      sent: MB,
    });
    for (let sent = 1; sent < 3; sent += 1) {
      await sleep(8_000);
      client.write('x'.repeat(MB));
    }
    const [status, text] = await answered;
    expect([status, text]).toEqual([400, expect.stringContaining('not valid JSON')]);
  }, 40_000);

  it.concurrent('headers that do not end are cut off', async () => {
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    const closed = new Promise<string>((resolve) => {
      let text = '';
      socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      socket.on('close', () => resolve(text));
    });
    socket.write(`GET /health HTTP/1.1\r\nHost: ${randomUUID()}\r\n`);
    expect(await closed).toContain('408');
  }, 40_000);
});
