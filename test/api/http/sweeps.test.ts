import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AnyEndpoint } from '../../../api/http/endpoint.ts';
import { endpoints } from '../../../api/endpoints.ts';
import {
  startTestApi,
  type TestAnswer,
  type TestApi,
  type TestRequest,
} from '../../support/api.ts';
import { startFakeStripe } from '../../support/fakes/stripe.ts';
import { pathWith } from '../../support/projects/paths.ts';
import { type Seed, seedProject } from '../../support/projects/seed.ts';

/**
 * Rules for every endpoint: these tests read the endpoint list, so they cover new endpoints too.
 */

let api: TestApi;
let stripe: Awaited<ReturnType<typeof startFakeStripe>>;
let cookie: string;
/** Session of a user with an open invitation to the foreign project as an ADMIN. */
let invitedCookie: string;
let keys: { publicKey: string; secretKey: string };
let own: Seed;
let foreign: Seed;
let before: string;
/** Text in every field of the foreign project; no response may contain it. */
const mark = `secret-${randomUUID()}`;

beforeAll(async () => {
  stripe = await startFakeStripe();
  api = await startTestApi(stripe.environment);
  const [ada, eve, bob] = [await api.signUp(), await api.signUp(), await api.signUp()];
  cookie = ada.cookie;
  invitedCookie = bob.cookie;
  const [mine, theirs] = [
    await api.createProject(ada.cookie),
    await api.createProject(eve.cookie, mark),
  ];
  keys = mine;
  own = await seedProject(api.db, mine.id, 'own');
  foreign = await seedProject(api.db, theirs.id, mark);
  await api.db
    .insertInto('invitation')
    .values({ project_id: theirs.id, user_id: bob.userId, role: 'ADMIN' })
    .execute();
  before = await snapshot(foreign.projectId);
});
afterAll(async () => {
  await api.close();
  await stripe.close();
});

type ListedEndpoint = readonly [string, AnyEndpoint];
const named = (list: readonly AnyEndpoint[]): ListedEndpoint[] =>
  list.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint]);
const takesKey = endpoints.filter(({ access }) => access !== 'open' && access !== 'session');
const takesSessionAlone = endpoints.filter(({ access }) => access === 'session');
const takesProjectHeader = endpoints.filter(
  ({ access }) => access === 'secret' || access === 'either',
);

const ownPath = (endpoint: AnyEndpoint) => pathWith(endpoint, (parameter) => own[parameter]);

function call(endpoint: AnyEndpoint, path: string, request: TestRequest): Promise<TestAnswer> {
  // Without a body, a form is empty.
  const takesBody = ['POST', 'PUT', 'PATCH'].includes(endpoint.method) && !endpoint.upload;
  return api.request(endpoint.method, path, takesBody ? { body: {}, ...request } : request);
}

/** Returns the credentials that an endpoint accepts. */
function credentials({ access }: AnyEndpoint): TestRequest {
  if (access === 'open') return {};
  return access === 'session' ? { cookie } : { key: keys.secretKey };
}

function expectRefusal(
  endpoint: AnyEndpoint,
  answer: TestAnswer,
  status: number,
  code: string,
): void {
  expect(answer.status).toBe(status);
  expect(answer.body.error?.code).toBe(code);
  expectErrorForm(endpoint, answer);
}

/** Pages show errors as pages. */
function expectErrorForm(endpoint: AnyEndpoint, answer: TestAnswer): void {
  const isPage = answer.headers.get('content-type')?.startsWith('text/html');
  if (endpoint.contentType !== 'text/html' || !isPage) expectEnvelope(answer);
}

function expectEnvelope({ status, headers, body }: TestAnswer): void {
  expect(body).toMatchObject({
    success: false,
    error: {
      code: expect.any(String),
      message: expect.any(String),
      suggestion: expect.any(String),
      statusCode: status,
      requestId: headers.get('x-request-id'),
    },
    timestamp: expect.any(String),
  });
}

describe('without credentials', () => {
  it.each(named(takesKey))('%s answers 401 MISSING_AUTH', async (_, endpoint) => {
    expectRefusal(endpoint, await call(endpoint, ownPath(endpoint), {}), 401, 'MISSING_AUTH');
  });

  it.each(named(takesSessionAlone))('%s answers 401 UNAUTHORIZED', async (_, endpoint) => {
    expectRefusal(endpoint, await call(endpoint, ownPath(endpoint), {}), 401, 'UNAUTHORIZED');
  });
});

describe('with the wrong kind of credentials', () => {
  const isForPublicKeys = ({ access }: AnyEndpoint) => access === 'either';

  it.each(named(takesKey.filter((endpoint) => !isForPublicKeys(endpoint))))(
    '%s answers a public key 401 INVALID_API_KEY',
    async (_, endpoint) => {
      const answer = await call(endpoint, ownPath(endpoint), { key: keys.publicKey });
      expectRefusal(endpoint, answer, 401, 'INVALID_API_KEY');
    },
  );

  it.each(named(takesKey))('%s answers an unknown key 401 INVALID_API_KEY', async (_, endpoint) => {
    const answer = await call(endpoint, ownPath(endpoint), { key: `sk_${'0'.repeat(64)}` });
    expectRefusal(endpoint, answer, 401, 'INVALID_API_KEY');
  });

  it.each(named(takesSessionAlone))(
    '%s answers a secret key 401 UNAUTHORIZED',
    async (_, endpoint) => {
      const answer = await call(endpoint, ownPath(endpoint), { key: keys.secretKey });
      expectRefusal(endpoint, answer, 401, 'UNAUTHORIZED');
    },
  );

  it.each(named(takesProjectHeader))(
    '%s answers a cookie alone 400 PROJECT_ID_REQUIRED',
    async (_, endpoint) => {
      const answer = await call(endpoint, ownPath(endpoint), { cookie });
      expectRefusal(endpoint, answer, 400, 'PROJECT_ID_REQUIRED');
    },
  );

  it.each(named(takesProjectHeader))(
    '%s answers a cookie with a foreign project 403 PROJECT_ACCESS_DENIED',
    async (_, endpoint) => {
      const headers = { 'X-Project-Id': foreign.projectId };
      const answer = await call(endpoint, ownPath(endpoint), { cookie, headers });
      expectRefusal(endpoint, answer, 403, 'PROJECT_ACCESS_DENIED');
    },
  );
});

describe('with the ids of another project', () => {
  const withIds = endpoints.filter(
    ({ access, path }) => access !== 'open' && /\{(id|\w+Id)\}/.test(path),
  );

  it.each(named(withIds))('%s answers like ids that do not exist', async (_, endpoint) => {
    const names = [...endpoint.path.matchAll(/\{(?!version\})\w+\}/g)];
    const request = { ...credentials(endpoint), ...exampleBody(endpoint) };
    // Only the last id is foreign, and then all of them are.
    for (const ownIds of names.length > 1 ? [names.length - 1, 0] : [0]) {
      const path = (seed: Partial<Seed>) => {
        let position = 0;
        return pathWith(endpoint, (parameter) =>
          position++ < ownIds ? own[parameter] : seed[parameter],
        );
      };
      const answer = await call(endpoint, path(foreign), request);
      const unknown = await call(endpoint, path({}), request);
      expect([answer.status, answer.body.error?.code]).toEqual([
        unknown.status,
        unknown.body.error?.code,
      ]);
      expect(answer.status).toBe(404);
      expectEnvelope(answer);
    }
  });
});

describe('who is invited to a project', () => {
  it.each(named(takesProjectHeader))(
    '%s answers 403 PROJECT_ACCESS_DENIED',
    async (_, endpoint) => {
      const headers = { 'X-Project-Id': foreign.projectId };
      const request = { cookie: invitedCookie, headers, ...exampleBody(endpoint) };
      const path = pathWith(endpoint, (parameter) => foreign[parameter]);
      expectRefusal(endpoint, await call(endpoint, path, request), 403, 'PROJECT_ACCESS_DENIED');
    },
  );

  const decisions = ['acceptInvitation', 'leaveProject'];
  const naming = endpoints.filter(
    ({ id, access, path }) =>
      (access === 'session' || access === 'project') &&
      /\{(id|\w+Id)\}/.test(path) &&
      !decisions.includes(id),
  );

  it.each(named(naming))('%s answers like ids that do not exist', async (_, endpoint) => {
    const request = { cookie: invitedCookie, ...exampleBody(endpoint) };
    const path = (seed: Partial<Seed>) => pathWith(endpoint, (parameter) => seed[parameter]);
    const answer = await call(endpoint, path(foreign), request);
    const unknown = await call(endpoint, path({}), request);
    expect([answer.status, answer.body.error?.code]).toEqual([404, unknown.body.error?.code]);
    expect(JSON.stringify(answer.body).includes(mark)).toBe(false);
  });
});

describe('a MEMBER', () => {
  let bob: { cookie: string };
  let seed: Seed;

  beforeAll(async () => {
    const [ada, member] = [await api.signUp(), await api.signUp()];
    const { id } = await api.createProject(ada.cookie);
    await api.db
      .insertInto('membership')
      .values({ project_id: id, user_id: member.userId, role: 'MEMBER' })
      .execute();
    bob = member;
    seed = await seedProject(api.db, id, `member-${randomUUID()}`);
  });

  async function callAsMember(endpoint: AnyEndpoint): Promise<TestAnswer> {
    const example = endpoint.example?.body as Record<string, unknown> | undefined;
    return call(
      endpoint,
      pathWith(endpoint, (parameter) => ({ ...seed, name: 'CRM_TOKEN' })[parameter]),
      {
        cookie: bob.cookie,
        headers: { 'X-Project-Id': seed.projectId },
        ...(example ? { body: { ...example, projectId: seed.projectId } } : {}),
      },
    );
  }

  const inProject = endpoints.filter(
    ({ access, projectParam }) => projectParam || (access !== 'open' && access !== 'session'),
  );

  it.each(named(endpoints.filter(({ role }) => role)))(
    'is refused %s with 403 INSUFFICIENT_ROLE',
    async (_, endpoint) => {
      expectRefusal(endpoint, await callAsMember(endpoint), 403, 'INSUFFICIENT_ROLE');
    },
  );

  it.each(named(inProject.filter(({ role }) => !role)))('may use %s', async (_, endpoint) => {
    const { body } = await callAsMember(endpoint);
    const refusals = ['UNAUTHORIZED', 'INSUFFICIENT_ROLE', 'PROJECT_ACCESS_DENIED'];
    expect([...refusals, 'PROJECT_NOT_FOUND']).not.toContain(body.error?.code);
  });
});

describe('with an empty body', () => {
  const writing = endpoints.filter(({ method }) => ['POST', 'PUT', 'PATCH'].includes(method));

  it.each(named(writing))('%s does not fail', async (_, endpoint) => {
    const path = pathWith(endpoint, () => undefined);
    const answer = await call(endpoint, path, credentials(endpoint));
    expect(answer.status).toBeLessThan(500);
    if (answer.status >= 400) expectErrorForm(endpoint, answer);
  });
});

describe('with hostile values', () => {
  it.each(named(endpoints))('%s neither fails nor tells', async (_, endpoint) => {
    // A hostile body may be valid. Then it must only change what this test may change.
    const base =
      endpoint.access === 'session' ? pathWith(endpoint, () => undefined) : ownPath(endpoint);
    const requests: [path: string, request: TestRequest][] = [
      ...hostilePaths(endpoint).map((path) => [path, {}] as [string, TestRequest]),
      ...hostileQueries(endpoint).map((query) => [`${base}?${query}`, {}] as [string, TestRequest]),
      ...hostileBodies(endpoint).map((body) => [base, { body }] as [string, TestRequest]),
    ];
    const isDelete = endpoint.method === 'DELETE';
    await inParallel(requests, async ([path, request]) => {
      if (isDelete && path.startsWith(base)) return;
      const answer = await call(endpoint, path, { ...credentials(endpoint), ...request });
      const shown = `${path} ${JSON.stringify(request)} ${answer.status}`.slice(0, 500);
      expect(answer.status, shown).toBeLessThan(500);
      if (answer.status >= 400) expectErrorForm(endpoint, answer);
      expect(JSON.stringify(answer.body).includes(mark), `${shown} tells`).toBe(false);
    });
  });
});

describe('after all that', () => {
  it('the other project is as it was', async () => {
    expect(await snapshot(foreign.projectId)).toBe(before);
  });
});

const hostileTexts = [
  '',
  ' ',
  '\u0000',
  '%',
  '..',
  '../../etc/passwd',
  "'; drop table contact; --",
  '__proto__',
  'constructor',
  '{{ 1 | nonsense }}',
  '{% for a in (1..9999999) %}x{% endfor %}',
  'a\r\nBcc: eve@evil.test',
  '9'.repeat(30),
  'é\u202e\u{1f600}',
];

function hostileValues(): unknown[] {
  return [
    ...hostileTexts,
    'x'.repeat(20_000),
    '\ud800',
    null,
    true,
    0,
    -1,
    1.5,
    1e308,
    [],
    [null],
    {},
    nested(200),
    JSON.parse('{"__proto__":{"admin":true},"constructor":{"prototype":1}}'),
    ...Object.values(foreign),
    Object.values(foreign),
  ];
}

function nested(depth: number): unknown {
  return depth === 0 ? 1 : { a: [nested(depth - 1)] };
}

function hostilePaths(endpoint: AnyEndpoint): string[] {
  if (!endpoint.path.includes('{')) return [];
  return [...hostileTexts, 'x'.repeat(2_000)]
    .filter((text) => text !== '' && text !== '..')
    .map((text) => pathWith(endpoint, () => text));
}

function hostileQueries(endpoint: AnyEndpoint): string[] {
  const names = [...keysOf(endpoint.query), 'unknown'];
  return names.flatMap((name) => [
    ...hostileTexts.map((text) => `${name}=${encodeURIComponent(text)}`),
    `${name}=1&${name}=2`,
    `${name}[]=1`,
    `${name}[a]=1`,
    `${name}=%zz`,
    `__proto__=1&${name}=-1`,
    `${name}=${foreign.contactId}`,
  ]);
}

/**
 * Each field gets every third value, and the next field the other ones: over all endpoints, each
 * value is used in many fields.
 */
function hostileBodies(endpoint: AnyEndpoint): unknown[] {
  if (!endpoint.body) return [];
  const good = (endpoint.example?.body ?? {}) as Record<string, unknown>;
  const names = new Set([...keysOf(endpoint.body), ...Object.keys(good)]);
  return [
    ...hostileValues(),
    ...[...names].flatMap((name, field) =>
      hostileValues()
        .filter((_, index) => (index + field) % 3 === 0)
        .map((value) => ({ ...good, [name]: value })),
    ),
  ].map((body) => JSON.stringify(body));
}

/**
 * Returns the example of the documentation, so that an endpoint gets to the point where it looks
 * up its ids.
 */
function exampleBody(endpoint: AnyEndpoint): TestRequest {
  return endpoint.example?.body === undefined ? {} : { body: endpoint.example.body };
}

function keysOf(schema: z.ZodType | undefined): string[] {
  if (!schema) return [];
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.keys(properties);
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: 6 }, worker));
}

/** Returns all rows of a project, as text. */
async function snapshot(projectId: string): Promise<string> {
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'project_id' order by 1`.execute(api.db);
  const parts = [];
  for (const { name } of [...tables, { name: 'project' }]) {
    const column = name === 'project' ? 'id' : 'project_id';
    const { rows } = await sql`
      select row_to_json(t)::text as row from ${sql.table(name)} t
      where ${sql.ref(column)} = ${projectId} order by 1`.execute(api.db);
    parts.push(name, ...rows.map((row) => (row as { row: string }).row));
  }
  return parts.join('\n');
}

describe('in a project that was reset', () => {
  const key = { secretKey: '' };
  const publicId = randomUUID();
  let inside: Seed;
  beforeAll(async () => {
    const made = await api.createProject(cookie);
    key.secretKey = made.secretKey;
    inside = await seedProject(api.db, made.id, 'reset');
    await api.db
      .updateTable('project')
      .set({ public_id: publicId })
      .where('id', '=', made.id)
      .execute();
  });

  const kept = endpoints.filter(
    ({ access, method, path }) =>
      access !== 'open' && method !== 'DELETE' && !path.endsWith('/reset'),
  );
  const readsFirst = kept.toSorted((a, b) => a.method.localeCompare(b.method));

  it.each(named(readsFirst))('%s answers the public id of the project', async (_, endpoint) => {
    const outside = { ...inside, projectId: publicId };
    const path = pathWith(endpoint, (parameter) => outside[parameter]);
    const credential = endpoint.access === 'session' ? { cookie } : { key: key.secretKey };
    const { body } = await call(endpoint, path, { ...credential, ...exampleBody(endpoint) });
    expect(JSON.stringify(body) ?? '').not.toContain(inside.projectId);
  });
});
