import { z } from 'zod';
import { transact } from '../../db/database.ts';
import { findApiKey, listApiKeys, revokeKeys } from '../../db/projects/api-keys.ts';
import { findProject } from '../../db/projects/projects.ts';
import { found, notFound } from '../../domain/errors.ts';
import { actorOf } from '../access/caller.ts';
import { endpoint } from '../http/endpoint.ts';
import { ById, queryBoolean } from '../http/schemas.ts';
import { updateKey, rotateKey } from './change.ts';
import { createKey } from './make.ts';
import { changeableKey, lockMaker } from './maker.ts';
import { ApiKey, apiKey, presentKey, presentKeys, presentPair } from './record.ts';

const getKeys = endpoint({
  id: 'listApiKeys',
  method: 'GET',
  path: '/api-keys',
  summary: 'List the named keys, newest first',
  description:
    'The two keys of the pair are not in this list. Expired keys are among those that are not ' +
    'revoked. Of the revoked ones the last 1,000 are listed.',
  access: 'secret',
  query: z.object({
    revoked: queryBoolean.default(false).describe('True: only revoked keys; false: only others'),
  }),
  response: z.array(ApiKey),
  example: { response: [apiKey] },
  async handle({ db, caller: { projectId, project }, query: { revoked } }) {
    const rows = await listApiKeys(db, projectId, { isRevoked: revoked });
    return presentKeys(db, project.publicId, rows);
  },
});

const getMyKey = endpoint({
  id: 'getMyApiKey',
  method: 'GET',
  path: '/api-keys/@me',
  summary: 'Return the secret key of the request',
  description:
    'Needs no scope. For the secret key of the pair the `id` is `secret` and the scope `*`. ' +
    'API_KEY_NOT_FOUND: the request has a session, not a key.',
  access: 'secret',
  response: ApiKey,
  problems: ['API_KEY_NOT_FOUND'],
  example: { response: apiKey },
  async handle({ db, caller: { projectId, project, userId, key } }) {
    if (userId !== null) throw notFound('API_KEY', '@me');
    if (key === null) {
      const row = found('PROJECT', project.publicId, await findProject(db, projectId));
      return presentPair(row.secret_key_last4, project.publicId);
    }
    const row = found('API_KEY', key.id, await findApiKey(db, projectId, key.id));
    return presentKey(db, project.publicId, row);
  },
});

const getKey = endpoint({
  id: 'getApiKey',
  method: 'GET',
  path: '/api-keys/{id}',
  summary: 'Get a named key, also a revoked one',
  description: 'Its value is shown by the last four characters.',
  access: 'secret',
  params: ById,
  response: ApiKey,
  problems: ['API_KEY_NOT_FOUND'],
  example: { response: apiKey },
  async handle({ db, caller: { projectId, project }, params: { id } }) {
    const row = found('API_KEY', id, await findApiKey(db, projectId, id));
    return presentKey(db, project.publicId, row);
  },
});

const removeKey = endpoint({
  id: 'revokeApiKey',
  method: 'DELETE',
  path: '/api-keys/{id}',
  summary: 'Revoke a named key for ever, and all keys that it made',
  description:
    'During a rotation, both values become invalid with the response. The keys that it made end, ' +
    'too, and so do the keys that those made. KEY_RESTRICTED: a key can only revoke itself and keys that it made.',
  access: 'secret',
  role: 'ADMIN',
  status: 204,
  params: ById,
  response: z.void(),
  problems: ['API_KEY_NOT_FOUND'],
  async handle({ db, caller, request, params: { id }, note }) {
    const { projectId } = caller;
    await transact(db, async (tx) => {
      const maker = await lockMaker(tx, caller, request);
      await changeableKey(tx, projectId, id, maker?.id === id ? null : maker);
      for (const keyId of await revokeKeys(tx, projectId, { id }, actorOf(caller))) {
        const by = keyId === id ? {} : { by: 'key' };
        const target = { type: 'api_key', id: keyId };
        await note({ event: 'api_key.revoked', projectId, target, details: { keyId, ...by } }, tx);
      }
    });
  },
});

export const keyEndpoints = [getKeys, createKey, getMyKey, getKey, updateKey, rotateKey, removeKey];
