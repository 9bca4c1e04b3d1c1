import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { transact } from '../../db/database.ts';
import { insertApiKey, listApiKeys } from '../../db/projects/api-keys.ts';
import { keyFaults } from '../../domain/access/key-rules.ts';
import { Problem, whenRight } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { hashKey } from '../access/keys.ts';
import { actorOf } from '../access/caller.ts';
import { endpoint } from '../http/endpoint.ts';
import { keyFields, KeyScopes } from './input.ts';
import { lockMaker, refuseExcess } from './maker.ts';
import { ApiKey, apiKeyWithValue, presentKey } from './record.ts';

/** Returns a new random key, and the columns that store it. */
export function newValue(kind: string) {
  const value = `${kind === 'public' ? 'pk' : 'sk'}_${randomBytes(32).toString('hex')}`;
  return { value, stored: { key_hash: hashKey(value), key_last4: value.slice(-4) } };
}

const NewKey = z
  .object({
    name: keyFields.name,
    kind: z.enum(['secret', 'public']).default('secret'),
    scopes: KeyScopes.optional().describe('Required for a secret key'),
    domains: keyFields.domains.default(null),
    cidrs: keyFields.cidrs.default(null),
    events: keyFields.events.default(null),
    expiresAt: keyFields.expiresAt.default(null),
  })
  .superRefine(
    ({ kind, scopes, domains, events }, context) => {
      const faults = keyFaults(kind, { scopes, domains, events });
      for (const { field, message, code, received } of faults) {
        context.addIssue({ code: 'custom', path: [field], message, params: { code, received } });
      }
    },
    whenRight('kind', 'scopes', 'domains', 'events'),
  );

export const createKey = endpoint({
  id: 'createApiKey',
  method: 'POST',
  path: '/api-keys',
  summary: 'Create a named key; only this response has its whole value',
  description:
    'A key has only the scopes that it was given; the reference names the scope of each ' +
    'endpoint. `write` does not include `read`. `*` stands for all scopes, `*:read` for all that ' +
    'read. A public key only tracks events. A key with `domains` can only have the scopes ' +
    '`emails:send`, `emails:write`, `verify:read` and those that read. A key cannot make a key with more ' +
    'rights than its own. API_KEY_LIMIT: the project has 50 keys that are not revoked.',
  access: 'secret',
  role: 'ADMIN',
  fresh: true,
  showsSecret: true,
  status: 201,
  body: NewKey,
  response: ApiKey,
  problems: ['API_KEY_LIMIT'],
  example: {
    body: {
      name: 'Shop backend',
      scopes: ['emails:send', 'contacts:write'],
      cidrs: ['203.0.113.0/24'],
      expiresAt: '2027-11-25T00:00:00.000Z',
    },
    response: apiKeyWithValue,
  },
  async handle({ db, caller, request, body, keyUse, note }) {
    const { projectId, project } = caller;
    const rights = { ...body, scopes: body.scopes ?? ['events:send'] };
    const { value, stored } = newValue(body.kind);
    return transact(db, async (tx) => {
      refuseExcess(rights, await lockMaker(tx, caller, request));
      const others = await listApiKeys(tx, projectId, { isRevoked: false });
      if (others.length >= limits.apiKeys) {
        const message = `The project already has ${limits.apiKeys} API keys, which is the maximum.`;
        throw new Problem('API_KEY_LIMIT', { message, details: { limit: limits.apiKeys } });
      }
      const row = await insertApiKey(tx, {
        ...stored,
        project_id: projectId,
        name: body.name,
        kind: body.kind,
        scopes: rights.scopes,
        domains: body.domains,
        cidrs: body.cidrs,
        events: body.events,
        expires_at: body.expiresAt,
        created_by: actorOf(caller),
      });
      const target = { type: 'api_key', id: row.id };
      await note({ event: 'api_key.created', projectId, target, details: { keyId: row.id } }, tx);
      const record = { ...(await presentKey(tx, project.publicId, row)), key: value };
      await keyUse?.completeIn(tx, record);
      return record;
    });
  },
});
