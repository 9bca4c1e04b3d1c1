import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { codeOf, useApi } from '../../support/api.ts';

const api = await useApi({ WEBHOOK_ALLOW_PRIVATE: 'false' });
const owner = await api.signUp();
const project = await api.createProject(owner.cookie);
const path = '/event-subscriptions';
const url = 'https://hooks.shop.example/everpost';

const call = (method: string, to: string, body?: unknown) =>
  api.request(method, to, { key: project.secretKey, body });

async function create(body: Record<string, unknown> = {}) {
  const { status, body: made } = await call('POST', path, {
    url,
    events: ['order_placed'],
    ...body,
  });
  expect(status).toBe(201);
  api.log.mustNotTell(made.secret);
  return made;
}

/** Returns the invalid fields of a refusal with their codes. */
async function refused(body: Record<string, unknown>) {
  const answer = await call('POST', path, { url, events: ['a'], ...body });
  expect(answer.status).toBe(422);
  return answer.body.error.errors.map((one: { field: string; code: string }) => [
    one.field,
    one.code,
  ]);
}

it('answers the record, and the secret once', async () => {
  const made = await create({ headers: { 'x-b': '1', Authorization: 'Bearer x' } });
  const { secret, ...record } = made;
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(record).toMatchObject({
    url,
    events: ['order_placed'],
    description: null,
    headerNames: ['Authorization', 'x-b'],
    batch: null,
    enabled: true,
    disabledReason: null,
    paused: false,
    failingSince: null,
    previousSecretExpiresAt: null,
    createdBy: { type: 'key', id: 'secret', name: 'Secret key' },
    projectId: project.id,
  });
  expect(Math.abs(Date.parse(record.from) - Date.now())).toBeLessThan(60_000);
  const one = await call('GET', `${path}/${made.id}`);
  expect(one.body).toEqual({
    ...record,
    lag: { pending: 0, oldestPendingAt: null },
    last24Hours: { requests: 0, delivered: 0, failed: 0, skipped: 0 },
  });
  const list = await call('GET', path);
  const same = await call('PATCH', `${path}/${made.id}`, {});
  expect(same.body).toEqual(record);
  for (const { body } of [one, list, same]) {
    expect(JSON.stringify(body)).not.toContain(secret);
    expect(JSON.stringify(body)).not.toContain('Bearer x');
  }
  const changed = await call('PATCH', `${path}/${made.id}`, {
    headers: null,
    description: 'Orders',
    enabled: false,
  });
  expect(changed.body).toMatchObject({
    headerNames: [],
    description: 'Orders',
    enabled: false,
    disabledReason: 'requested',
    from: null,
  });
  expect((await call('DELETE', `${path}/${made.id}`)).status).toBe(204);
});

it('keeps the secret and the headers encrypted', async () => {
  const made = await create({ headers: { 'X-Token': 'in-no-backup' } });
  const row = await api.db
    .selectFrom('event_subscription')
    .selectAll()
    .where('id', '=', made.id)
    .executeTakeFirstOrThrow();
  for (const bytes of [row.secret, row.headers]) {
    expect(bytes?.toString('latin1')).not.toContain(made.secret);
    expect(bytes?.toString('latin1')).not.toContain('in-no-backup');
  }
  await call('DELETE', `${path}/${made.id}`);
});

it('refuses what cannot be sent to, or names no events', async () => {
  for (const bad of ['ftp://x.example', 'http://u:p@x.example/', 'x', 'https://x.example/#a']) {
    expect(await refused({ url: bad })).toEqual([['url', 'invalid_string']]);
  }
  expect(await refused({ url: `https://x.example/${'a'.repeat(2_000)}` })).toEqual([
    ['url', 'too_big'],
  ]);
  for (const inside of [
    'http://10.0.0.1/',
    'http://127.0.0.1/',
    'http://[::ffff:10.0.0.1]/',
    'http://0x7f.1/',
  ]) {
    expect(await refused({ url: inside })).toEqual([['url', 'not_allowed']]);
  }
  const { body } = await call('POST', path, { url: 'http://10.0.0.1/', events: ['a'] });
  expect(body.error.errors[0].message).toMatch(/public address.*WEBHOOK_ALLOW_PRIVATE/);
  for (const item of ['a*', '.*', '*.a', 'a.*.*', '**']) {
    expect(await refused({ events: [item] })).toEqual([['events.0', 'invalid_string']]);
  }
  expect(await refused({ events: [] })).toEqual([['events', 'too_small']]);
  const many = Array.from({ length: 51 }, (_, number) => `e${number}`);
  expect(await refused({ events: many })).toEqual([['events', 'too_big']]);
  expect(await refused({ events: ['email.clicked'] })).toEqual([['events.0', 'reserved_event']]);
  const made = await create({ events: ['*', ' email.* ', 'email.*', 'never.seen'] });
  expect(made.events).toEqual(['*', 'email.*', 'never.seen']);
  await call('DELETE', `${path}/${made.id}`);
});

it('refuses headers that are not the own ones of a subscription', async () => {
  const names = ['Webhook-Id', 'host', 'Content-Length', 'everpost-x', 'Proxy-A', 'TE', 'Expect'];
  for (const name of names) {
    expect(await refused({ headers: { [name]: '1' } })).toEqual([
      [`headers.${name}`, 'not_allowed'],
    ]);
  }
  expect(await refused({ headers: { 'a b': '1' } })).toEqual([['headers.a b', 'invalid_string']]);
  expect(await refused({ headers: { a: 'ü' } })).toEqual([['headers.a', 'invalid_string']]);
  const many = Array.from({ length: 21 }, (_, number) => [`x-${number}`, '1']);
  expect(await refused({ headers: Object.fromEntries(many) })).toEqual([['headers', 'too_big']]);
  expect(await refused({ headers: { a: '{{secret.NOBODY}}' } })).toEqual([
    ['headers', 'not_found'],
  ]);
  const made = await create({ headers: { 'X-One': '1', 'x-one': '2' } });
  expect(made.headerNames).toEqual(['x-one']);
  await call('DELETE', `${path}/${made.id}`);
});

it('has batches of 1 to 100 events', async () => {
  for (const [max, code] of [
    [0, 'too_small'],
    [101, 'too_big'],
  ]) {
    expect(await refused({ batch: { max } })).toEqual([['batch.max', code]]);
  }
  const made = await create({ batch: { max: 10 } });
  expect(made.batch).toEqual({ max: 10 });
  expect((await call('PATCH', `${path}/${made.id}`, { batch: null })).body.batch).toBeNull();
  await call('DELETE', `${path}/${made.id}`);
});

it('begins in the past, up to 30 days ago', async () => {
  const at = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  expect(await refused({ from: at(-31) })).toEqual([['from', 'too_small']]);
  expect(await refused({ from: at(1) })).toEqual([['from', 'too_big']]);
  expect(await refused({ from: at(-1), enabled: false })).toEqual([['from', 'not_allowed']]);
  const from = at(-29);
  const made = await create({ from });
  expect(made.from).toBe(from);
  const patched = await call('PATCH', `${path}/${made.id}`, { from: at(-1) });
  expect([patched.status, patched.body.from]).toEqual([200, from]);
  const disabled = await call('PATCH', `${path}/${made.id}`, { enabled: false });
  expect(disabled.body.from).toBeNull();
  await call('DELETE', `${path}/${made.id}`);
});

it('holds the secrets that its headers name', async () => {
  await call('PUT', '/secrets/HOOK', { value: 'a token' });
  const made = await create({ headers: { Authorization: 'Bearer {{secret.HOOK}}' } });
  const { body } = await call('GET', '/secrets');
  expect(body).toMatchObject([{ name: 'HOOK', usedIn: [{ subscriptionId: made.id }] }]);
  expect(codeOf(await call('DELETE', '/secrets/HOOK'))).toEqual([409, 'SECRET_IN_USE']);
  await call('DELETE', `${path}/${made.id}`);
  expect((await call('DELETE', '/secrets/HOOK')).status).toBe(204);
});

it('is for ADMIN and OWNER alone', async () => {
  const made = await create();
  const member = await api.signUp();
  await api.request('POST', `/projects/${project.id}/members`, {
    cookie: owner.cookie,
    body: { email: member.email, role: 'MEMBER' },
  });
  const headers = { 'X-Project-Id': project.id };
  const foreign = await api.createProject((await api.signUp()).cookie);
  const calls: [string, string, unknown?][] = [
    ['GET', `${path}/${made.id}`],
    ['PATCH', `${path}/${made.id}`, {}],
    ['DELETE', `${path}/${made.id}`],
    ['GET', `${path}/${made.id}/deliveries`],
    ['GET', `${path}/${made.id}/deliveries/x`],
    ['POST', `${path}/${made.id}/deliveries/x/retry`],
    ['POST', `${path}/${made.id}/replay`, { from: new Date().toISOString() }],
    ['GET', `${path}/${made.id}/replay/x`],
    ['POST', `${path}/${made.id}/test`, {}],
    ['POST', `${path}/${made.id}/rotate-secret`],
  ];
  for (const [method, to, body] of [['GET', path] as const, ...calls]) {
    const asMember = await api.request(method, to, { cookie: member.cookie, headers, body });
    expect(codeOf(asMember)).toEqual([403, 'INSUFFICIENT_ROLE']);
    expect((await api.request(method, to, { key: project.publicKey, body })).status).toBe(401);
  }
  for (const [method, to, body] of calls) {
    const answer = await api.request(method, to, { key: foreign.secretKey, body });
    expect(codeOf(answer)).toEqual([404, 'EVENT_SUBSCRIPTION_NOT_FOUND']);
  }
  const unknown = await call('GET', `${path}/${made.id}/deliveries/${randomUUID()}_${made.id}`);
  expect(codeOf(unknown)).toEqual([404, 'EVENT_DELIVERY_NOT_FOUND']);
  expect(codeOf(await call('GET', `${path}/${made.id}/deliveries/x`))).toEqual([
    404,
    'EVENT_DELIVERY_NOT_FOUND',
  ]);
  expect((await call('GET', `${path}/${made.id}/deliveries?eventId=x`)).status).toBe(422);
  await call('DELETE', `${path}/${made.id}`);
});

it('a project has at most 20, also if all are made at once', async () => {
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => call('POST', path, { url, events: ['*'] })),
  );
  const made = answers.filter(({ status }) => status === 201);
  for (const { body } of made) api.log.mustNotTell(body.secret);
  expect(made).toHaveLength(20);
  const others = answers.filter(({ status }) => status !== 201).map(codeOf);
  const limited = [400, 'EVENT_SUBSCRIPTION_LIMIT'];
  expect(others).toEqual(Array.from({ length: 10 }, () => limited));
});
