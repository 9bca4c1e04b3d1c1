import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  type UserRow,
  findUserByEmail,
  insertUser,
  updateSessionVersion,
} from '../../db/accounts/users.ts';
import { Problem } from '../../domain/errors.ts';
import { type Call, answer, endpoint } from '../http/endpoint.ts';
import { networkOf } from '../services/rate-limit.ts';
import { verifyAddress } from '../public/verify.ts';
import { Email, named } from '../http/schemas.ts';
import { endSession, startSession } from '../access/session.ts';
import { recordVerification } from './mail.ts';
import { GivenPassword, NewPassword, hashPassword, verifyPassword } from './passwords.ts';
import { listLoginAddresses } from '../../db/accounts/security-events.ts';
import { transact } from '../../db/database.ts';

const Account = named('Account', { id: z.uuid(), email: z.string() });
const account = { id: 'f0000000-0000-4000-8000-000000000001', email: 'ada@shop.example' };

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
  body: z.object({ email: Email, password: NewPassword }),
  response: Account,
  problems: ['SIGNUPS_DISABLED', 'EMAIL_TAKEN', 'INVALID_EMAIL', 'SERVICE_UNAVAILABLE'],
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
        // If no verification mail can be sent, the address counts as verified.
        emailVerified: config.platformFrom === null,
      });
      if (!made) throw new Problem('EMAIL_TAKEN');
      await note({ event: 'account.created', userId: made.id, details: { by: 'PASSWORD' } }, tx);
      await recordVerification(tx, config, made, 'sign_up');
      return made;
    });
    return loggedIn({ db, config, request }, user);
  },
});

export const logIn = endpoint({
  id: 'logIn',
  method: 'POST',
  path: '/auth/login',
  summary: 'Log in',
  description:
    'Sets the session cookie. INVALID_CREDENTIALS does not reveal if the account exists. ' +
    'RATE_LIMIT_EXCEEDED: too many wrong passwords; `details.retryAfter` is in seconds.',
  access: 'open',
  limit: 'auth',
  wrapped: true,
  body: z.object({ email: Email, password: GivenPassword }),
  response: Account,
  problems: ['INVALID_CREDENTIALS'],
  example: { body: { email: account.email, password: 'correct horse battery' }, response: account },
  async handle(call) {
    const { db, rateLimits, body, note, noteRefusal } = call;
    const counters = await countLogin(call, body.email).catch((error: unknown) => {
      noteRefusal({ event: 'login.refused', details: { reason: 'rate limit' } });
      throw error;
    });
    const user = await findUserByEmail(db, body.email);
    const isRight = await verifyPassword(user?.password_hash ?? null, body.password);
    if (!user || !isRight) {
      noteRefusal({ event: 'login.refused', userId: user?.id ?? null });
      throw new Problem('INVALID_CREDENTIALS');
    }
    await rateLimits.forget('failedLogin', counters.source);
    await rateLimits.giveBack('accountLogin', counters.account);
    const answered = await loggedIn(call, user);
    await note({ event: 'login.succeeded', userId: user.id, details: { by: user.type } });
    return answered;
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

/**
 * Counts a login before the password is checked, so that concurrent guesses cannot exceed the
 * limit. After a correct password, the caller takes the count back.
 *
 * Guesses are limited per network and account. If many networks guess the password of one account,
 * networks that have never logged in to it must wait. So a guesser cannot lock out the owner, who
 * logs in from a known network, or makes the present one known by a password reset by mail.
 *
 * Addresses without an account are counted, too. The counters contain only a hash of the address.
 * @throws Problem RATE_LIMIT_EXCEEDED
 */
async function countLogin(
  {
    db,
    rateLimits,
    count,
    request,
  }: Pick<Call<'open', unknown, unknown, unknown>, 'db' | 'rateLimits' | 'count' | 'request'>,
  email: string,
): Promise<{ source: string; account: string }> {
  const account = createHash('sha256').update(email).digest('hex');
  const network = networkOf(request.ip);
  const source = `${network} ${account}`;
  await count('failedLogin', source);
  const retryAfter = await rateLimits.take('accountLogin', account);
  if (retryAfter > 0) {
    const known = await listLoginAddresses(db, email);
    if (!known.some((ip) => networkOf(ip) === network)) {
      throw new Problem('RATE_LIMIT_EXCEEDED', { details: { retryAfter } });
    }
  }
  return { source, account };
}

async function loggedIn(call: Parameters<typeof startSession>[0], user: UserRow) {
  const cookie = await startSession(call, user);
  return answer({ id: user.id, email: user.email }, { headers: { 'Set-Cookie': cookie } });
}
