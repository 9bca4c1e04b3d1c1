import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { hashKey } from '../../../api/access/keys.ts';
import { codeOf, type TestApi, useApi } from '../../support/api.ts';
import { insertNamedKey, newValue } from '../../support/projects/named-keys.ts';
import { recordStatements } from '../../support/statements.ts';
import { waitFor } from '../../support/wait-for.ts';

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();
const project = await api.createProject(cookie);
const insert = (given: Parameters<typeof insertNamedKey>[2]) =>
  insertNamedKey(db, project.id, given);
const list = (key: string, on: TestApi = api, headers: Record<string, string> = {}) =>
  on.request('GET', '/contacts', { key, headers });
const soon = (seconds: number) => sql<Date>`now() + ${seconds} * interval '1 second'`;

describe('a key with scopes', () => {
  it('does nothing without the scope', async () => {
    const { key } = await insert({ scopes: ['contacts:read'] });
    expect((await list(key)).status).toBe(200);
    const body = { email: 'ada@x.example' };
    const refused = await api.request('POST', '/contacts', { key, body });
    expect(codeOf(refused)).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(refused.body.error.details.needed).toBe('contacts:write');
    expect((await list(key)).body.total).toBe(0);
  });

  it('is refused for its scope before its body is read', async () => {
    const { key } = await insert({ scopes: ['contacts:read'] });
    const refused = await api.request('POST', '/contacts', { key, body: '{"email":' });
    expect(codeOf(refused)).toEqual([403, 'INSUFFICIENT_SCOPE']);
  });

  it('is looked up by one statement, as the keys of the pair are', async () => {
    const { key } = await insert({ scopes: ['contacts:read'] });
    const count = async (used: string) => {
      const statements = recordStatements();
      await list(used);
      return statements.take().filter(({ text }) => !text.includes('last_used_at')).length;
    };
    expect(await count(key)).toBe(await count(project.secretKey));
  });
});

describe('a key with networks', () => {
  it('works only from there, on every path', async () => {
    const { key } = await insert({ cidrs: ['203.0.113.0/24', '2001:db8::/32'] });
    for (const path of ['/contacts', '/api-keys/@me', `/projects/${project.id}/security`]) {
      const refused = await api.request('GET', path, { key });
      expect(codeOf(refused)).toEqual([403, 'KEY_RESTRICTED']);
      const { details } = refused.body.error;
      expect(details).toMatchObject({ restriction: 'cidrs', received: expect.any(String) });
    }
  });

  it('recognises an IPv4 address in the form of IPv6', async () => {
    const proxied = await useApi({
      DATABASE_URL: api.services.config.databaseUrl,
      TRUST_PROXY: '1',
    });
    const { key } = await insert({ cidrs: ['203.0.113.0/24', '2001:db8::/32'] });
    const from = async (ip: string) => (await list(key, proxied, { 'X-Forwarded-For': ip })).status;
    expect(await from('203.0.113.9')).toBe(200);
    expect(await from('::ffff:203.0.113.9')).toBe(200);
    expect(await from('2001:db8:1::1')).toBe(200);
    expect(await from('203.0.114.1')).toBe(403);
    expect(await from('2001:db9::1')).toBe(403);
  });

  it('counts requests from elsewhere against their address', async () => {
    const limited = await useApi({
      DATABASE_URL: api.services.config.databaseUrl,
      RATE_LIMIT_ENABLED: 'true',
      RATE_LIMIT_IP_PER_MINUTE: '3',
    });
    const { key } = await insert({ cidrs: ['203.0.113.0/24'] });
    for (let count = 0; count < 3; count += 1) await list(key, limited);
    expect((await list(key, limited)).status).toBe(429);
  });
});

describe('the end of a key', () => {
  it('is its expiry, and a later one revives it', async () => {
    const { id, key } = await insert({ expires_at: soon(1) });
    expect((await list(key)).status).toBe(200);
    await waitFor('the expiry', async () => (await list(key)).status === 401);
    const refused = await list(key);
    expect(codeOf(refused)).toEqual([401, 'INVALID_API_KEY']);
    expect(refused.body.error.details).toEqual({ reason: 'expired' });
    await db.updateTable('api_key').set({ expires_at: null }).where('id', '=', id).execute();
    expect((await list(key)).status).toBe(200);
  });

  it('is its revocation, also for the value before a rotation', async () => {
    const before = newValue();
    const { id, key } = await insert({
      previous_hash: hashKey(before),
      rotates_until: soon(60),
    });
    const revoked = { revoked_at: soon(0), revoked_by: 'key:secret' };
    await db.updateTable('api_key').set(revoked).where('id', '=', id).execute();
    for (const value of [key, before]) {
      const refused = await list(value);
      expect(codeOf(refused)).toEqual([401, 'INVALID_API_KEY']);
      expect(refused.body.error.details).toEqual({ reason: 'revoked' });
    }
  });

  it('comes with the deletion of its project, not with a reset', async () => {
    const other = await api.createProject(cookie);
    const { key } = await insertNamedKey(db, other.id, {});
    const path = `/users/@me/projects/${other.id}`;
    expect((await api.request('POST', `${path}/reset`, { cookie })).status).toBeLessThan(300);
    expect((await list(key)).status).toBe(200);
    expect((await api.request('DELETE', path, { cookie })).status).toBeLessThan(300);
    expect((await list(key)).status).toBe(401);
  });

  it('has no reason if the key never was', async () => {
    const refused = await list(newValue());
    expect(codeOf(refused)).toEqual([401, 'INVALID_API_KEY']);
    expect(refused.body.error.details).toBeUndefined();
  });
});

describe('the value before a rotation', () => {
  it('works until the overlap ends; every response says until when', async () => {
    const before = newValue();
    const { key } = await insert({
      scopes: ['contacts:read'],
      previous_hash: hashKey(before),
      rotates_until: soon(1),
    });
    expect((await list(key)).headers.get('everpost-key-expires')).toBeNull();
    const { status, headers } = await list(before);
    expect(status).toBe(200);
    expect(headers.get('everpost-key-expires')).toMatch(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/);
    const refused = await api.request('GET', '/topics', { key: before });
    expect(refused.status).toBe(403);
    expect(refused.headers.get('everpost-key-expires')).not.toBeNull();
    await waitFor('the end', async () => (await list(before)).status === 401);
    expect((await list(key)).status).toBe(200);
  });
});

describe('a public key', () => {
  it('tracks the events that it may, and does nothing else', async () => {
    const { key } = await insert({
      kind: 'public',
      scopes: ['events:send'],
      events: ['app.*', 'opened'],
    });
    const track = (event: string) =>
      api.request('POST', '/v1/track', { key, body: { email: 'bob@x.example', event } });
    expect((await track('app.opened')).status).toBe(200);
    expect((await track('opened')).status).toBe(200);
    for (const event of ['paid', 'app', 'application', 'opened.twice']) {
      const refused = await track(event);
      expect(codeOf(refused)).toEqual([403, 'KEY_RESTRICTED']);
      expect(refused.body.error.details).toEqual({ restriction: 'events', received: event });
    }
    expect(codeOf(await list(key))).toEqual([401, 'INVALID_API_KEY']);
  });
});

describe('GET /api-keys/@me', () => {
  const me = (request: object) => api.request('GET', '/api-keys/@me', request);

  it('returns the record of a named key without its value', async () => {
    const { id, key } = await insert({ scopes: ['topics:read'] });
    const { status, body } = await me({ key });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id,
      name: 'Shop backend',
      kind: 'secret',
      key: `sk_…${key.slice(-4)}`,
      scopes: ['topics:read'],
      createdBy: { type: 'key', id: 'secret', name: 'Secret key' },
      projectId: project.id,
    });
    expect(JSON.stringify(body)).not.toContain(key);
  });

  it('returns the secret key of the pair', async () => {
    const { body } = await me({ key: project.secretKey });
    expect(body).toMatchObject({
      id: 'secret',
      name: 'Secret key',
      key: `sk_…${project.secretKey.slice(-4)}`,
      scopes: ['*'],
      createdAt: null,
    });
  });

  it('returns 404 for a session', async () => {
    const headers = { 'X-Project-Id': project.id };
    expect(codeOf(await me({ cookie, headers }))).toEqual([404, 'API_KEY_NOT_FOUND']);
  });

  it('shows the first use within five seconds', async () => {
    const { key } = await insert({});
    await list(key);
    await waitFor('the use', async () => (await me({ key })).body.lastUsedAt !== null);
  });
});

it('a key has Idempotency-Keys of its own', async () => {
  const [one, other] = [await insert({}), await insert({})];
  const track = (key: string) =>
    api.request('POST', '/v1/track', {
      key,
      headers: { 'Idempotency-Key': 'same' },
      body: { email: 'eve@x.example', event: 'bought' },
    });
  const first = await track(one.key);
  for (const key of [other.key, project.secretKey]) {
    const answered = await track(key);
    expect(answered.status).toBe(200);
    expect(answered.headers.get('idempotency-replayed')).toBeNull();
  }
  const again = await track(one.key);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(again.body).toEqual(first.body);
});
