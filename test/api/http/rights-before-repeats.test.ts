import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../../../api/endpoints.ts';
import type { AnyEndpoint } from '../../../api/http/endpoint.ts';
import { useIdempotencyKey } from '../../../api/http/idempotency.ts';
import { codeOf, useApi } from '../../support/api.ts';
import { startFakeStripe } from '../../support/fakes/stripe.ts';
import { seedProject } from '../../support/projects/seed.ts';
import { sessionSince } from '../../support/sessions.ts';
import { use } from '../../support/use.ts';

/** A repeated request needs the right to make it now. */

// With billing, because a disabled feature is refused before rights are checked.
const stripe = use(await startFakeStripe());
const api = await useApi(stripe.environment);
const owner = await api.signUp();
const { id: projectId } = await api.createProject(owner.cookie);
const seed = await seedProject(api.db, projectId, 'seed');
const headersOf = (key: string) => ({ 'X-Project-Id': projectId, 'Idempotency-Key': key });

async function join(role: 'ADMIN' | 'MEMBER') {
  const user = await api.signUp();
  const membership = { project_id: projectId, user_id: user.userId, role };
  await api.db.insertInto('membership').values(membership).execute();
  return user;
}
const bob = await join('MEMBER');

const become = (userId: string, role: string) =>
  api.db.updateTable('membership').set({ role }).where('user_id', '=', userId).execute();

/** Stores a response under a key, as the request of an administrator leaves it. */
async function storeAnswer(ownerId: string, use: { key: string; path: string; body: unknown }) {
  const services = {
    db: api.db,
    settleDb: api.db,
    settle: (work: () => Promise<void>) => work(),
    cipher: api.services.cipher,
    ttlHours: 24,
  };
  const request = {
    ...use,
    method: 'POST',
    space: { ownerId, callerId: null },
    actor: 'user:x',
    showsSecret: false,
  };
  const claim = await useIdempotencyKey(services, request);
  if (!('first' in claim)) throw new Error('The key is used already.');
  await claim.first.complete({ status: 200, text: '{"secret":"whsec_of_an_admin"}' });
}

const idOf: Record<string, string> = { domains: seed.domainId };

function pathOf({ path }: AnyEndpoint): string {
  const [, collection = ''] = path.split('/');
  return path
    .replace(/^(\/projects|\/users\/@me\/projects)\/\{id\}/, `$1/${projectId}`)
    .replaceAll(/\{(id|\w+Id)\}/g, () => idOf[collection] ?? randomUUID())
    .replaceAll(/\{\w+\}/g, 'CRM_TOKEN');
}

const forAdmins = endpoints
  .filter(({ role }) => role === 'ADMIN')
  .map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const);

describe.each(forAdmins)('%s', (_, endpoint) => {
  const example = endpoint.example?.body ?? {};
  const body =
    endpoint.method === 'GET'
      ? undefined
      : endpoint.access === 'project'
        ? { ...example, projectId }
        : example;

  it('refuses a MEMBER who repeats the key of an ADMIN, and shows nothing of the answer', async () => {
    for (const ownerId of [projectId, bob.userId]) {
      const [key, path] = [randomUUID(), pathOf(endpoint)];
      await storeAnswer(ownerId, { key, path, body: body ?? {} });
      const request = { cookie: bob.cookie, headers: headersOf(key), body };
      const answer = await api.request(endpoint.method, path, request);
      expect(codeOf(answer)).toEqual([403, 'INSUFFICIENT_ROLE']);
      expect(answer.headers.has('idempotency-replayed')).toBe(false);
      expect(JSON.stringify(answer.body)).not.toContain('whsec');
    }
  });
});

/** Endpoints whose project is known before the body is read. The others parse the JSON first. */
const knownByHead = forAdmins.filter(
  ([, { method, access, projectParam }]) =>
    method !== 'GET' && (projectParam || access === 'secret'),
);

it.each(knownByHead)('%s refuses a MEMBER before it reads the JSON', async (_, endpoint) => {
  const answer = await api.request(endpoint.method, pathOf(endpoint), {
    cookie: bob.cookie,
    headers: { 'X-Project-Id': projectId },
    body: '{"a":',
  });
  expect(codeOf(answer)).toEqual([403, 'INSUFFICIENT_ROLE']);
});

describe('a stored answer', () => {
  const addDomain = async () => {
    const ada = await join('ADMIN');
    const request = {
      cookie: ada.cookie,
      headers: { 'Idempotency-Key': randomUUID() },
      body: { domain: `${randomUUID()}.test`, projectId },
    };
    const ask = () => api.request('POST', '/domains', request);
    expect((await ask()).status).toBe(201);
    expect((await ask()).headers.get('idempotency-replayed')).toBe('true');
    return { ada, ask };
  };

  it('is not repeated to its own ADMIN who is a MEMBER now', async () => {
    const { ada, ask } = await addDomain();
    await become(ada.userId, 'MEMBER');
    expect(codeOf(await ask())).toEqual([403, 'INSUFFICIENT_ROLE']);
    await become(ada.userId, 'ADMIN');
    expect((await ask()).status).toBe(201);
  });

  it('is not repeated to its own ADMIN who has left the project', async () => {
    const { ada, ask } = await addDomain();
    await api.db.deleteFrom('membership').where('user_id', '=', ada.userId).execute();
    const answer = await ask();
    expect(codeOf(answer)).toEqual([404, 'PROJECT_NOT_FOUND']);
    expect(JSON.stringify(answer.body)).not.toContain('dkim');
  });

  it('of what every member may do is repeated to every member', async () => {
    const headers = headersOf(randomUUID());
    const ask = (cookie: string) =>
      api.request('POST', '/segments', { cookie, headers, body: { name: 'VIP', type: 'STATIC' } });
    expect((await ask(owner.cookie)).status).toBe(201);
    const again = await ask(bob.cookie);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
  });

  it('needs a recent login where the request does, which may depend on its body', async () => {
    const friend = await api.signUp();
    const ask = (cookie: string, key: string, role: string) =>
      api.request('POST', `/projects/${projectId}/members`, {
        cookie,
        headers: { 'Idempotency-Key': key },
        body: { email: friend.email, role },
      });
    const key = randomUUID();
    expect((await ask(owner.cookie, key, 'ADMIN')).status).toBe(200);
    expect((await ask(owner.cookie, key, 'ADMIN')).status).toBe(200);
    const stale = await sessionSince(api, owner.userId, 121);
    expect(codeOf(await ask(stale, key, 'ADMIN'))).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
    expect(codeOf(await ask(stale, randomUUID(), 'MEMBER'))).toEqual([409, 'MEMBER_EXISTS']);
  });
});
