import { z } from 'zod';
import { findUserByEmail, insertUser, updateSessionVersion } from '../../db/accounts/users.ts';
import { Problem } from '../../domain/errors.ts';
import { answer, endpoint } from '../http/endpoint.ts';
import { verifyAddress } from '../public/verify.ts';
import { exampleOf } from '../http/record.ts';
import { Email } from '../http/schemas.ts';
import { endSession, startSession } from '../access/session.ts';
import { countLogin, forgetLogin } from './login-limits.ts';
import { recordVerification } from './mail.ts';
import { passwordProblems, passwordsOff, refusePasswordOf } from '../access/sign-in-ways.ts';
import { GivenPassword, NewPassword, hashPassword, verifyPassword } from './passwords.ts';
import { Account, finishSignIn, SecondFactorPending } from './sign-in.ts';
import { transact } from '../../db/database.ts';

const account = exampleOf(Account);

const signUp = endpoint({
  id: 'signUp',
  method: 'POST',
  path: '/auth/signup',
  summary: 'Create an account and log in',
  description:
    'Sets the session cookie. If the server sends account mail, the address must be verified ' +
    'before projects can be used. EMAIL_TAKEN: the address has an account. INVALID_EMAIL: ' +
    'the address accepts no mail or is disposable, if the server checks that. ' +
    'SIGNUPS_DISABLED: the server accepts no new accounts.',
  access: 'open',
  limit: 'auth',
  wrapped: true,
  unavailable: passwordsOff,
  refuseFirst: refusePasswordOf,
  body: z.object({ email: Email, password: NewPassword }),
  response: Account,
  problems: [
    'SIGNUPS_DISABLED',
    'EMAIL_TAKEN',
    'INVALID_EMAIL',
    'SERVICE_UNAVAILABLE',
    ...passwordProblems,
  ],
  example: { body: { email: account.email, password: 'correct horse battery' }, response: account },
  async handle({ db, config, dns, domainLists, request, body, note }) {
    if (!config.signupsEnabled) throw new Problem('SIGNUPS_DISABLED');
    if (await findUserByEmail(db, body.email)) throw new Problem('EMAIL_TAKEN');
    if (config.verifyEmailOnSignup) {
      const { valid, isDisposable } = await verifyAddress({ dns, domainLists }, body.email);
      if (!valid || isDisposable) throw new Problem('INVALID_EMAIL');
    }
    const passwordHash = await hashPassword(body.password);
    const user = await transact(db, async (tx) => {
      const made = await insertUser(tx, {
        email: body.email,
        passwordHash,
        // Without verification mail, addresses count as verified.
        emailVerified: config.platformFrom === null,
      });
      if (!made) throw new Problem('EMAIL_TAKEN');
      await note({ event: 'account.created', userId: made.id, details: { by: 'PASSWORD' } }, tx);
      await recordVerification(tx, config, made, 'sign_up');
      return made;
    });
    const cookie = await startSession({ db, config, request }, user, { method: 'password' });
    return answer({ id: user.id, email: user.email }, { headers: { 'Set-Cookie': cookie } });
  },
});

const logIn = endpoint({
  id: 'logIn',
  method: 'POST',
  path: '/auth/login',
  summary: 'Log in',
  description:
    'Sets the session cookie. INVALID_CREDENTIALS does not reveal if the account exists. ' +
    'SECOND_FACTOR_PENDING: the password was right and the account has a second factor; ' +
    '`details.methods` lists the proofs for POST /auth/second-factor. ' +
    'RATE_LIMIT_EXCEEDED: too many wrong passwords; `details.retryAfter` is in seconds.',
  access: 'open',
  limit: 'auth',
  wrapped: true,
  unavailable: passwordsOff,
  refuseFirst: refusePasswordOf,
  body: z.object({ email: Email, password: GivenPassword }),
  response: Account,
  problems: ['INVALID_CREDENTIALS', 'SECOND_FACTOR_PENDING', ...passwordProblems],
  example: { body: { email: account.email, password: 'correct horse battery' }, response: account },
  async handle(call) {
    const { db, body, noteRefusal } = call;
    const counters = await countLogin(call, body.email);
    const user = await findUserByEmail(db, body.email);
    const isRight = await verifyPassword(user?.password_hash ?? null, body.password);
    if (!user || !isRight) {
      noteRefusal({ event: 'login.refused', userId: user?.id ?? null });
      throw new Problem('INVALID_CREDENTIALS');
    }
    const result = await finishSignIn(call, user, { method: 'password' });
    // The login stays counted until the second factor is proved, so that guesses of codes are
    // limited, too.
    if (result.kind === 'pending') throw new SecondFactorPending(result);
    await forgetLogin(call, counters);
    return answer(
      { id: user.id, email: user.email },
      { headers: { 'Set-Cookie': result.cookies } },
    );
  },
});

const logOut = endpoint({
  id: 'logOut',
  method: 'GET',
  path: '/auth/logout',
  summary: 'End all sessions of the user',
  description: 'Clears the session cookie. Returns the same without a session.',
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
