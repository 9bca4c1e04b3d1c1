import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { countRecoveryCodes, listFactors } from '../../db/accounts/factors.ts';
import { insertPending } from '../../db/accounts/pending-sign-ins.ts';
import type { SignIn } from '../../db/accounts/sessions.ts';
import type { UserRow } from '../../db/accounts/users.ts';
import { Problem } from '../../domain/errors.ts';
import type { SecurityLog } from '../access/security-log.ts';
import { named } from '../http/schemas.ts';
import {
  cookieName,
  sessionSeconds,
  setCookie,
  type Signing,
  startSession,
} from '../access/session.ts';

/** The end of every sign-in: a session, or the request for a second factor. */

/** The account that has signed in. */
export const Account = named('Account', {
  id: z.uuid().meta({ examples: ['f0000000-0000-4000-8000-000000000001'] }),
  email: z.string().meta({ examples: ['ada@shop.example'] }),
});

/** Seconds for which the cookie of a pending sign-in is valid, like its row (`pendingMinutes`). */
const pendingSeconds = 5 * 60;

export type SignInResult =
  | { kind: 'session'; cookies: string[] }
  /** `methods`: the second factors that the user can prove. */
  | { kind: 'pending'; cookies: string[]; methods: string[] };

/**
 * Completes a sign-in whose first factor was proved. A user with a second factor gets no session
 * yet, unless the sign-in has proved the second factor, too.
 * @throws Problem INVALID_CREDENTIALS, as `startSession` does
 */
export async function finishSignIn(
  call: Signing & Pick<SecurityLog, 'note'>,
  user: UserRow,
  signIn: SignIn,
): Promise<SignInResult> {
  if (!signIn.secondFactor) {
    const methods = await listProofs(call.db, user.id);
    if (methods.length > 0) {
      return { kind: 'pending', cookies: [await startPending(call, user, signIn)], methods };
    }
  }
  const cookies = [await startSession(call, user, signIn), forgetPending(call.config)];
  await noteSignIn(call, user.id, signIn);
  return { kind: 'session', cookies };
}

/** Records a successful sign-in. */
export async function noteSignIn(
  { note, db }: Signing & Pick<SecurityLog, 'note'>,
  userId: string,
  { method, provider, secondFactor }: SignIn,
): Promise<void> {
  const details = {
    method,
    ...(provider && { provider }),
    ...(secondFactor && { secondFactor }),
  };
  await note({ event: 'login.succeeded', userId, details }, db);
}

/** Lists the second factors that a user can prove: `totp`, `passkey`, `recovery`. */
async function listProofs(db: Signing['db'], userId: string): Promise<string[]> {
  const types = new Set((await listFactors(db, userId)).map(({ type }) => type));
  if (types.size === 0) return [];
  const hasCodes = (await countRecoveryCodes(db, userId)) > 0;
  const known = ['totp', 'passkey'].filter((type) => types.has(type));
  return [...known, ...(hasCodes ? ['recovery'] : [])];
}

async function startPending(
  { db, config }: Signing,
  user: UserRow,
  { seconds = sessionSeconds, ...signIn }: SignIn,
): Promise<string> {
  const token = randomBytes(32).toString('hex');
  const version = user.session_version;
  const pending = { userId: user.id, version, signIn: { ...signIn, seconds } };
  await insertPending(db, hashPending(token), pending);
  return setCookie(pendingCookie(config), token, pendingSeconds, config.apiUrl);
}

function pendingCookie({ apiUrl }: Signing['config']): string {
  return cookieName('everpost_sign_in', apiUrl);
}

export function forgetPending(config: Signing['config']): string {
  return setCookie(pendingCookie(config), '', 0, config.apiUrl);
}

/**
 * Returns the hash of the pending sign-in in a request's cookie; null: the request has no valid
 * cookie.
 */
export function readPending(
  cookie: (name: string) => string | undefined,
  config: Signing['config'],
): Buffer | null {
  const token = cookie(pendingCookie(config));
  return token !== undefined && /^[0-9a-f]{64}$/.test(token) ? hashPending(token) : null;
}

function hashPending(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** The first factor was proved, and a second factor is required. The response sets cookies. */
export class SecondFactorPending extends Problem {
  readonly cookies: readonly string[];

  constructor({ cookies, methods }: Extract<SignInResult, { kind: 'pending' }>) {
    super('SECOND_FACTOR_PENDING', { details: { methods } });
    this.cookies = cookies;
  }
}
