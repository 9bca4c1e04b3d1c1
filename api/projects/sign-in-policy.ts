import { z } from 'zod';
import { transact } from '../../db/database.ts';
import {
  readSignInPolicy,
  type SignInPolicy as StoredPolicy,
  updateSignInPolicy,
} from '../../db/projects/sign-in-policy.ts';
import { found } from '../../domain/errors.ts';
import { lackingFactor } from '../access/auth.ts';
import { endpoint } from '../http/endpoint.ts';
import { ById, named, Time, time } from '../http/schemas.ts';

/** The demands of a project on the sign-in of its members. */

const SignInPolicy = named('SignInPolicy', {
  requireSecondFactor: z
    .boolean()
    .describe('True: sessions without a second factor reach nothing of the project'),
  updatedAt: Time.nullable().describe('null: it was never set'),
});

const example = { requireSecondFactor: true, updatedAt: '2026-11-25T08:00:00.000Z' };

const presentPolicy = ({ requireSecondFactor, updatedAt }: StoredPolicy) => ({
  requireSecondFactor,
  updatedAt: updatedAt && time(updatedAt),
});

const getSignInPolicy = endpoint({
  id: 'getSignInPolicy',
  method: 'GET',
  path: '/users/@me/projects/{id}/sign-in-policy',
  summary: 'Get what a project demands of the sign-in of its members',
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
  summary: 'Set what a project demands of the sign-in of its members',
  description:
    'Only the OWNER can. With `requireSecondFactor`, every session without a second factor ' +
    'gets SECOND_FACTOR_REQUIRED at once, with `details.enrolled`: true if its user has one. API ' +
    'keys work as before. SECOND_FACTOR_REQUIRED here: your own session has none.',
  access: 'session',
  projectParam: 'id',
  role: 'OWNER',
  fresh: true,
  params: ById,
  body: z.object({ requireSecondFactor: z.boolean() }),
  response: SignInPolicy,
  problems: ['SECOND_FACTOR_REQUIRED'],
  example: { body: { requireSecondFactor: true }, response: example },
  async handle({ db, caller, params: { id }, body, note }) {
    if (body.requireSecondFactor && caller.secondFactor === null) throw lackingFactor(caller);
    return transact(db, async (tx) => {
      const row = found('PROJECT', id, await updateSignInPolicy(tx, id, body));
      const details = { requireSecondFactor: String(body.requireSecondFactor) };
      await note({ event: 'project.policy_changed', projectId: id, details }, tx);
      return presentPolicy(row);
    });
  },
});

export const signInPolicyEndpoints = [getSignInPolicy, setSignInPolicy];
