import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { codeOf, type TestRequest, useApi } from '../../support/api.ts';
import { insertNamedKey } from '../../support/projects/named-keys.ts';
import { waitFor } from '../../support/wait-for.ts';

const api = await useApi({ REQUEST_LOG_DAYS: '30' });
const { db } = api;
const ada = await api.signUp();
const newProject = () => api.createProject(ada.cookie);
const project = await newProject();

type Entry = Record<string, unknown>;

/** Sends a request, and returns its entry in the log of a project, once it has one. */
async function logged(
  method: string,
  path: string,
  request: TestRequest,
  of = project,
): Promise<Entry> {
  const { headers } = await api.request(method, path, request);
  const id = headers.get('x-request-id')!;
  return waitFor(
    'the entry',
    async () => (await detail(id, of)).body.requestId && detailOf(id, of),
  );
}

async function detail(id: string, of = project) {
  await api.services.requestLog!.flush();
  return api.request('GET', `/requests/${encodeURIComponent(id)}`, { key: of.secretKey });
}
const detailOf = async (id: string, of = project) => (await detail(id, of)).body as Entry;

async function list(query = '', of = project) {
  await api.services.requestLog!.flush();
  return api.request('GET', `/requests?${query}`, { key: of.secretKey });
}
const entries = async (query = '', of = project) => (await list(query, of)).body.data as Entry[];

describe('the request log', () => {
  it('has a refused mail with its key, code and path, and names the invalid fields', async () => {
    const { id, key } = await insertNamedKey(db, project.id, {
      name: 'Shop backend',
      scopes: ['emails:send'],
    });
    const body = { to: 'ada@secret.test', subject: 'Hello', body: '<p>Hello</p>' };
    const entry = await logged('POST', '/v1/send', { key, body });
    expect(entry).toMatchObject({
      method: 'POST',
      route: '/v1/send',
      status: 422,
      errorCode: 'VALIDATION_ERROR',
      actor: { type: 'key', id, name: 'Shop backend' },
      ip: '127.0.0.1',
      idempotency: null,
      sample: 1,
      errors: [{ field: 'from', code: expect.any(String) }],
    });
    expect((await entries('errorCode=VALIDATION_ERROR'))[0]).not.toHaveProperty('errors');
    const { rows } = await sql`select request_log::text as text from request_log`.execute(db);
    expect(JSON.stringify(rows)).not.toContain('@');
  });

  it('shows nothing of another project', async () => {
    const { requestId } = await logged('GET', '/contacts', { key: project.secretKey });
    const other = await newProject();
    expect(codeOf(await detail(String(requestId), other))).toEqual([404, 'REQUEST_NOT_FOUND']);
    expect((await entries('route=/contacts', other)).length).toBe(0);
  });

  it('has requests of members, by the header and by the path', async () => {
    const { cookie, userId, email } = ada;
    const headers = { 'x-project-id': project.id };
    const actor = { type: 'user', id: userId, name: email };
    expect(await logged('GET', '/topics', { cookie, headers })).toMatchObject({
      actor,
      status: 200,
    });
    const path = `/users/@me/projects/${project.id}/security`;
    const entry = await logged('GET', path, { cookie });
    expect(entry).toMatchObject({ actor, route: '/users/@me/projects/{id}/security' });
    const body = { projectId: project.id, domain: 'shop.example' };
    expect(await logged('POST', '/domains', { cookie, body })).toMatchObject({ actor });
  });

  it('has requests that were refused before their project was known', async () => {
    const { cookie } = ada;
    const { secretKey: key, publicKey } = project;
    expect(await logged('GET', '/ada@secret.test', { key })).toMatchObject({
      route: null,
      status: 404,
      errorCode: 'ROUTE_NOT_FOUND',
      actor: { id: 'secret', name: 'Secret key' },
    });
    const type = { 'content-type': 'text/plain' };
    const form = await logged('POST', '/contacts', { key, headers: type, body: 'email=x' });
    expect(form).toMatchObject({ status: 415, route: '/contacts' });
    const wrongKey = await logged('GET', '/contacts', { key: publicKey });
    expect(wrongKey).toMatchObject({ status: 401, actor: { id: 'public' } });
    const headers = { 'x-project-id': project.id, origin: 'https://evil.example' };
    const foreign = await logged('POST', '/contacts', { cookie, headers, body: {} });
    expect(foreign).toMatchObject({ errorCode: 'ORIGIN_NOT_ALLOWED', actor: { type: 'user' } });
  });

  it.each(['expired', 'revoked'] as const)('has requests with a key that is %s', async (reason) => {
    const { id, key } = await insertNamedKey(db, project.id, { scopes: ['*'] });
    const past = sql<Date>`now() - interval '1 second'`;
    const change =
      reason === 'expired' ? { expires_at: past } : { revoked_at: past, revoked_by: 'key:secret' };
    await db.updateTable('api_key').set(change).where('id', '=', id).execute();
    expect(await logged('GET', '/contacts', { key })).toMatchObject({
      status: 401,
      errorCode: 'INVALID_API_KEY',
      actor: { id },
      details: { reason },
    });
  });

  it('has no request with a key that never was, or of a stranger', async () => {
    const other = await newProject();
    const { cookie } = await api.signUp();
    const requests: TestRequest[] = [
      { key: `sk_${'0'.repeat(64)}` },
      { cookie, headers: { 'x-project-id': other.id } },
      { headers: { 'x-project-id': other.id } },
    ];
    for (const request of requests) await api.request('GET', '/contacts', request);
    await api.request('GET', `/users/@me/projects/${other.id}/security`, { cookie });
    // Its entry also needs a look-up, which comes after those of the others.
    await logged('GET', '/contacts', { key: other.publicKey }, other);
    const routes = (await entries('limit=100', other)).map(({ route }) => String(route));
    expect(routes.filter((route) => !route.startsWith('/requests'))).toEqual(['/contacts']);
  });

  it('has a sample of tracked events, and all that were refused', async () => {
    const other = await newProject();
    const track = (body: object) =>
      api.request('POST', '/v1/track', { key: other.publicKey, body });
    for (let at = 0; at < 300; at += 50) {
      await Promise.all(
        Array.from({ length: 50 }, () => track({ email: 'ada@x.test', event: 'opened' })),
      );
    }
    for (let at = 0; at < 10; at += 1) expect((await track({ event: 'opened' })).status).toBe(422);
    const kept = await entries('limit=100&route=/v1/track&status=2xx', other);
    expect(kept.length).toBeLessThanOrEqual(20);
    expect(kept.every(({ sample }) => sample === 100)).toBe(true);
    const refused = await entries('limit=100&route=/v1/track&status=422', other);
    expect(refused.map(({ sample }) => sample)).toEqual(Array.from({ length: 10 }, () => 1));
  });

  it('says how the Idempotency-Key was used', async () => {
    const use = (name: string) =>
      logged('POST', '/contacts', {
        key: project.secretKey,
        headers: { 'idempotency-key': 'once' },
        body: { email: `${name}@shop.test` },
      });
    expect(await use('news')).toMatchObject({ status: 201, idempotency: 'first' });
    expect(await use('news')).toMatchObject({ status: 201, idempotency: 'replayed' });
    expect(await use('offers')).toMatchObject({ status: 409, idempotency: 'refused' });
  });

  it('keeps no value that the client chose: details with a name are left out', async () => {
    const { secretKey: key } = project;
    const id = randomUUID();
    const missing = await logged('GET', `/contacts/${id}`, { key });
    expect(missing).toMatchObject({
      details: { resource: 'contact', id },
      route: '/contacts/{id}',
    });
    const address = encodeURIComponent('ada@secret.test');
    const other = await logged('DELETE', `/suppression-list/${address}`, { key });
    expect(other).toMatchObject({ errorCode: 'SUPPRESSION_NOT_FOUND', details: null });
    const headers = { prefer: 'handling=strict' };
    const body = { email: 'a@b.test', 'ada@secret.test': 1 };
    const strict = await logged('POST', '/contacts', { key, headers, body });
    expect(strict['errors']).toEqual([{ field: '*', code: 'unknown_field' }]);
  });
});

describe('GET /requests', () => {
  it('filters by each field', async () => {
    const other = await newProject();
    const { secretKey: key } = other;
    const { cookie, userId } = ada;
    await api.request('GET', '/topics', { key });
    await api.request('POST', '/topics', { key, body: {} });
    await api.request('GET', '/segments', { cookie, headers: { 'x-project-id': other.id } });
    const found = async (query: string) =>
      (await entries(query, other))
        .filter(({ route }) => route !== '/requests')
        .map(({ method, route }) => `${String(method)} ${String(route)}`);
    const [get, post, segments] = ['GET /topics', 'POST /topics', 'GET /segments'];
    expect(await found('')).toEqual([segments, post, get]);
    expect(await found('method=POST')).toEqual([post]);
    expect(await found('route=/topics')).toEqual([post, get]);
    expect(await found('status=422')).toEqual([post]);
    expect(await found('status=4xx')).toEqual([post]);
    expect(await found('status=2xx')).toEqual([segments, get]);
    expect(await found('errorCode=VALIDATION_ERROR')).toEqual([post]);
    expect(await found('keyId=secret')).toEqual([post, get]);
    expect(await found(`keyId=${randomUUID()}`)).toEqual([]);
    expect(await found(`userId=${userId}`)).toEqual([segments]);
    expect(await found(`userId=${userId}&keyId=secret`)).toEqual([]);
    expect(await found('ip=::ffff:127.0.0.1')).toEqual([segments, post, get]);
    expect(await found('ip=203.0.113.9')).toEqual([]);
    expect(await found('minMs=100000')).toEqual([]);
    expect(await found('idempotency=first')).toEqual([]);
    const soon = new Date(Date.now() + 60_000).toISOString();
    expect(await found(`from=${soon}`)).toEqual([]);
    expect(await found(`to=${soon}`)).toEqual([segments, post, get]);
  });

  it('refuses unreadable filters, all at once', async () => {
    const query =
      'method=FOO&status=9xx&errorCode=no&keyId=x&userId=y&ip=z&minMs=-1&idempotency=no&from=no&to=no&cursor=zz';
    const { status, body } = await list(query);
    expect(status).toBe(422);
    const fields = (body.error.errors as { field: string }[]).map(({ field }) => field);
    expect(fields.toSorted()).toEqual(
      query
        .split('&')
        .map((pair) => pair.split('=')[0])
        .toSorted(),
    );
  });

  it('has pages, newest first', async () => {
    const other = await newProject();
    for (let at = 0; at < 5; at += 1)
      await logged('GET', '/topics', { key: other.secretKey }, other);
    const first = (await list('route=/topics&limit=3', other)).body;
    expect([first.total, first.hasMore]).toEqual([5, true]);
    const rest = (await list(`route=/topics&limit=3&cursor=${first.cursor}`, other)).body;
    expect([rest.total, rest.hasMore, rest.data.length]).toEqual([0, false, 2]);
    const ids = [...first.data, ...rest.data].map(({ requestId }) => requestId);
    expect(new Set(ids).size).toBe(5);
  });

  it('needs the scope requests:read', async () => {
    const { key } = await insertNamedKey(db, project.id, { scopes: ['contacts:read'] });
    const refused = await api.request('GET', '/requests', { key });
    expect(codeOf(refused)).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(refused.body.error.details.needed).toBe('requests:read');
  });

  it('finds the newest of several requests with one id', async () => {
    const headers = { 'x-request-id': 'again and/again' };
    await api.request('GET', '/topics', { key: project.secretKey, headers });
    await api.request('GET', '/segments', { key: project.secretKey, headers });
    expect(await detailOf('again and/again')).toMatchObject({ route: '/segments' });
  });
});
