import { z } from 'zod';
import {
  type TokenPurpose,
  findTokenOwner,
  findUser,
  findUserByEmail,
  readTokenWait,
  updateEmailVerified,
  updatePassword,
  useToken,
} from '../../db/accounts/users.ts';
import { Problem } from '../../domain/errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { Email } from '../http/schemas.ts';
import { Token, hashToken, recordPasswordReset, recordVerification } from './mail.ts';
import { NewPassword, hashPassword } from './passwords.ts';
import {
  passwordProblems,
  passwordsOff,
  refusePasswordOf,
  refuseSignInWay,
} from '../access/sign-in-ways.ts';
import { transact } from '../../db/database.ts';

const Message = z.object({ message: z.string() });
const token = '8f'.repeat(32);

const verifying: readonly TokenPurpose[] = ['sign_up', 'verify_email'];

/**
 * The link proves access to the mailbox, and the session proves knowledge of the password. Both are
 * required: otherwise an attacker could sign up with another person's address, and that person's
 * click would verify the attacker's account.
 */
const verifyEmail = endpoint({
  id: 'verifyEmail',
  method: 'POST',
  path: '/auth/verify-email',
  summary: 'Verify the address of the logged-in user with the token of a mail',
  description:
    'The user must be logged in to the account that got the mail. UNAUTHORIZED: they are ' +
    'not. INVALID_TOKEN: it is unknown, used or expired.',
  access: 'open',
  limit: 'auth',
  wrapped: true,
  body: z.object({ token: Token }),
  response: Message,
  problems: ['INVALID_TOKEN', 'UNAUTHORIZED', 'ORIGIN_NOT_ALLOWED'],
  example: { body: { token }, response: { message: 'Your address is verified.' } },
  async handle({ db, body, findSessionUser, note }) {
    const caller = await findSessionUser();
    const hash = hashToken(body.token);
    await transact(db, async (tx) => {
      const ownerId = await findTokenOwner(tx, verifying, hash);
      if (ownerId && ownerId !== caller?.userId) {
        const message =
          'You are not logged in to the account of this address. Log in to it, then open the link again.';
        throw new Problem('UNAUTHORIZED', { message });
      }
      const userId = await useToken(tx, verifying, hash);
      if (!userId) {
        const suggestion = 'Ask for a new link with POST /auth/request-verification.';
        throw new Problem('INVALID_TOKEN', { suggestion });
      }
      await updateEmailVerified(tx, userId);
      await note({ event: 'email.verified', userId }, tx);
    });
    return { message: 'Your address is verified.' };
  },
});

const requestVerification = endpoint({
  id: 'requestVerification',
  method: 'POST',
  path: '/auth/request-verification',
  summary: 'Send the mail to verify an address again, at most three times an hour',
  description:
    'RATE_LIMIT_EXCEEDED: after the third mail of an hour. Nothing is sent if the address is ' +
    'verified already.',
  access: 'session',
  wrapped: true,
  response: Message,
  example: { response: { message: 'The mail is on its way.' } },
  async handle({ db, config, caller }) {
    const user = await findUser(db, caller.userId);
    if (!user) throw new Problem('UNAUTHORIZED');
    if (user.email_verified) return { message: 'Your address is verified already.' };
    const purpose = 'verify_email';
    const recorded = await transact(db, (tx) => recordVerification(tx, config, user, purpose));
    if (!recorded) {
      const retryAfter = await readTokenWait(db, { userId: user.id, purpose });
      throw new Problem('RATE_LIMIT_EXCEEDED', { details: { retryAfter } });
    }
    return { message: 'The mail is on its way.' };
  },
});

const requestPasswordReset = endpoint({
  id: 'requestPasswordReset',
  method: 'POST',
  path: '/auth/request-password-reset',
  summary:
    'Send a mail to choose a new password; the response does not reveal whether the account exists',
  description:
    'Only accounts with a password get the mail. The response is the same for every address.',
  access: 'open',
  limit: 'auth',
  wrapped: true,
  unavailable: passwordsOff,
  refuseFirst: refusePasswordOf,
  body: z.object({ email: Email }),
  response: Message,
  problems: [...passwordProblems],
  example: {
    body: { email: 'ada@shop.example' },
    response: { message: 'If there is an account with this address, a mail is on its way.' },
  },
  async handle({ db, config, body, note }) {
    const user = await findUserByEmail(db, body.email);
    if (user?.type === 'PASSWORD') {
      await transact(db, async (tx) => {
        const recorded = await recordPasswordReset(tx, config, user);
        if (recorded) await note({ event: 'password.reset_requested', userId: user.id }, tx);
      });
    }
    return { message: 'If there is an account with this address, a mail is on its way.' };
  },
});

const resetPassword = endpoint({
  id: 'resetPassword',
  method: 'POST',
  path: '/auth/reset-password',
  summary: 'Choose a new password with the token of a mail; ends all sessions',
  description:
    'Also verifies the address, because the token came by mail. INVALID_TOKEN: it is ' +
    'unknown, used or expired. Does not log in.',
  access: 'open',
  limit: 'auth',
  wrapped: true,
  unavailable: passwordsOff,
  body: z.object({ token: Token, newPassword: NewPassword }),
  response: Message,
  problems: ['INVALID_TOKEN', ...passwordProblems],
  example: {
    body: { token, newPassword: 'correct horse battery' },
    response: { message: 'Your password is changed. Log in with the new one.' },
  },
  async handle({ db, config, body, note }) {
    const owner = await findTokenOwner(db, ['reset_password'], hashToken(body.token));
    const holder = owner === undefined ? undefined : await findUser(db, owner);
    refuseSignInWay(config, holder?.email ?? null, 'password');
    const passwordHash = await hashPassword(body.newPassword);
    await transact(db, async (tx) => {
      const userId = await useToken(tx, ['reset_password'], hashToken(body.token));
      const changed = userId && (await updatePassword(tx, userId, passwordHash));
      if (!changed) {
        const suggestion = 'Ask for a new link with POST /auth/request-password-reset.';
        throw new Problem('INVALID_TOKEN', { suggestion });
      }
      // The link came by mail, so using it also proves the address.
      await updateEmailVerified(tx, changed.id);
      await note({ event: 'password.reset', userId: changed.id }, tx);
    });
    return { message: 'Your password is changed. Log in with the new one.' };
  },
});

export const verificationEndpoints = [
  verifyEmail,
  requestVerification,
  requestPasswordReset,
  resetPassword,
];
