/**
 * Scopes: the rights of a named key. The scope of an endpoint follows from its declaration. A GET
 * needs `<resource>:read`, any other method `<resource>:write`; the resource is the first word of
 * the path. The tables below list every exception.
 */

/** The scopes that a key can have, besides `*` and `*:read`. */
export const scopes = [
  'analytics:read',
  'audit:read',
  'campaigns:read',
  'campaigns:send',
  'campaigns:write',
  'contacts:read',
  'contacts:write',
  'domains:read',
  'domains:write',
  'emails:read',
  'emails:send',
  'emails:write',
  'events:read',
  'events:send',
  'events:write',
  'executions:read',
  'executions:write',
  'files:read',
  'files:write',
  'keys:read',
  'keys:write',
  'members:read',
  'members:write',
  'policies:read',
  'policies:write',
  'privacy:read',
  'privacy:write',
  'project:read',
  'providers:read',
  'providers:write',
  'requests:read',
  'secrets:read',
  'secrets:write',
  'segments:read',
  'segments:write',
  'subscriptions:read',
  'subscriptions:write',
  'suppression:read',
  'suppression:write',
  'templates:read',
  'templates:write',
  'topics:read',
  'topics:write',
  'uploads:read',
  'uploads:write',
  'verify:read',
  'workflows:read',
  'workflows:write',
] as const;

/** Resources whose name is not the first word of their paths. The first matching prefix counts. */
const resources: readonly (readonly [beginning: string, resource: string])[] = [
  ['/activity', 'analytics'],
  ['/api-keys', 'keys'],
  ['/apply', 'files'],
  ['/consent-policy', 'policies'],
  ['/delivery', 'analytics'],
  ['/erasures', 'privacy'],
  ['/event-subscriptions', 'subscriptions'],
  ['/holdout', 'policies'],
  ['/imports', 'contacts'],
  ['/link-policy', 'policies'],
  ['/plan', 'files'],
  ['/plans', 'files'],
  ['/projects/{id}/members', 'members'],
  ['/projects', 'project'],
  ['/ramps', 'providers'],
  ['/routing', 'providers'],
  ['/security-events', 'audit'],
  ['/send-policy', 'policies'],
  ['/suppression-list', 'suppression'],
  ['/workflows/{id}/executions', 'executions'],
  ['/workflows/{id}/jobs', 'executions'],
];

/**
 * Scopes of endpoints that do not follow from method and path: the endpoints send at once, read by
 * POST, or have no resource in their path. null: no scope is needed.
 */
const exceptions: Readonly<Record<string, string | null>> = {
  // Every secret key can read itself.
  'GET /api-keys/@me': null,
  'GET /contacts/{id}/export': 'privacy:read',
  'POST /campaigns/audience': 'campaigns:read',
  'POST /campaigns/{id}/experiment/decide': 'campaigns:send',
  'POST /campaigns/{id}/resume': 'campaigns:send',
  'POST /campaigns/{id}/send': 'campaigns:send',
  'POST /campaigns/{id}/test': 'campaigns:send',
  'POST /contacts/export': 'contacts:read',
  'POST /contacts/lookup': 'contacts:read',
  'POST /contacts/query': 'contacts:read',
  'POST /contacts/{id}/erase': 'privacy:write',
  'POST /events/track': 'events:send',
  'POST /templates/preview': 'templates:read',
  'POST /templates/test': 'emails:send',
  'POST /templates/{id}/preview': 'templates:read',
  'POST /v1/send': 'emails:send',
  'POST /v1/send/batch': 'emails:send',
  'POST /v1/track': 'events:send',
  'POST /v1/verify': 'verify:read',
  'POST /workflows/check': 'workflows:read',
  'POST /workflows/{id}/dry-run': 'workflows:read',
  'POST /workflows/{id}/migrate': 'executions:write',
  'POST /workflows/{id}/simulate': 'workflows:read',
  'POST /workflows/{id}/steps/{stepId}/move-waits': 'executions:write',
};

export interface Operation {
  access: string;
  method: string;
  path: string;
}

/** Returns the scope that an endpoint needs; null: it needs none, or accepts no keys. */
export function scopeOf({ access, method, path }: Operation): string | null {
  if (access === 'open' || access === 'session') return null;
  const exception = exceptions[`${method} ${path}`];
  if (exception !== undefined) return exception;
  const [, word = ''] = path.split('/');
  const listed = resources.find(([beginning]) => `${path}/`.startsWith(`${beginning}/`));
  const resource = listed ? listed[1] : word;
  return `${resource}:${method === 'GET' ? 'read' : 'write'}`;
}

/** Returns true if the granted scopes include `scope`, by its name or by `*` or `*:read`. */
export function hasScope(granted: readonly string[], scope: string): boolean {
  if (granted.includes('*') || granted.includes(scope)) return true;
  return scope.endsWith(':read') && granted.includes('*:read');
}
