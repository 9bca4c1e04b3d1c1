import { findApiKey } from '../../db/projects/api-keys.ts';
import { findProject } from '../../db/projects/projects.ts';
import { found, notFound } from '../../domain/errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { ApiKey, apiKey, presentKeys, presentPair } from './record.ts';

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
    const [record] = await presentKeys(db, project.publicId, [row]);
    return found('API_KEY', key.id, record);
  },
});

export const keyEndpoints = [getMyKey];
