import { beforeAll, describe, expect, it } from 'vitest';
import { etagOf, Everpost, EverpostError, type EverpostOptions } from '../../client/everpost.ts';
import { type TestApi, useApi } from '../support/api.ts';

type Fetch = NonNullable<EverpostOptions['fetch']>;

let api: TestApi;
let apiKey: string;
let publicKey: string;
let everpost: Everpost;
const domain = 'client-shop.test';

beforeAll(async () => {
  api = await useApi();
  const { cookie } = await api.signUp();
  const project = await api.createProject(cookie);
  apiKey = project.secretKey;
  publicKey = project.publicKey;
  everpost = new Everpost({ apiKey, baseUrl: `${api.url}/` });
  await everpost.post('/domains', { body: { domain } });
});

/** Creates a client whose first requests fail as given, and counts its requests. */
function clientWith(first: Fetch[], options: Partial<EverpostOptions> = {}) {
  const asked: RequestInit[] = [];
  const client = new Everpost({
    apiKey,
    baseUrl: api.url,
    fetch: (url, init) => (first[asked.push(init) - 1] ?? fetch)(url, init),
    ...options,
  });
  return { client, asked };
}

const unreachable: Fetch = () => Promise.reject(new TypeError('fetch failed'));
const loseAnswer: Fetch = async (url, init) => {
  await (await fetch(url, init)).text();
  throw new TypeError('terminated');
};
const refuse =
  (status: number, code: string, headers: Record<string, string> = {}): Fetch =>
  async () =>
    Response.json({ error: { code, message: code } }, { status, headers });

/** Returns the error of a failed call. */
async function errorOf(call: Promise<unknown>): Promise<EverpostError> {
  const error = await call.catch((thrown: unknown) => thrown);
  if (!(error instanceof EverpostError)) throw new Error(`Not an EverpostError: ${String(error)}`);
  return error;
}

describe('the client', () => {
  it('calls paths with a body, parameters and a query, and answers what the API does', async () => {
    const made = await everpost.post('/contacts', {
      body: { email: 'ada@shop.example', data: { plan: 'pro' } },
    });
    const contact = await everpost.get('/contacts/{id}', { path: { id: made.id } });
    expect([contact.email, contact.data]).toEqual(['ada@shop.example', { plan: 'pro' }]);
    const found = await everpost.get('/contacts', {
      query: { email: 'ada@shop.example', search: undefined as never },
    });
    expect(found.data.map(({ id }) => id)).toEqual([made.id]);
    await everpost.patch('/contacts/{id}', { path: { id: made.id }, body: { subscribed: false } });
    expect(await everpost.delete('/contacts/{id}', { path: { id: made.id } })).toBeUndefined();
  });

  it('puts, and uploads files', async () => {
    await everpost.put('/secrets/{name}', { path: { name: 'SHOP_TOKEN' }, body: { value: 'abc' } });
    const form = new FormData();
    form.append('file', new Blob(['email\ngrace@shop.example\n'], { type: 'text/csv' }), 'a.csv');
    const { jobId } = await everpost.post('/contacts/import', { body: form });
    expect(jobId).toMatch(/^import-/);
  });

  it('has unknown keys refused where it is strict, and names them in the message', async () => {
    const strict = new Everpost({ apiKey, baseUrl: api.url, strict: true });
    const body = { email: 'ada@shop.example', subscibed: false };
    const { message, code } = await errorOf(strict.post('/contacts', { body }));
    expect(code).toBe('VALIDATION_ERROR');
    expect(message).toContain('subscibed: There is no such field here. Did you mean "subscribed"?');
    expect((await everpost.post('/contacts', { body })).email).toBe('ada@shop.example');
  });

  it('tracks with the public key', async () => {
    const client = new Everpost({ apiKey: publicKey, baseUrl: api.url });
    const body = { email: 'linus@shop.example', event: 'signed_up' };
    expect((await client.post('/v1/track', { body })).success).toBe(true);
    expect((await errorOf(client.get('/contacts'))).status).toBeOneOf([401, 403]);
  });

  it('never lets a parameter lead to another path', async () => {
    for (const id of ['', '.', '..']) {
      await expect(everpost.get('/contacts/{id}', { path: { id } })).rejects.toThrow(TypeError);
    }
    const { status } = await errorOf(everpost.get('/contacts/{id}', { path: { id: '../emails' } }));
    expect(status).toBeOneOf([404, 422]);
  });

  it('changes a record only if it is as it was read', async () => {
    const { id } = await everpost.post('/contacts', { body: { email: 'mary@shop.example' } });
    const path = { id };
    const read = await everpost.get('/contacts/{id}', { path });
    const edit = (ifMatch: string, seats: number) =>
      everpost.patch('/contacts/{id}', { path, body: { data: { seats } }, ifMatch });
    const changed = await edit(etagOf(read), 1);
    const refused = await errorOf(edit(etagOf(read), 2));
    expect([refused.code, refused.details]).toEqual([
      'PRECONDITION_FAILED',
      { etag: etagOf(changed) },
    ]);
    expect((await edit(etagOf(changed), 3)).data).toEqual({ seats: 3 });
    expect(() => etagOf({ ...read })).toThrow(TypeError);
  });

  it('walks through a cursor list, a page at a time', async () => {
    const emails = ['1', '2', '3', '4', '5'].map((name) => `walk-${name}@shop.example`);
    for (const email of emails) await everpost.post('/contacts', { body: { email } });
    const { client, asked } = clientWith([]);
    const seen: string[] = [];
    const query = { search: 'walk-', sort: 'email', limit: 2 } as const;
    for await (const { email } of client.list('/contacts', { query })) seen.push(email);
    expect([seen, asked.length]).toEqual([emails, 3]);
    for await (const _ of client.list('/contacts', { query })) break;
    expect(asked.length).toBe(4);
  });
});

describe('an error', () => {
  it('has the errors that the API returned', async () => {
    const call = everpost.post('/v1/send', { body: { to: 'nobody', subject: 'Hi', body: '' } });
    const error = await errorOf(call);
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR', status: 422, retryAfter: null });
    expect(error.requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(error.errors.map(({ field }) => field)).toEqual(expect.arrayContaining(['to', 'body']));
    expect(error.suggestion).toMatch(/\S/);
  });

  it('says so where something else has answered', async () => {
    const proxy: Fetch = async () => new Response('<h1>Bad gateway</h1>', { status: 502 });
    const { client, asked } = clientWith([proxy], { retries: 0 });
    expect(await errorOf(client.get('/contacts'))).toMatchObject({
      code: 'UNEXPECTED_ANSWER',
      status: 502,
      requestId: null,
    });
    expect(asked.length).toBe(1);
  });

  it('calls a success unexpected whose JSON is broken, and repeats a read', async () => {
    const broken: Fetch = async () =>
      new Response('{"data":[', { headers: { 'content-type': 'application/json' } });
    const sending = clientWith([broken]);
    const body = { email: 'linus@shop.example', event: 'signed_up' };
    expect(await errorOf(sending.client.post('/v1/track', { body }))).toMatchObject({
      code: 'UNEXPECTED_ANSWER',
      status: 200,
    });
    expect(sending.asked).toHaveLength(1);
    const reading = clientWith([broken]);
    expect((await reading.client.get('/contacts')).data).toBeInstanceOf(Array);
    expect(reading.asked).toHaveLength(2);
  });

  it('has the cause where there was no answer, and the limit where it came too late', async () => {
    const away = await errorOf(clientWith([unreachable], { retries: 0 }).client.get('/contacts'));
    expect(away).toMatchObject({ code: 'CONNECTION_FAILED', status: 0 });
    expect(away.cause).toBeInstanceOf(TypeError);
    const never: Fetch = (_, { signal }) =>
      new Promise((__, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
      });
    const late = clientWith([never], { retries: 0, timeoutMs: 20 }).client.get('/contacts');
    expect((await errorOf(late)).code).toBe('TIMEOUT');
  });
});

describe('a repeat', () => {
  const mail = (to: string) => ({
    body: { to, from: `team@${domain}`, subject: 'Your receipt', body: '<p>Thanks</p>' },
  });
  const mailsTo = async (to: string) =>
    (await api.db.selectFrom('email').select('id').where('to_email', '=', to).execute()).length;

  it('of a read follows a lost connection and a server in trouble', async () => {
    const trouble = refuse(503, 'SERVICE_UNAVAILABLE', { 'retry-after': '1' });
    const { client, asked } = clientWith([unreachable, trouble]);
    const begin = performance.now();
    await client.get('/contacts');
    expect(asked.length).toBe(3);
    // Timers may fire a millisecond early.
    expect(performance.now() - begin).toBeGreaterThan(990);
  });

  it('of a send under a key whose answer was lost sends no second mail', async () => {
    const { client, asked } = clientWith([loseAnswer]);
    const to = 'once@shop.example';
    await client.post('/v1/send', { ...mail(to), idempotencyKey: 'order-1' });
    expect([asked.length, await mailsTo(to)]).toEqual([2, 1]);
  });

  it('waits for the first request under its key', async () => {
    const { client, asked } = clientWith([refuse(409, 'IDEMPOTENCY_IN_PROGRESS')]);
    await client.post('/v1/send', { ...mail('later@shop.example'), idempotencyKey: 'order-2' });
    expect(asked.length).toBe(2);
  });

  it('of a send without a key is left to the caller', async () => {
    const to = 'maybe@shop.example';
    for (const first of [loseAnswer, refuse(503, 'SERVICE_UNAVAILABLE', { 'retry-after': '0' })]) {
      const { client, asked } = clientWith([first]);
      expect((await errorOf(client.post('/v1/send', mail(to)))).status).toBeOneOf([0, 503]);
      expect(asked.length).toBe(1);
    }
    expect(await mailsTo(to)).toBe(1);
  });

  it('follows a refusal by the limits, which has done nothing, unless that takes too long', async () => {
    const soon = clientWith([refuse(429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': '0' })]);
    await soon.client.post('/v1/send', mail('soon@shop.example'));
    expect(soon.asked.length).toBe(2);
    const late = clientWith([refuse(429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': '3600' })]);
    const error = await errorOf(late.client.post('/v1/send', mail('late@shop.example')));
    expect([error.retryAfter, late.asked.length]).toEqual([3600, 1]);
  });

  it('ends after as many as are wanted', async () => {
    const refusals = Array.from({ length: 5 }, () => refuse(503, 'SERVICE_UNAVAILABLE'));
    const { client, asked } = clientWith(refusals, { retries: 1 });
    await errorOf(client.get('/contacts'));
    expect(asked.length).toBe(2);
  });

  it('ends, and its pause, when its signal is aborted', async () => {
    const leaving = new AbortController();
    const refused = refuse(429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': '30' });
    const { client, asked } = clientWith([
      (url, init) => {
        setTimeout(() => leaving.abort(new Error('The page was left.')), 20);
        return refused(url, init);
      },
    ]);
    const call = client.get('/contacts', { signal: leaving.signal });
    await expect(call).rejects.toThrow('The page was left.');
    await expect(client.get('/contacts', { signal: leaving.signal })).rejects.toThrow('page');
    expect(asked.length).toBe(2);
  });
});
