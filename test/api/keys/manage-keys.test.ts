import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { codeOf, type TestRequest, useApi } from '../../support/api.ts';
import { insertNamedKey } from '../../support/projects/named-keys.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Two API processes on one database. */
const api = await useApi();
const other = await useApi({ DATABASE_URL: api.services.config.databaseUrl });
const { db } = api;
const { cookie, userId } = await api.signUp();
const project = await api.createProject(cookie);
const headers = { 'X-Project-Id': project.id };
const person: TestRequest = { cookie, headers };

const make = (body: object, by: TestRequest = person) =>
  api.request('POST', '/api-keys', { ...by, body: { name: 'Shop', ...body } });
async function made(body: object, by: TestRequest = person) {
  const { status, body: record } = await make(body, by);
  expect(status).toBe(201);
  return record as { id: string; key: string };
}
const change = (id: string, body: object, by: TestRequest = person) =>
  api.request('PATCH', `/api-keys/${id}`, { ...by, body });
const rotate = (id: string, body: object = {}, by: TestRequest = person) =>
  api.request('POST', `/api-keys/${id}/rotate`, { ...by, body });
const revoke = (id: string, by: TestRequest = person) =>
  api.request('DELETE', `/api-keys/${id}`, by);
const statusOf = async (key: string, on = api) =>
  (await on.request('GET', '/contacts', { key })).status;
const fieldsOf = ({ body }: { body: { error: { errors: { field: string; code: string }[] } } }) =>
  body.error.errors.map(({ field, code }) => `${field} ${code}`);
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

describe('POST /api-keys', () => {
  it('creates a key that can do what its scopes say; the value is shown once', async () => {
    const { status, body } = await make({ scopes: ['contacts:read', 'contacts:read'] });
    expect(status).toBe(201);
    expect(body.key).toMatch(/^sk_[0-9a-f]{64}$/);
    expect(body).toMatchObject({
      scopes: ['contacts:read'],
      createdBy: { type: 'user', id: userId },
      projectId: project.id,
    });
    const read = await api.request('GET', `/api-keys/${body.id}`, person);
    expect(read.body).toEqual({ ...body, key: `sk_…${body.key.slice(-4)}` });
    expect(await statusOf(body.key)).toBe(200);
    const contact = { key: body.key, body: { email: 'ada@x.example' } };
    const refused = await api.request('POST', '/contacts', contact);
    expect(codeOf(refused)).toEqual([403, 'INSUFFICIENT_SCOPE']);
  });

  it('stores networks in one form', async () => {
    const { body } = await make({
      scopes: ['*'],
      cidrs: [
        '203.0.113.7/24',
        '203.0.113.0/24',
        '198.51.100.4',
        '::ffff:192.0.2.1',
        '2001:DB8::1/32',
      ],
    });
    expect(body.cidrs).toEqual([
      '203.0.113.0/24',
      '198.51.100.4/32',
      '192.0.2.1/32',
      '2001:db8::/32',
    ]);
  });

  it.each([
    [{}, ['scopes invalid_type']],
    [{ scopes: [] }, ['scopes too_small']],
    [{ scopes: ['contacts:all'] }, ['scopes.0 invalid_enum_value']],
    [{ scopes: ['*'], events: ['app.*'] }, ['events not_allowed']],
    [{ kind: 'public', scopes: ['contacts:read'] }, ['scopes not_allowed']],
    [{ kind: 'public', domains: ['a.test'] }, ['domains not_allowed']],
    [{ scopes: ['campaigns:send'], domains: ['a.test'] }, ['scopes not_allowed']],
    [{ scopes: ['*'], domains: ['a.test'] }, ['scopes not_allowed']],
    [
      { scopes: ['*'], cidrs: ['203.0.113.0/33', '1.2.3', '::1'] },
      ['cidrs.0 invalid_string', 'cidrs.1 invalid_string'],
    ],
    [{ scopes: ['*'], expiresAt: '2020-01-01' }, ['expiresAt too_small']],
    [{ scopes: ['*'], expiresAt: '2999-01-01' }, ['expiresAt too_big']],
  ])('refuses %j', async (body, expected) => {
    const refused = await make(body);
    expect(refused.status).toBe(422);
    expect(fieldsOf(refused)).toEqual(expected);
  });

  it('creates 50 keys, however many are asked for at once', async () => {
    const full = await api.createProject(cookie);
    const asked = Array.from({ length: 60 }, () =>
      make({ scopes: ['topics:read'] }, { key: full.secretKey }),
    );
    const answers = await Promise.all(asked);
    const codes = answers.map((answer) => codeOf(answer).join(' '));
    expect(codes.filter((code) => code.startsWith('201'))).toHaveLength(50);
    expect(codes.filter((code) => code === '400 API_KEY_LIMIT')).toHaveLength(10);
    const [first] = answers;
    expect((await revoke(first?.body.id, { key: full.secretKey })).status).toBe(204);
    expect((await make({ scopes: ['topics:read'] }, { key: full.secretKey })).status).toBe(201);
  });

  it('is for administrators; members only read', async () => {
    const bob = await api.signUp();
    const values = { project_id: project.id, user_id: bob.userId, role: 'MEMBER' };
    await db.insertInto('membership').values(values).execute();
    const member = { cookie: bob.cookie, headers };
    expect((await api.request('GET', '/api-keys', member)).status).toBe(200);
    expect(codeOf(await make({ scopes: ['*'] }, member))).toEqual([403, 'INSUFFICIENT_ROLE']);
  });
});

it('a key of another project does not exist', async () => {
  const foreign = await api.createProject((await api.signUp()).cookie);
  const { id } = await insertNamedKey(db, foreign.id);
  const answers = [
    await api.request('GET', `/api-keys/${id}`, person),
    await change(id, { name: 'Mine' }),
    await rotate(id),
    await revoke(id),
  ];
  for (const answer of answers) expect(codeOf(answer)).toEqual([404, 'API_KEY_NOT_FOUND']);
});

describe('PATCH /api-keys/{id}', () => {
  it('holds at once on every process', async () => {
    const { id, key } = await made({ scopes: ['contacts:read'] });
    expect(await statusOf(key, other)).toBe(200);
    const { body } = await change(id, { scopes: ['topics:read'], name: 'Less' });
    expect(body).toMatchObject({ name: 'Less', scopes: ['topics:read'] });
    expect(await statusOf(key, other)).toBe(403);
  });

  it('changes nothing with an empty body', async () => {
    const { id } = await made({ scopes: ['*'] });
    const before = await api.request('GET', `/api-keys/${id}`, person);
    expect((await change(id, {})).body).toEqual(before.body);
  });

  it('revives an expired key', async () => {
    const { id, key } = await made({ scopes: ['*'], expiresAt: inSeconds(1) });
    await waitFor('the expiry', async () => (await statusOf(key)) === 401);
    expect((await change(id, { expiresAt: null })).status).toBe(200);
    expect(await statusOf(key)).toBe(200);
  });

  it('refuses another kind, and scopes past the domains', async () => {
    const { id } = await made({ scopes: ['emails:send'], domains: ['a.test'] });
    const body = { kind: 'public', scopes: ['contacts:write'] };
    expect(fieldsOf(await change(id, body))).toEqual(['scopes not_allowed', 'kind not_allowed']);
  });
});

describe('a rotation', () => {
  it('ends the former value when the overlap is over', async () => {
    const { id, key } = await made({ scopes: ['*'] });
    const { body } = await rotate(id, { overlapSeconds: 2 });
    expect(body.id).toBe(id);
    const old = await other.request('GET', '/contacts', { key });
    expect([old.status, old.headers.get('everpost-key-expires')]).toEqual([200, body.rotatesUntil]);
    expect(await statusOf(body.key)).toBe(200);
    await waitFor('the end of the overlap', async () => (await statusOf(key)) === 401);
    expect(await statusOf(body.key, other)).toBe(200);
  });

  it('without an overlap ends the former value at once', async () => {
    const { id, key } = await made({ scopes: ['*'] });
    const { body } = await rotate(id);
    await sleep(1_000);
    expect([await statusOf(key, other), await statusOf(body.key, other)]).toEqual([401, 200]);
  });

  it('twice ends the first value at once', async () => {
    const { id, key } = await made({ scopes: ['*'] });
    const second = await rotate(id, { overlapSeconds: 60 });
    const third = await rotate(id, { overlapSeconds: 60 });
    const values = [key, second.body.key, third.body.key];
    expect(await Promise.all(values.map((value) => statusOf(value)))).toEqual([401, 200, 200]);
  });

  it('loses no request of a program that changes to the new value', async () => {
    const { id, key } = await made({ scopes: ['*'] });
    let value = key;
    let isOver = false;
    const statuses: number[] = [];
    const load = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        statuses.push(await statusOf(value));
        await sleep(20);
      }
    });
    await sleep(200);
    const { body } = await rotate(id, { overlapSeconds: 30 });
    await sleep(200);
    value = body.key;
    await sleep(200);
    isOver = true;
    await Promise.all(load);
    expect(statuses.length).toBeGreaterThan(10);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  it('of an expired key needs a new end', async () => {
    const { id, key } = await made({ scopes: ['*'], expiresAt: inSeconds(1) });
    await waitFor('the expiry', async () => (await statusOf(key)) === 401);
    expect(codeOf(await rotate(id))).toEqual([409, 'API_KEY_EXPIRED']);
    expect((await rotate(id, { expiresAt: inSeconds(60) })).status).toBe(200);
  });
});

describe('DELETE /api-keys/{id}', () => {
  it('ends both values within a second on every process; the record stays', async () => {
    const { id, key } = await made({ scopes: ['*'] });
    const { body } = await rotate(id, { overlapSeconds: 60 });
    expect((await revoke(id)).status).toBe(204);
    await sleep(1_000);
    for (const on of [api, other]) {
      expect([await statusOf(key, on), await statusOf(body.key, on)]).toEqual([401, 401]);
    }
    const read = await api.request('GET', `/api-keys/${id}`, person);
    expect(read.body.revokedBy).toMatchObject({ type: 'user', id: userId });
    expect(codeOf(await revoke(id))).toEqual([404, 'API_KEY_NOT_FOUND']);
    expect(codeOf(await change(id, {}))).toEqual([404, 'API_KEY_NOT_FOUND']);
    const idsOf = async (query: string) =>
      (await api.request('GET', `/api-keys${query}`, person)).body.map(
        ({ id: listed }: { id: string }) => listed,
      );
    expect(await idsOf('')).not.toContain(id);
    expect(await idsOf('?revoked=true')).toContain(id);
  });
});

describe('a key that makes keys', () => {
  const scopes = ['keys:write', 'contacts:read'];

  it('makes only keys that can do no more than itself', async () => {
    const maker = await made({ scopes, cidrs: ['127.0.0.0/8'], expiresAt: inSeconds(3600) });
    const by = { key: maker.key };
    const within = { scopes: ['contacts:read'], cidrs: ['127.0.0.1'], expiresAt: inSeconds(60) };
    expect((await make(within, by)).status).toBe(201);
    const wider = await make({ ...within, scopes: ['contacts:read', 'contacts:write'] }, by);
    expect(codeOf(wider)).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect(wider.body.error.details.needed).toBe('contacts:write');
    const past = [
      [{ cidrs: ['0.0.0.0/0'] }, 'cidrs'],
      [{ cidrs: null }, 'cidrs'],
      [{ expiresAt: null }, 'expiresAt'],
      [{ expiresAt: inSeconds(7200) }, 'expiresAt'],
    ] as const;
    for (const [fields, restriction] of past) {
      const refused = await make({ ...within, ...fields }, by);
      expect(codeOf(refused)).toEqual([403, 'KEY_RESTRICTED']);
      expect(refused.body.error.details.restriction).toBe(restriction);
    }
  });

  it('changes only keys that it made, at any depth, and not itself', async () => {
    const maker = await made({ scopes });
    const child = await made({ scopes }, { key: maker.key });
    const grandchild = await made({ scopes: ['contacts:read'] }, { key: child.key });
    const stranger = await made({ scopes: ['contacts:read'] });
    const by = { key: maker.key };
    expect((await change(grandchild.id, { name: 'Renamed' }, by)).status).toBe(200);
    expect((await rotate(grandchild.id, {}, by)).status).toBe(200);
    const widened = await change(grandchild.id, { scopes: ['*'] }, by);
    expect(codeOf(widened)).toEqual([403, 'INSUFFICIENT_SCOPE']);
    for (const refused of [
      await change(stranger.id, { name: 'Mine' }, by),
      await rotate(stranger.id, {}, by),
      await revoke(stranger.id, by),
      await change(maker.id, { name: 'Myself' }, by),
      await change(maker.id, { name: 'Parent' }, { key: child.key }),
    ]) {
      expect(codeOf(refused)).toEqual([403, 'KEY_RESTRICTED']);
      expect(refused.body.error.details.restriction).toBe('maker');
    }
    expect((await revoke(maker.id, by)).status).toBe(204);
    expect(await statusOf(maker.key)).toBe(401);
  });

  it('takes them with it when it is revoked, also those that it is just making', async () => {
    const maker = await made({ scopes });
    const child = await made({ scopes }, { key: maker.key });
    const grandchild = await made({ scopes: ['contacts:read'] }, { key: child.key });
    const asked = Array.from({ length: 10 }, () =>
      make({ scopes: ['contacts:read'] }, { key: child.key }),
    );
    expect((await revoke(maker.id)).status).toBe(204);
    const late = (await Promise.all(asked)).filter(({ status }) => status === 201);
    for (const { key } of [child, grandchild, ...late.map(({ body }) => body)]) {
      expect(await statusOf(key)).toBe(401);
    }
  });
});

it('new keys of the pair revoke the keys that the old secret key made, and no others', async () => {
  const shop = await api.createProject(cookie);
  const byPair = await made({ scopes: ['keys:write', 'contacts:read'] }, { key: shop.secretKey });
  const child = await made({ scopes: ['contacts:read'] }, { key: byPair.key });
  const byPerson = await made(
    { scopes: ['contacts:read'] },
    { cookie, headers: { 'X-Project-Id': shop.id } },
  );
  const path = `/users/@me/projects/${shop.id}/regenerate-keys`;
  expect((await api.request('POST', path, { cookie })).status).toBe(200);
  const values = [byPair.key, child.key, byPerson.key];
  expect(await Promise.all(values.map((value) => statusOf(value)))).toEqual([401, 401, 200]);
});

describe('a key with sender domains', () => {
  it('sends only from them, also by a template, and makes no contact otherwise', async () => {
    for (const name of ['a.test', 'b.test']) {
      const values = {
        project_id: project.id,
        name,
        status: 'verified',
        dkim_tokens: ['a', 'b', 'c'],
      };
      await db.insertInto('domain').values(values).execute();
    }
    const template = await api.request('POST', '/templates', {
      key: project.secretKey,
      body: { name: 'T', subject: 'S', body: 'B', type: 'TRANSACTIONAL', from: 'shop@b.test' },
    });
    const { key } = await made({ scopes: ['emails:send'], domains: ['A.test'] });
    const send = (body: object) =>
      api.request('POST', '/v1/send', { key, body: { to: 'new@x.example', ...body } });
    const text = { subject: 'S', body: 'B' };
    for (const body of [{ ...text, from: 'shop@b.test' }, { template: template.body.id }]) {
      const refused = await send(body);
      expect(codeOf(refused)).toEqual([403, 'KEY_RESTRICTED']);
      const { details } = refused.body.error;
      expect(details).toEqual({ restriction: 'domains', received: 'b.test' });
    }
    const read = await api.request('GET', '/contacts?search=new@x.example', {
      key: project.secretKey,
    });
    expect(read.body.total).toBe(0);
    expect((await send({ ...text, from: 'shop@a.test' })).status).toBe(200);
    const mail = (from: string) => ({ to: 'batch@x.example', ...text, from });
    const batch = await api.request('POST', '/v1/send/batch', {
      key,
      body: { messages: [mail('shop@a.test'), mail('shop@b.test')] },
    });
    expect(batch.status).toBe(200);
    expect(JSON.stringify(batch.body.data)).toContain('KEY_RESTRICTED');
  });
});
