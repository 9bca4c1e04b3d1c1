import { z } from 'zod';
import { transact } from '../../db/database.ts';
import {
  readSignInPolicy,
  type SignInPolicy as StoredPolicy,
  updateSignInPolicy,
} from '../../db/projects/sign-in-policy.ts';
import { found, Problem, whenRight } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { admitsTo } from '../../providers/login/oidc-file.ts';
import { lackingFactor } from '../access/auth.ts';
import { changesBetween } from '../access/changes.ts';
import { endpoint } from '../http/endpoint.ts';
import { addFault, ById, named, Time, time } from '../http/schemas.ts';

/** The requirements of a project for the sign-in of its members. */

const ruleFields = {
  provider: z
    .string()
    .min(1)
    .max(40)
    .describe('The id of an identity provider that names this project in `projects`')
    .meta({ examples: ['corp'] }),
  claim: z
    .string()
    .min(1)
    .max(limits.claimChars)
    .nullable()
    .describe('A top-level claim: a text, or a list of texts; null: every user of the provider')
    .meta({ examples: ['groups'] }),
  value: z
    .string()
    .min(1)
    .max(limits.claimValueChars)
    .nullable()
    .describe('The text that the claim must be or have; null exactly if `claim` is null')
    .meta({ examples: ['everpost-admins'] }),
  role: z.enum(['ADMIN', 'MEMBER']),
};
const SignInRule = named('SignInRule', ruleFields);

const NewRule = z.object(ruleFields).superRefine(
  ({ claim, value }, context) => {
    if ((claim === null) === (value === null)) return;
    const message =
      claim === null ? 'Must be null when `claim` is null.' : 'Is required when `claim` is set.';
    addFault(context, 'custom', message, ['value']);
  },
  whenRight('claim', 'value'),
);

const SignInPolicy = named('SignInPolicy', {
  requireSecondFactor: z
    .boolean()
    .describe('True: sessions without a second factor reach nothing of the project'),
  rules: z.array(SignInRule),
  updatedAt: Time.nullable().describe('null: it was never set'),
});

const given = {
  requireSecondFactor: true,
  rules: [
    { provider: 'corp', claim: 'groups', value: 'everpost-admins', role: 'ADMIN' as const },
    { provider: 'corp', claim: null, value: null, role: 'MEMBER' as const },
  ],
};
const example = { ...given, updatedAt: '2026-11-25T08:00:00.000Z' };

const presentPolicy = ({ requireSecondFactor, rules, updatedAt }: StoredPolicy) => ({
  requireSecondFactor,
  rules,
  updatedAt: updatedAt && time(updatedAt),
});

const getSignInPolicy = endpoint({
  id: 'getSignInPolicy',
  method: 'GET',
  path: '/users/@me/projects/{id}/sign-in-policy',
  summary: 'Get the sign-in policy of a project: what its members need to sign in',
  description: 'For the roles ADMIN and OWNER.',
  access: 'session',
  projectParam: 'id',
  role: 'ADMIN',
  params: ById,
  response: SignInPolicy,
  example: { response: example },
  async handle({ db, params: { id } }) {
    return presentPolicy(found('PROJECT', id, await readSignInPolicy(db, id)));
  },
});

const setSignInPolicy = endpoint({
  id: 'setSignInPolicy',
  method: 'PUT',
  path: '/users/@me/projects/{id}/sign-in-policy',
  summary: 'Set the sign-in policy of a project: what its members need to sign in',
  description:
    'Only the OWNER can. With `requireSecondFactor`, every session without a second factor ' +
    'gets SECOND_FACTOR_REQUIRED at once, with `details.enrolled`: true if its user has one. API ' +
    'keys work as before. SECOND_FACTOR_REQUIRED here: your own session has none. `rules` make ' +
    'users of identity providers members: at each sign-in by the provider, the highest role that ' +
    'fits. If none fits any more, the membership ends. Memberships made by hand, and the owner, ' +
    'are never changed.',
  access: 'session',
  projectParam: 'id',
  role: 'OWNER',
  fresh: true,
  params: ById,
  body: z.object({
    requireSecondFactor: z.boolean().default(false),
    rules: z.array(NewRule).max(limits.signInRules).default([]),
  }),
  response: SignInPolicy,
  problems: ['SECOND_FACTOR_REQUIRED'],
  example: { body: given, response: example },
  async check({ config, member: { project }, body: { rules = [] } }) {
    const refused = rules.flatMap(({ provider }, index) => {
      const known = config.oidc.find(({ id }) => id === provider);
      if (known && admitsTo(known, project.publicId)) return [];
      const field = `rules.${index}.provider`;
      const message = known
        ? `The provider "${provider}" is not allowed for this project. Ask the operator of this server to allow it.`
        : `This server has no identity provider "${provider}". GET /auth/methods lists them.`;
      return [{ field, code: 'not_allowed' as const, message }];
    });
    if (refused.length > 0) throw new Problem('VALIDATION_ERROR', { errors: refused });
  },
  async handle({ db, caller, params: { id }, body, note }) {
    if (body.requireSecondFactor && caller.secondFactor === null) throw lackingFactor(caller);
    return transact(db, async (tx) => {
      const before = found('PROJECT', id, await readSignInPolicy(tx, id));
      const row = found('PROJECT', id, await updateSignInPolicy(tx, id, body));
      const changes = changesBetween(before, row, { fields: ['requireSecondFactor', 'rules'] });
      const details = { requireSecondFactor: String(body.requireSecondFactor) };
      await note({ event: 'project.policy_changed', projectId: id, changes, details }, tx);
      return presentPolicy(row);
    });
  },
});

export const signInPolicyEndpoints = [getSignInPolicy, setSignInPolicy];
