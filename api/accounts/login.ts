import { createHash } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import { z } from 'zod';
import { findUserByEmail, insertUser, updateSessionVersion, type UserRow } from '../../db/users.ts';
import { Problem } from '../../domain/errors.ts';
import { answer, endpoint, type Services } from '../endpoint.ts';
import { Email } from '../schemas.ts';
import { endSession, startSession } from '../session.ts';

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
  body: z.object({ email: Email, password: z.string().min(8).max(256) }),
  response: Account,
  problems: ['SIGNUPS_DISABLED', 'EMAIL_TAKEN'],
  example: {
    body: { email: account.email, password: 'correct horse battery' },
    response: { success: true, data: account },
  },
  async handle({ db, config, body }) {
    if (!config.signupsEnabled) throw new Problem('SIGNUPS_DISABLED');
    const known = await findUserByEmail(db, body.email);
    const user = known
      ? undefined
      : await insertUser(db, {
          email: body.email,
          passwordHash: await hashPassword(body.password),
          // Nothing can send the mail that would ask, so the address counts as verified.
          emailVerified: true,
        });
    if (!user) throw new Problem('EMAIL_TAKEN');
    return loggedIn(user, config);
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
  body: z.object({ email: Email, password: z.string().min(1) }),
  response: Account,
  problems: ['INVALID_CREDENTIALS'],
  example: {
    body: { email: account.email, password: 'correct horse battery' },
    response: { success: true, data: account },
  },
  async handle({ db, config, rateLimits, count, body }) {
    // Counted before the password is looked at and forgotten on success: so not even guesses
    // sent all at once get more than their number. The counter need not know the address itself.
    const counter = createHash('sha256').update(body.email).digest('hex');
    await count('failedLogin', counter);
    const user = await findUserByEmail(db, body.email);
    const isRight = await verifyPassword(user?.password_hash ?? null, body.password);
    if (!user || !isRight) throw new Problem('INVALID_CREDENTIALS');
    await rateLimits.forget('failedLogin', counter);
    return loggedIn(user, config);
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
  async handle({ db, config, findSessionUser }) {
    const user = await findSessionUser();
    if (user) await updateSessionVersion(db, user.userId);
    return answer(true as const, { headers: { 'Set-Cookie': endSession(config) } });
  },
});

export const loginEndpoints = [signUp, logIn, logOut];

async function loggedIn(user: UserRow, config: Services['config']) {
  const session = { userId: user.id, version: user.session_version };
  return answer(
    { id: user.id, email: user.email },
    { headers: { 'Set-Cookie': await startSession(session, config) } },
  );
}

/** Argon2id with 19 MiB, 2 passes and 1 lane, the first choice of OWASP's password cheat sheet. */
const argon2 = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

function hashPassword(password: string): Promise<string> {
  return hash(password, argon2);
}

/** A password nobody has: checking against it takes as long as checking against a real one. */
const nobody = hashPassword('');

async function verifyPassword(passwordHash: string | null, password: string): Promise<boolean> {
  const matches = await verify(passwordHash ?? (await nobody), password);
  return matches && passwordHash !== null;
}
