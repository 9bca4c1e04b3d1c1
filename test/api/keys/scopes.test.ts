import { describe, expect, it } from 'vitest';
import { endpoints } from '../../../api/endpoints.ts';
import { openApiDocument } from '../../../api/docs/openapi.ts';
import type { AnyEndpoint } from '../../../api/http/endpoint.ts';
import { scopeOf, scopes } from '../../../domain/access/scopes.ts';
import { useApi } from '../../support/api.ts';
import { insertNamedKey } from '../../support/projects/named-keys.ts';
import { pathWith } from '../../support/projects/paths.ts';
import { seedProject } from '../../support/projects/seed.ts';

/** Rules for every endpoint that takes a secret key, read from the list of endpoints. */

const api = await useApi();
const owner = await api.signUp();
const project = await api.createProject(owner.cookie);
const foreign = await api.createProject((await api.signUp()).cookie);
const seed = await seedProject(api.db, project.id, 'scopes');

const keyOf = new Map<string, string>();
for (const scope of [...scopes, '*', '*:read']) {
  const { key } = await insertNamedKey(api.db, project.id, { scopes: [scope] });
  keyOf.set(scope, key);
}

const scoped = endpoints.flatMap((endpoint) => {
  const scope = scopeOf(endpoint);
  const name = `${endpoint.method} ${endpoint.path}`;
  return scope === null ? [] : [[name, scope, endpoint] as const];
});

function call(endpoint: AnyEndpoint, scope: string) {
  const path = pathWith(endpoint, (parameter) => seed[parameter]);
  const takesBody = ['POST', 'PUT', 'PATCH'].includes(endpoint.method) && !endpoint.upload;
  const key = keyOf.get(scope) ?? '';
  return api.request(endpoint.method, path, takesBody ? { key, body: {} } : { key });
}

const otherThan = (scope: string) =>
  scopes.find((one) => one !== scope && one.split(':')[0] !== scope.split(':')[0]) ?? '';
/** Another right to the same resource, if there is one. */
const sibling = (scope: string) =>
  scopes.find((one) => one !== scope && one.split(':')[0] === scope.split(':')[0]);

describe('a key with one scope', () => {
  it.each(scoped)('cannot use %s, which needs %s, with another', async (_, needed, endpoint) => {
    for (const scope of [otherThan(needed), sibling(needed)]) {
      if (scope === undefined) continue;
      const { status, body } = await call(endpoint, scope);
      expect([status, body.error?.code]).toEqual([403, 'INSUFFICIENT_SCOPE']);
      expect(body.error.details).toEqual({ needed, granted: [scope] });
    }
  });

  it.each(scoped.filter(([, , { method }]) => method !== 'DELETE'))(
    'can use %s with %s',
    async (_, needed, endpoint) => {
      const { status, body } = await call(endpoint, needed);
      expect(status).not.toBe(401);
      expect(body.error?.code).not.toBe('INSUFFICIENT_SCOPE');
    },
  );
});

describe('a key with several scopes at once', () => {
  it.each(scoped.filter(([, , { method }]) => method !== 'DELETE'))(
    'can use %s with *, and with *:read if it reads',
    async (_, needed, endpoint) => {
      const all = await call(endpoint, '*');
      expect(all.body.error?.code).not.toBe('INSUFFICIENT_SCOPE');
      const reader = await call(endpoint, '*:read');
      const isRefused = reader.body.error?.code === 'INSUFFICIENT_SCOPE';
      expect(isRefused).toBe(!needed.endsWith(':read'));
    },
  );
});

describe('deletion, which ends what the tests above use', () => {
  it.each(scoped.filter(([, , { method }]) => method === 'DELETE'))(
    'is allowed by %s with %s',
    async (_, needed, endpoint) => {
      const { status, body } = await call(endpoint, needed);
      expect(status).not.toBe(401);
      expect(body.error?.code).not.toBe('INSUFFICIENT_SCOPE');
    },
  );
});

it.each(endpoints.filter(({ projectParam, access }) => projectParam && access === 'project'))(
  'answers 404 for another project in the path of $id, with or without the scope',
  async (endpoint) => {
    const path = pathWith(endpoint, (parameter) =>
      parameter === 'projectId' ? foreign.id : undefined,
    );
    for (const scope of ['*', 'topics:read']) {
      const key = keyOf.get(scope) ?? '';
      const body = endpoint.example?.body;
      const answer = await api.request(endpoint.method, path, {
        key,
        ...(body === undefined ? {} : { body }),
      });
      expect([answer.status, answer.body.error?.code]).toEqual([404, 'PROJECT_NOT_FOUND']);
    }
  },
);

it('lists the scope of each operation in the OpenAPI document', () => {
  const document = openApiDocument(endpoints, { apiUrl: 'http://localhost', version: '0' });
  const paths = document['paths'] as Record<string, Record<string, { security: unknown }>>;
  for (const endpoint of endpoints) {
    const { security } = paths[endpoint.path]?.[endpoint.method.toLowerCase()] ?? {};
    if (endpoint.access === 'open' || endpoint.access === 'session') continue;
    const scope = scopeOf(endpoint);
    expect(security).toEqual([{ apiKey: scope === null ? [] : [scope] }, { session: [] }]);
  }
});
