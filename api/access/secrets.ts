import { z } from 'zod';
import { deleteSecret, listSecrets, recordSecret } from '../../db/projects/secrets.ts';
import { notFound, Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { secretName } from '../../domain/workflow/webhook-secrets.ts';
import { endpoint } from '../http/endpoint.ts';
import { named, Time, time } from '../http/schemas.ts';

/** Credentials for the receivers of webhooks: the API stores them and never returns them. */

const tag = 'Secrets';

const SecretByName = z.object({
  name: z
    .string()
    .regex(secretName, 'A capital letter, then at most 63 capital letters, digits or _.'),
});

const Secret = named('Secret', {
  name: z.string(),
  updatedAt: Time,
  usedIn: z
    .array(
      z.union([
        z.object({ workflowId: z.uuid(), stepId: z.uuid() }),
        z.object({ subscriptionId: z.uuid() }),
      ]),
    )
    .describe('The steps and event subscriptions that name it'),
});

const getSecrets = endpoint({
  id: 'listSecrets',
  method: 'GET',
  path: '/secrets',
  tag,
  summary: 'List the secrets for webhooks by name; their values are never answered',
  description:
    '`usedIn` names the steps and event subscriptions that use each. The values are never shown.',
  access: 'secret',
  response: z.array(Secret),
  example: {
    response: [
      {
        name: 'CRM_TOKEN',
        updatedAt: '2026-11-20T10:00:00.000Z',
        usedIn: [
          {
            workflowId: 'bb000000-0000-4000-8000-000000000001',
            stepId: 'aa000000-0000-4000-8000-000000000002',
          },
        ],
      },
    ],
  },
  async handle({ db, caller }) {
    const secrets = await listSecrets(db, caller.projectId);
    return secrets.map((secret) => ({ ...secret, updatedAt: time(secret.updatedAt) }));
  },
});

const putSecret = endpoint({
  id: 'setSecret',
  method: 'PUT',
  path: '/secrets/{name}',
  tag,
  summary: 'Set a secret: WEBHOOK steps name it as {{secret.NAME}} in url, headers and body',
  description:
    'Takes 1 to 4,096 characters and replaces a secret of this name. SECRET_LIMIT: a project ' +
    'has at most 50.',
  access: 'secret',
  role: 'ADMIN',
  status: 204,
  params: SecretByName,
  body: z.object({ value: z.string().min(1).max(limits.secretChars) }),
  response: z.void(),
  problems: ['SECRET_LIMIT'],
  example: { body: { value: 'tok_4f9a8c' } },
  async handle({ db, caller, params, body, cipher, note }) {
    const { projectId } = caller;
    const secret = { name: params.name, value: cipher.encrypt(body.value) };
    if (!(await recordSecret(db, projectId, secret))) {
      throw new Problem('SECRET_LIMIT', { details: { limit: limits.secrets } });
    }
    await note({ event: 'secret.set', projectId, details: { name: params.name } });
  },
});

const removeSecret = endpoint({
  id: 'deleteSecret',
  method: 'DELETE',
  path: '/secrets/{name}',
  tag,
  summary: 'Remove a secret that nothing names',
  description:
    'SECRET_IN_USE: `details.usedIn` lists the steps and event subscriptions that name it.',
  access: 'secret',
  role: 'ADMIN',
  status: 204,
  params: SecretByName,
  response: z.void(),
  problems: ['SECRET_NOT_FOUND', 'SECRET_IN_USE'],
  async handle({ db, caller, params: { name }, note }) {
    const { projectId } = caller;
    const usedIn = await deleteSecret(db, projectId, name);
    if (usedIn === null) throw notFound('SECRET', name);
    if (usedIn.length > 0) throw new Problem('SECRET_IN_USE', { details: { usedIn } });
    await note({ event: 'secret.deleted', projectId, details: { name } });
  },
});

export const secretEndpoints = [getSecrets, putSecret, removeSecret];
