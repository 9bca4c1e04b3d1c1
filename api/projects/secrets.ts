import { z } from 'zod';
import { transact } from '../../db/database.ts';
import { deleteSecret, listSecrets, recordSecret } from '../../db/projects/secrets.ts';
import { notFound, Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { normaliseHost } from '../../domain/secrets/hosts.ts';
import { secretName } from '../../domain/secrets/in-templates.ts';
import { endpoint } from '../http/endpoint.ts';
import { listed, More } from '../http/uses.ts';
import { named, textRead, Time, time } from '../http/schemas.ts';

/** Credentials for receivers of webhooks. The API stores them and never returns them. */

const SecretByName = z.object({
  name: z
    .string()
    .regex(
      secretName,
      'Must be 1 to 64 of the characters A-Z, 0-9 and _, and begin with a letter.',
    ),
});

const Secret = named('Secret', {
  name: z.string(),
  updatedAt: Time,
  usedIn: z
    .array(
      z.union([
        named('SecretOfStep', { workflowId: z.uuid(), stepId: z.uuid() }),
        named('SecretOfSubscription', { subscriptionId: z.uuid() }),
      ]),
    )
    .describe('The steps and event subscriptions that use it'),
  more: More,
  hosts: z.array(z.string()).optional().describe('If set, it is only sent to these hosts'),
});

const Host = textRead(
  normaliseHost,
  'invalid_string',
  'Must be a host name or `*.<domain>`, optionally with `:<port>`.',
);

const Hosts = z
  .array(Host)
  .min(1)
  .max(limits.secretHosts)
  .transform((hosts) => [...new Set(hosts)])
  .nullable()
  .describe('It is sent only to these hosts; null: to any. Left out: unchanged')
  .meta({ examples: [['api.crm.example', '*.hooks.example:8443']] });

const getSecrets = endpoint({
  id: 'listSecrets',
  method: 'GET',
  path: '/secrets',
  summary: 'List the secrets for webhooks by name; their values are never returned',
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
    return secrets.map(({ hosts, updatedAt, usedIn, ...secret }) => ({
      ...secret,
      ...listed({ usedIn }),
      updatedAt: time(updatedAt),
      ...(hosts && { hosts }),
    }));
  },
});

const putSecret = endpoint({
  id: 'setSecret',
  method: 'PUT',
  path: '/secrets/{name}',
  summary: 'Set a secret; WEBHOOK steps use it as {{secret.NAME}} in url, headers and body',
  description:
    'Takes 1 to 4,096 characters and replaces a secret of this name. With `hosts` only ' +
    'requests to these hosts may contain it. A step or event subscription with another host ' +
    'is refused, and so is a request if its variables result in another host. ' +
    'SECRET_LIMIT: a project has at most 50.',
  access: 'secret',
  role: 'ADMIN',
  status: 204,
  params: SecretByName,
  body: z.object({
    value: z.string().min(1).max(limits.secretChars),
    hosts: Hosts.optional(),
  }),
  response: z.void(),
  problems: ['SECRET_LIMIT'],
  example: { body: { value: 'tok_4f9a8c', hosts: ['api.crm.example'] } },
  async handle({ db, caller, params, body, cipher, note }) {
    const { projectId } = caller;
    const { name } = params;
    const { value, hosts } = body;
    const bound = hosts === undefined ? {} : { hosts };
    const secret = { name, value: cipher.encrypt(value), ...bound };
    const target = { type: 'secret', id: name };
    const details = hosts === undefined ? { name } : { name, hosts: hosts?.join(', ') ?? 'any' };
    await transact(db, async (tx) => {
      if (!(await recordSecret(tx, projectId, secret))) {
        const message = `The project already has ${limits.secrets} secrets, which is the maximum.`;
        throw new Problem('SECRET_LIMIT', { message, details: { limit: limits.secrets } });
      }
      await note({ event: 'secret.set', projectId, target, details }, tx);
    });
  },
});

const removeSecret = endpoint({
  id: 'deleteSecret',
  method: 'DELETE',
  path: '/secrets/{name}',
  summary: 'Remove an unused secret',
  description:
    'SECRET_IN_USE: `details.usedIn` lists the steps and event subscriptions that use it.',
  access: 'secret',
  role: 'ADMIN',
  status: 204,
  params: SecretByName,
  response: z.void(),
  problems: ['SECRET_NOT_FOUND', 'SECRET_IN_USE'],
  async handle({ db, caller, params: { name }, note }) {
    const { projectId } = caller;
    await transact(db, async (tx) => {
      const usedIn = await deleteSecret(tx, projectId, name);
      if (usedIn === null) throw notFound('SECRET', name);
      if (usedIn.length > 0) throw new Problem('SECRET_IN_USE', { details: listed({ usedIn }) });
      const target = { type: 'secret', id: name };
      await note({ event: 'secret.deleted', projectId, target, details: { name } }, tx);
    });
  },
});

export const secretEndpoints = [getSecrets, putSecret, removeSecret];
