import { describe, expect, it } from 'vitest';
import { endpoints } from '../../../api/endpoints.ts';
import { hasScope, scopeOf, scopes } from '../../../domain/access/scopes.ts';

const needed = (method: string, path: string) => scopeOf({ access: 'secret', method, path });

describe('the scope of an endpoint', () => {
  it.each([
    ['GET', '/contacts', 'contacts:read'],
    ['DELETE', '/contacts/{id}', 'contacts:write'],
    ['POST', '/contacts/lookup', 'contacts:read'],
    ['GET', '/contacts/{id}/export', 'privacy:read'],
    ['POST', '/contacts/{id}/erase', 'privacy:write'],
    ['POST', '/v1/send', 'emails:send'],
    ['POST', '/v1/verify', 'verify:read'],
    ['POST', '/campaigns/{id}/send', 'campaigns:send'],
    ['POST', '/campaigns/{id}/cancel', 'campaigns:write'],
    ['GET', '/workflows/{id}/executions/{executionId}', 'executions:read'],
    ['POST', '/workflows/{id}/executions/cancel-all', 'executions:write'],
    ['POST', '/workflows/{id}/simulate', 'workflows:read'],
    ['GET', '/projects/{id}/members', 'members:read'],
    ['GET', '/projects/{id}/security', 'project:read'],
    ['GET', '/ramps/{id}', 'providers:read'],
    ['PUT', '/send-policy', 'policies:write'],
    ['GET', '/holdout/report', 'policies:read'],
    ['POST', '/suppression-list', 'suppression:write'],
    ['GET', '/api-keys/@me', null],
  ])('of %s %s is %s', (method, path, scope) => {
    expect(needed(method, path)).toBe(scope);
  });

  it('exists only if the endpoint takes a key', () => {
    for (const access of ['open', 'session']) {
      expect(scopeOf({ access, method: 'GET', path: '/contacts' })).toBeNull();
    }
  });

  it('is in the list of scopes, and the list has no other', () => {
    const used = new Set(endpoints.flatMap((endpoint) => scopeOf(endpoint) ?? []));
    expect([...scopes]).toEqual([...used].toSorted());
  });
});

it.each([
  [['contacts:read'], 'contacts:read', true],
  [['contacts:write'], 'contacts:read', false],
  [['campaigns:send'], 'campaigns:write', false],
  [['*:read'], 'privacy:read', true],
  [['*:read'], 'contacts:write', false],
  [['*:read', 'contacts:write'], 'contacts:write', true],
  [['*'], 'members:write', true],
  [[], 'contacts:read', false],
])('a key with %j has %s: %s', (granted, scope, has) => {
  expect(hasScope(granted, scope)).toBe(has);
});
