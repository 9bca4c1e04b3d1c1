import { randomBytes } from 'node:crypto';
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { Project as ProjectRow } from '../../db/tables.ts';
import {
  type StoredKeys,
  insertProject,
  listProjects,
  lockProject,
  updateProject,
  updateProjectKeys,
  updateWebhookSecret,
} from '../../db/projects/projects.ts';
import { lockKeys, revokeKeys } from '../../db/projects/api-keys.ts';
import { listMembersAndInvited } from '../../db/accounts/members.ts';
import { found } from '../../domain/errors.ts';
import { changesBetween } from '../access/changes.ts';
import { actorOf } from '../access/caller.ts';
import { refuseDisabled, requireVerified } from '../access/auth.ts';
import { hashKey } from '../access/keys.ts';
import { endpoint } from '../http/endpoint.ts';
import { Name, fault, named, ById } from '../http/schemas.ts';
import { ListedMember, presentMembers } from './members.ts';
import { Project, presentProject, project, projectWithSecret } from './record.ts';
import { transact } from '../../db/database.ts';

const listMyProjects = endpoint({
  id: 'listMyProjects',
  method: 'GET',
  path: '/users/@me/projects',
  summary: 'List the projects of the logged-in user',
  description: 'Oldest first. Secret keys are shown by their last four characters.',
  access: 'session',
  response: z.array(Project),
  example: { response: [project] },
  async handle({ db, cipher, caller }) {
    const rows = await listProjects(db, caller.userId);
    return rows.map((row) => presentProject(row, cipher, { session: caller }));
  },
});

const createProject = endpoint({
  id: 'createProject',
  method: 'POST',
  path: '/users/@me/projects',
  summary: 'Create a project',
  description:
    'Only this response has the whole secret key. An Idempotency-Key belongs to the user ' +
    'here. PROJECT_DISABLED: a project of the user is disabled.',
  access: 'session',
  status: 201,
  showsSecret: true,
  idempotent: true,
  body: z.object({ name: Name }),
  response: Project,
  problems: ['PROJECT_DISABLED', 'EMAIL_VERIFICATION_REQUIRED'],
  example: { body: { name: 'My shop' }, response: projectWithSecret },
  async handle({ db, cipher, caller, body, note }) {
    requireVerified(caller);
    for (const { disabled_reason: disabledReason } of await listProjects(db, caller.userId)) {
      refuseDisabled({ disabledReason });
    }
    const keys = newKeys();
    const row = await transact(db, async (tx) => {
      const made = await insertProject(tx, {
        ...keys.stored,
        name: body.name,
        webhookSigningSecret: cipher.encrypt(newWebhookSecret()),
        ownerId: caller.userId,
      });
      const target = { type: 'project', id: made.public_id ?? made.id };
      await note({ event: 'project.created', projectId: made.id, target }, tx);
      return made;
    });
    return presentProject(row, cipher, { secret: keys.secret });
  },
});

const updateMyProject = endpoint({
  id: 'updateProject',
  method: 'PATCH',
  path: '/users/@me/projects/{id}',
  summary: 'Change the settings of a project',
  description:
    'Fields that are left out keep their value. `language` is like en or en-GB. Only the owner can ' +
    'set `keysMayNameAdmins`, and needs a recent login for it: true lets the secret key of the ' +
    'pair make members administrators. Named keys never can.',
  access: 'session',
  projectParam: 'id',
  role: 'ADMIN',
  rightsFor: ({ keysMayNameAdmins }) =>
    keysMayNameAdmins === undefined ? {} : { role: 'OWNER', fresh: true },
  params: ById,
  body: z.object({
    name: Name.optional(),
    tracking: z.enum(['ENABLED', 'DISABLED', 'MARKETING_ONLY']).optional(),
    language: z
      .string()
      .regex(
        /^[a-z]{2}(-[A-Z]{2})?$/,
        fault(
          'invalid_string',
          'Must be a language code, with or without a country, such as en or en-GB.',
        ),
      )
      .optional(),
    keysMayNameAdmins: z.boolean().optional(),
  }),
  response: Project,
  example: { body: { tracking: 'MARKETING_ONLY' }, response: project },
  async handle({ db, cipher, member: { projectId, role }, params, body, note }) {
    return transact(db, async (tx) => {
      const before = found('PROJECT', params.id, await lockProject(tx, projectId));
      const after = found('PROJECT', params.id, await updateProject(tx, projectId, body));
      const changes = changesBetween(settingsOf(before), settingsOf(after));
      const target = { type: 'project', id: params.id };
      await note({ event: 'project.changed', projectId, target, changes }, tx);
      return presentProject({ ...after, role }, cipher);
    });
  },
});

const regenerateKeys = endpoint({
  id: 'regenerateKeys',
  method: 'POST',
  path: '/users/@me/projects/{id}/regenerate-keys',
  summary: 'Replace both keys; the old ones stop working at once',
  description:
    'Only this response has the whole new secret key. Named keys that the old one made are ' +
    'revoked. `membersByKey` lists members and ' +
    'invited users that a secret key has added, or given another role, in the last 30 days: ' +
    'an intruder with the old key may be among them. Absent if there are none.',
  access: 'session',
  projectParam: 'id',
  role: 'ADMIN',
  fresh: true,
  params: ById,
  response: named('ProjectWithNewKeys', {
    ...Project.shape,
    membersByKey: z.array(ListedMember).optional(),
  }),
  example: { response: projectWithSecret },
  async handle({ db, cipher, member, params, note }) {
    const { projectId, role } = member;
    const keys = newKeys();
    const row = await transact(db, async (tx) => {
      const changed = await updateProjectKeys(tx, projectId, keys.stored);
      await lockKeys(tx, projectId);
      await revokeKeys(tx, projectId, 'made by the pair', actorOf(member));
      await note(
        { event: 'keys.regenerated', projectId, target: { type: 'project', id: params.id } },
        tx,
      );
      return found('PROJECT', params.id, changed);
    });
    const byKey = await listMembersAndInvited(db, projectId, { byKeyDays: 30 });
    return {
      ...presentProject({ ...row, role }, cipher, { secret: keys.secret }),
      ...(byKey.length > 0 && {
        membersByKey: await presentMembers(db, byKey),
      }),
    };
  },
});

const regenerateWebhookSecret = endpoint({
  id: 'regenerateWebhookSecret',
  method: 'POST',
  path: '/users/@me/projects/{id}/regenerate-webhook-secret',
  summary: 'Replace the secret that signs webhooks; the old one is invalid at once',
  description: 'Webhooks sent from now on are signed with the new one.',
  access: 'session',
  projectParam: 'id',
  role: 'ADMIN',
  fresh: true,
  params: ById,
  response: z.object({ webhookSigningSecret: z.string() }),
  example: { response: { webhookSigningSecret: `whsec_${'7a'.repeat(32)}` } },
  async handle({ db, cipher, member: { projectId }, params, note }) {
    const webhookSigningSecret = newWebhookSecret();
    await transact(db, async (tx) => {
      const row = await updateWebhookSecret(tx, projectId, cipher.encrypt(webhookSigningSecret));
      found('PROJECT', params.id, row);
      await note(
        {
          event: 'webhook_secret.regenerated',
          projectId,
          target: { type: 'project', id: params.id },
        },
        tx,
      );
    });
    return { webhookSigningSecret };
  },
});

export const projectEndpoints = [
  listMyProjects,
  createProject,
  updateMyProject,
  regenerateKeys,
  regenerateWebhookSecret,
];

/** Returns the settings of a project under their names in the API. */
function settingsOf({ name, tracking, language, keys_may_name_admins }: Selectable<ProjectRow>) {
  return { name, tracking, language, keysMayNameAdmins: keys_may_name_admins };
}

function newKeys(): { secret: string; stored: StoredKeys } {
  const secret = `sk_${randomHex()}`;
  return {
    secret,
    stored: {
      publicKey: `pk_${randomHex()}`,
      secretKeyHash: hashKey(secret),
      secretKeyLast4: secret.slice(-4),
    },
  };
}

/** Returns 32 random bytes as 64 lower-case hex characters. */
function randomHex(): string {
  return randomBytes(32).toString('hex');
}

function newWebhookSecret(): string {
  return `whsec_${randomHex()}`;
}
