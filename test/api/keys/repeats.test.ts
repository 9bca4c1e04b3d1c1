import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../../../api/endpoints.ts';
import { honoursKey } from '../../../api/http/idempotency.ts';
import { codeOf, type TestRequest, useApi } from '../../support/api.ts';
import { insertNamedKey } from '../../support/projects/named-keys.ts';
import { tasksOf } from '../../support/sweep-now.ts';

/** Repeats with the same Idempotency-Key, by several keys and users. */

const api = await useApi();
const { db } = api;
const owner = await api.signUp();
const project = await api.createProject(owner.cookie);
const tasks = tasksOf(api, {});

async function join(role: 'ADMIN' | 'MEMBER') {
  const user = await api.signUp();
  const membership = { project_id: project.id, user_id: user.userId, role };
  await db.insertInto('membership').values(membership).execute();
  return { cookie: user.cookie };
}
const ada = await join('ADMIN');
const eve = await join('ADMIN');
const bob = await join('MEMBER');
const newUse = () => ({ 'Idempotency-Key': randomUUID(), 'X-Project-Id': project.id });
const isReplay = ({ headers }: { headers: Headers }) => headers.has('idempotency-replayed');

const receiver = { url: 'https://hooks.shop.example/', events: ['*'] };
const subscription = await api.request('POST', '/event-subscriptions', {
  key: project.secretKey,
  body: receiver,
});
const provider = {
  kind: 'smtp',
  host: 'smtp.postmarkapp.com',
  feedback: 'postmark',
};
const named = { name: 'Shop', scopes: ['contacts:read'] };

/** Requests whose responses show a secret once. */
const showing: [string, () => Promise<[path: string, body?: object]>][] = [
  ['POST /api-keys', async () => ['/api-keys', named]],
  [
    'POST /api-keys/{id}/rotate',
    async () => [`/api-keys/${(await insertNamedKey(db, project.id)).id}/rotate`, {}],
  ],
  ['POST /event-subscriptions', async () => ['/event-subscriptions', receiver]],
  [
    'POST /event-subscriptions/{id}/rotate-secret',
    async () => [`/event-subscriptions/${subscription.body.id}/rotate-secret`],
  ],
  ['POST /providers', async () => ['/providers', { ...provider, name: randomUUID() }]],
  [
    'POST /providers/{id}/rotate-token',
    async () => {
      const given = { key: project.secretKey, body: { ...provider, name: randomUUID() } };
      const { body } = await api.request('POST', '/providers', given);
      return [`/providers/${body.id}/rotate-token`];
    },
  ],
];

describe.each(showing)('the response of %s', (_, prepare) => {
  it('is repeated only to the same user, whose rights still suffice', async () => {
    const [path, body] = await prepare();
    const headers = newUse();
    const ask = (by: TestRequest) => api.request('POST', path, { ...by, headers, body });
    const first = await ask(ada);
    expect([200, 201]).toContain(first.status);
    expect(codeOf(await ask(bob))).toEqual([403, 'INSUFFICIENT_ROLE']);
    for (const other of [eve, { key: project.secretKey }]) {
      const refused = await ask(other);
      expect(codeOf(refused)).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
      expect(refused.body.error.details).not.toHaveProperty('originalRequest');
      expect(isReplay(refused)).toBe(false);
    }
    const again = await ask(ada);
    expect([again.body, isReplay(again)]).toEqual([first.body, true]);
    const { rows } = await sql<{ response: Buffer }>`
      select response from idempotency where key = ${headers['Idempotency-Key']}`.execute(db);
    expect(rows[0]?.response.toString('latin1')).not.toMatch(/[sp]k_[0-9a-f]|whsec_|https:/);
  });
});

it('every endpoint whose response shows a secret once declares it', () => {
  const isSecret = /"(?:sk|pk)_[0-9a-f]{64}"|"whsec_|\/webhooks\/providers\/[^"]{36}\/[0-9a-f]{64}/;
  const found = endpoints
    .filter((endpoint) => honoursKey(endpoint))
    .filter(({ example }) => isSecret.test(JSON.stringify(example?.response) ?? ''));
  const declared = endpoints.filter(({ showsSecret }) => showsSecret);
  const pathsOf = (list: typeof endpoints) => list.map(({ path }) => path).toSorted();
  expect(pathsOf(declared)).toEqual(pathsOf(found));
  expect(declared).toHaveLength(showing.length + 1);
});

describe('an Idempotency-Key of a named key', () => {
  const track = (key: string, headers: Record<string, string>) =>
    api.request('POST', '/v1/track', { key, headers, body: { email: 'a@x.example', event: 'e' } });

  it('is its own: the same of another key is a first use', async () => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const keys = [
      await insertNamedKey(db, project.id),
      await insertNamedKey(db, project.id),
      { key: project.secretKey },
    ];
    for (const { key } of keys) expect(isReplay(await track(key, headers))).toBe(false);
    for (const { key } of keys) expect(isReplay(await track(key, headers))).toBe(true);
  });

  it('outlives a rotation', async () => {
    const { id, key } = await insertNamedKey(db, project.id);
    const headers = { 'Idempotency-Key': randomUUID() };
    const first = await track(key, headers);
    const rotated = await api.request('POST', `/api-keys/${id}/rotate`, {
      key: project.secretKey,
      body: {},
    });
    const again = await track(rotated.body.key, headers);
    expect([again.body, isReplay(again)]).toEqual([first.body, true]);
  });

  it('and its response are gone after the key was revoked, and those of others are not', async () => {
    const { id, key } = await insertNamedKey(db, project.id);
    const other = await insertNamedKey(db, project.id);
    const headers = { 'Idempotency-Key': randomUUID() };
    for (const value of [key, other.key]) expect((await track(value, headers)).status).toBe(200);
    const path = `/api-keys/${id}`;
    expect((await api.request('DELETE', path, { key: project.secretKey })).status).toBe(204);
    expect((await track(key, headers)).status).toBe(401);
    await tasks.CLEAR_IDEMPOTENCY_KEYS();
    const kept = async (keyId: string) =>
      (await sql`select from idempotency where starts_with(key, ${keyId})`.execute(db)).rows.length;
    expect([await kept(id), await kept(other.id)]).toEqual([0, 1]);
    const { rows } = await sql`select from api_key where clear_answers`.execute(db);
    expect(rows).toEqual([]);
  });

  it('stays while its request runs, although the key was revoked', async () => {
    const { id } = await insertNamedKey(db, project.id);
    await sql`insert into idempotency (owner_id, key, request, body_hash, use_id)
      values (${project.id}, ${`${id}\trunning`}, 'POST /v1/send', '', ${randomUUID()})`.execute(
      db,
    );
    await api.request('DELETE', `/api-keys/${id}`, { key: project.secretKey });
    await tasks.CLEAR_IDEMPOTENCY_KEYS();
    const { rows } = await sql`select from idempotency where starts_with(key, ${id})`.execute(db);
    expect(rows).toHaveLength(1);
  });
});

describe('revoked keys', () => {
  it('are kept, the last 1,000 of a project, and no valid key is deleted', async () => {
    const shop = await api.createProject(owner.cookie);
    await sql`insert into api_key (project_id, name, kind, key_hash, key_last4, scopes, created_by,
        revoked_at, revoked_by)
      select ${shop.id}, 'Old ' || n, 'secret', sha256((${shop.id} || n)::bytea), 'last', '{*}',
          'key:secret', now() - n * interval '1 hour', 'key:secret'
        from generate_series(1, 1000) n`.execute(db);
    const by = { key: shop.secretKey };
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      ids.push((await api.request('POST', '/api-keys', { ...by, body: named })).body.id);
    }
    const [first, second, valid] = ids;
    for (const id of [first, second]) await api.request('DELETE', `/api-keys/${id}`, by);
    const revoked = (await api.request('GET', '/api-keys?revoked=true', by)).body;
    expect(revoked).toHaveLength(1_000);
    const names = new Set(revoked.map(({ name }: { name: string }) => name));
    expect(['Old 998', 'Old 999', 'Old 1000'].map((name) => names.has(name))).toEqual([
      true,
      false,
      false,
    ]);
    expect((await api.request('GET', `/api-keys/${valid}`, by)).status).toBe(200);
  });

  it('that are deleted have no name any more where they have caused something', async () => {
    const { id, key } = await insertNamedKey(db, project.id);
    const made = await api.request('POST', '/event-subscriptions', { key, body: receiver });
    expect(made.status).toBe(201);
    const event = async () =>
      (
        await api.request('GET', `/security-events?targetId=${made.body.id}`, {
          cookie: owner.cookie,
          headers: { 'X-Project-Id': project.id },
        })
      ).body.data[0].actor;
    expect(await event()).toEqual({ type: 'key', id, name: 'Shop backend' });
    await db.deleteFrom('api_key').where('id', '=', id).execute();
    expect(await event()).toEqual({ type: 'key', id, name: null });
  });
});
