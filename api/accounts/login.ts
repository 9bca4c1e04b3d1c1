import { createHash } from 'node:crypto';
import { z } from 'zod';
import { findUserByEmail, insertUser, updateSessionVersion, type UserRow } from '../../db/users.ts';
import { Problem } from '../../domain/errors.ts';
import { answer, endpoint } from '../endpoint.ts';
import { verifyAddress } from '../public/verify.ts';
import { Email } from '../schemas.ts';
import { endSession, startSession } from '../session.ts';
import { recordVerification } from './mail.ts';
import { GivenPassword, hashPassword, NewPassword, verifyPassword } from './passwords.ts';
import { transact } from '../../db/transaction.ts';

const Account = z.object({ id: z.uuid(), email: z.string() });
const account = { id: 'f0000000-0000-4000-8000-000000000001', email: 'ada@shop.example' };

const signUp = endpoint({
  id: 'signUp',
  method: 'POST',
  path: '/auth/signup',
  tag: 'Accounts',
  summary: 'Make an account and log in',
  access: 'open',
  limit: 'auth',
  wrapped: true,
  body: z.object({ email: Email, password: NewPassword }),
  response: Account,
  problems: ['SIGNUPS_DISABLED', 'EMAIL_TAKEN', 'INVALID_EMAIL', 'SERVICE_UNAVAILABLE'],
  example: {
    body: { email: account.email, password: 'correct horse battery' },
    response: { success: true, data: account },
  },
  async handle({ db, config, dispatcher, dns, domainLists, request, body, note }) {
    if (!config.signupsEnabled) throw new Problem('SIGNUPS_DISABLED');
    if (await findUserByEmail(db, body.email)) throw new Problem('EMAIL_TAKEN');
    if (config.verifyEmailOnSignup) {
      const { valid, isDisposable } = await verifyAddress({ dns, domainLists }, body.email);
      if (!valid || isDisposable) throw new Problem('INVALID_EMAIL');
    }
    const passwordHash = await hashPassword(body.password);
    const { user, runs } = await transact(db, async (tx) => {
      const made = await insertUser(tx, {
        email: body.email,
        passwordHash,
        // Where nothing can send the mail that would ask, the address counts as verified.
        emailVerified: config.platformFrom === null,
      });
      if (!made) throw new Problem('EMAIL_TAKEN');
      await note({ event: 'account.created', userId: made.id, details: { by: 'PASSWORD' } }, tx);
      return { user: made, runs: await recordVerification(tx, config, made, 'sign_up') };
    });
    dispatcher.dispatch({ runs: runs ?? [] });
    return loggedIn({ db, config, request }, user);
  },
});

const logIn = endpoint({
  id: 'logIn',
  method: 'POST',
  path: '/auth/login',
  tag: 'Accounts',
  summary: 'Log in',
  access: 'open',
  limit: 'auth',
  wrapped: true,
  body: z.object({ email: Email, password: GivenPassword }),
  response: Account,
  problems: ['INVALID_CREDENTIALS'],
  example: {
    body: { email: account.email, password: 'correct horse battery' },
    response: { success: true, data: account },
  },
  async handle({ db, config, rateLimits, count, request, body, note, noteRefusal }) {
    // Counted before the password is looked at and forgotten on success: so not even guesses
    // sent all at once get more than their number. The counter need not know the address itself.
    const counter = createHash('sha256').update(body.email).digest('hex');
    await count('failedLogin', counter);
    const user = await findUserByEmail(db, body.email);
    const isRight = await verifyPassword(user?.password_hash ?? null, body.password);
    if (!user || !isRight) {
      noteRefusal({ event: 'login.refused', userId: user?.id ?? null });
      throw new Problem('INVALID_CREDENTIALS');
    }
    await rateLimits.forget('failedLogin', counter);
    const answered = await loggedIn({ db, config, request }, user);
    await note({ event: 'login.succeeded', userId: user.id, details: { by: user.type } });
    return answered;
  },
});

const logOut = endpoint({
  id: 'logOut',
  method: 'GET',
  path: '/auth/logout',
  tag: 'Accounts',
  summary: 'End all sessions of the user',
  access: 'open',
  response: z.literal(true),
  problems: ['ORIGIN_NOT_ALLOWED'],
  example: { response: true },
  async handle({ db, config, findSessionUser, note }) {
    const user = await findSessionUser();
    if (user) {
      await transact(db, async (tx) => {
        await updateSessionVersion(tx, user.userId);
        await note({ event: 'logout', userId: user.userId }, tx);
      });
    }
    return answer(true as const, { headers: { 'Set-Cookie': endSession(config) } });
  },
});

export const loginEndpoints = [signUp, logIn, logOut];

/** The answer that starts a session. */
async function loggedIn(call: Parameters<typeof startSession>[0], user: UserRow) {
  const cookie = await startSession(call, user);
  return answer({ id: user.id, email: user.email }, { headers: { 'Set-Cookie': cookie } });
}
