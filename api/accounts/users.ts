import { z } from 'zod';
import { type UserRow, deleteUser, findUser, updatePassword } from '../../db/accounts/users.ts';
import { Problem } from '../../domain/errors.ts';
import { requireFresh } from '../access/auth.ts';
import { answer, endpoint } from '../http/endpoint.ts';
import { exampleOf, present } from '../http/record.ts';
import type { Services } from '../services/services.ts';
import { Time, named } from '../http/schemas.ts';
import type { SecurityLog } from '../access/security-log.ts';
import { endSession, startSession } from '../access/session.ts';
import { GivenPassword, NewPassword, hashPassword, verifyPassword } from './passwords.ts';
import { passwordProblems, passwordsOff, refuseSignInWay } from '../access/sign-in-ways.ts';
import { transact } from '../../db/database.ts';

const User = named('User', {
  id: z.uuid().meta({ examples: ['f0000000-0000-4000-8000-000000000001'] }),
  email: z.string().meta({ examples: ['ada@shop.example'] }),
  type: z.enum(['PASSWORD', 'GITHUB_OAUTH', 'GOOGLE_OAUTH', 'OIDC']),
  emailVerified: z.boolean().meta({ examples: [true] }),
  createdAt: Time,
});

const getMe = endpoint({
  id: 'getMe',
  method: 'GET',
  path: '/users/@me',
  summary: 'Get the logged-in user',
  description: '`type` is how the account logs in.',
  access: 'session',
  response: User,
  example: { response: exampleOf(User) },
  async handle({ db, caller }) {
    return present(User, await loggedInUser(db, caller.userId));
  },
});

const deleteMe = endpoint({
  id: 'deleteMe',
  method: 'DELETE',
  path: '/users/@me',
  summary: 'Delete the account of the logged-in user',
  description:
    'Clears the session cookie. CONFLICT: the user still owns projects. INVALID_CREDENTIALS: ' +
    'the password is missing or wrong. REAUTHENTICATION_REQUIRED: an account without a ' +
    'password needs a recent login.',
  access: 'session',
  body: z.object({
    password: z.string().optional().meta({ description: 'Required if the account has one' }),
  }),
  response: z.object({ success: z.literal(true), message: z.string() }),
  problems: ['INVALID_CREDENTIALS', 'REAUTHENTICATION_REQUIRED', 'CONFLICT'],
  example: {
    body: { password: 'correct horse battery' },
    response: { success: true, message: 'Your account is deleted.' },
  },
  async handle({ db, config, count, caller, body, note, noteRefusal }) {
    const user = await loggedInUser(db, caller.userId);
    if (user.type === 'PASSWORD') {
      await count('failedLogin', user.id);
      await requirePassword(user, body.password ?? '', noteRefusal);
    } else {
      requireFresh(caller);
    }
    await transact(db, async (tx) => {
      const outcome = await deleteUser(tx, user.id);
      if (outcome === 'owner') {
        throw new Problem('CONFLICT', {
          message: 'You are the owner of projects, so your account cannot be deleted.',
          suggestion: 'Delete these projects first, then repeat the request.',
        });
      }
      if (outcome === 'missing') throw new Problem('UNAUTHORIZED');
      // The event outlives the account, so it has the id in its `details`.
      await note({ event: 'account.deleted', userId: null, details: { userId: user.id } }, tx);
    });
    return answer(
      { success: true as const, message: 'Your account is deleted.' },
      { headers: { 'Set-Cookie': endSession(config) } },
    );
  },
});

const changePassword = endpoint({
  id: 'changePassword',
  method: 'POST',
  path: '/users/@me/password',
  summary: 'Change the password; ends all other sessions',
  description:
    'Sets a new session cookie. INVALID_CREDENTIALS: the current password is wrong. Wrong ' +
    'passwords count as failed logins.',
  access: 'session',
  wrapped: true,
  unavailable: passwordsOff,
  refuseFirst: ({ config, caller }) =>
    refuseSignInWay(config, caller?.kind === 'user' ? caller.email : null, 'password'),
  body: z.object({ currentPassword: GivenPassword, newPassword: NewPassword }),
  response: z.object({ message: z.string() }),
  problems: ['INVALID_CREDENTIALS', ...passwordProblems],
  example: {
    body: { currentPassword: 'correct horse battery', newPassword: 'an even longer password' },
    response: { message: 'Your password is changed.' },
  },
  async handle({ db, config, rateLimits, count, caller, request, body, note, noteRefusal }) {
    const user = await loggedInUser(db, caller.userId);
    // Counted like a failed login, so that a stolen session does not allow many guesses.
    await count('failedLogin', user.id);
    const former = await requirePassword(user, body.currentPassword, noteRefusal);
    await rateLimits.forget('failedLogin', user.id);
    const newHash = await hashPassword(body.newPassword);
    const changed = await transact(db, async (tx) => {
      const row = await updatePassword(tx, user.id, newHash, former);
      if (!row) throw new Problem('INVALID_CREDENTIALS');
      await note({ event: 'password.changed' }, tx);
      return row;
    });
    const { secondFactor } = caller;
    const signIn = { method: 'password', secondFactor } as const;
    const cookie = await startSession({ db, config, request }, changed, signIn);
    return answer({ message: 'Your password is changed.' }, { headers: { 'Set-Cookie': cookie } });
  },
});

export const userEndpoints = [getMe, deleteMe, changePassword];

async function loggedInUser(db: Services['db'], id: string): Promise<UserRow> {
  const user = await findUser(db, id);
  // The user was deleted after the session was read.
  if (!user) throw new Problem('UNAUTHORIZED');
  return user;
}

/** Returns the stored hash, if the password matches. @throws Problem INVALID_CREDENTIALS */
async function requirePassword(
  user: UserRow,
  password: string,
  noteRefusal: SecurityLog['noteRefusal'],
): Promise<string> {
  const isRight = await verifyPassword(user.password_hash, password);
  if (!isRight || user.password_hash === null) {
    noteRefusal({ event: 'password.refused' });
    throw new Problem('INVALID_CREDENTIALS');
  }
  return user.password_hash;
}
