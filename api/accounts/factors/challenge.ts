import { createHash, createHmac, randomBytes } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { useChallenge } from '../../../db/accounts/used-challenges.ts';
import type { Database } from '../../../db/database.ts';
import type { Services } from '../../services/services.ts';
import { cookieName, setCookie } from '../../access/session.ts';

/**
 * Challenges that a passkey signs. A challenge is stored in a signed cookie, so only this browser
 * can answer it, and no row is needed. The hash of an answered challenge is stored, so that a
 * challenge works once.
 */

const challengeSeconds = 5 * 60;

type Config = Services['config'];

/** Returns a new challenge of 32 bytes in base64url, and its cookie. */
export async function newChallenge(config: Config): Promise<{ challenge: string; cookie: string }> {
  const challenge = randomBytes(32).toString('base64url');
  const token = await new SignJWT({ challenge })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime(`${challengeSeconds}s`)
    .sign(keyOf(config));
  return { challenge, cookie: cookieText(token, challengeSeconds, config) };
}

/**
 * Returns the challenge of a request and marks it as used, for all API processes. Returns null when
 * the request has no challenge, or the challenge is too old or was used before.
 */
export async function answeredChallenge(
  db: Database,
  cookie: (name: string) => string | undefined,
  config: Config,
): Promise<string | null> {
  const verified = await jwtVerify(cookie(nameOf(config)) ?? '', keyOf(config), {
    algorithms: ['HS256'],
    requiredClaims: ['exp'],
  }).catch(() => null);
  const { challenge } = verified?.payload ?? {};
  if (typeof challenge !== 'string') return null;
  const hash = createHash('sha256').update(challenge).digest();
  return (await useChallenge(db, hash, challengeSeconds)) ? challenge : null;
}

/** Returns the `Set-Cookie` value that deletes the challenge. */
export const forgetChallenge = (config: Config): string => cookieText('', 0, config);

function nameOf({ apiUrl }: Config): string {
  return cookieName('everpost_passkey', apiUrl);
}

function cookieText(value: string, maxAge: number, config: Config): string {
  return setCookie(nameOf(config), value, maxAge, config.apiUrl);
}

function keyOf({ jwtSecret }: Config): Uint8Array {
  return createHmac('sha256', jwtSecret).update('passkey challenge').digest();
}
