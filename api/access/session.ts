import { type JWTPayload, SignJWT, jwtVerify } from 'jose';
import type { Context } from 'koa';
import type { Config } from '../../config.ts';
import { keyId, type Secrets } from '../../providers/encryption.ts';
import { type Client, insertSession, type SignIn } from '../../db/accounts/sessions.ts';
import type { Database } from '../../db/database.ts';
import { Problem } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import type { Services } from '../services/services.ts';

/** Lifetime of a session after the login, in seconds: seven days. */
export const sessionSeconds = 7 * 24 * 60 * 60;
/** Maximum number of characters of the User-Agent header that are stored. */
const userAgentMax = 300;

/** The content of a session cookie. */
export interface Session {
  userId: string;
  /** Equal to the user's `session_version` while the session is valid. */
  version: number;
  /** The id of the session's row. */
  id: string;
}

/**
 * Returns the name of a cookie. With https, it has the prefix `__Host-`. Browsers then accept the
 * cookie only from this host, for all paths, and only by https (RFC 6265bis 4.1.3.2). So no other
 * host of the domain can set the cookie.
 */
export function cookieName(
  name:
    | 'everpost_session'
    | 'everpost_sign_in'
    | 'everpost_oauth'
    | 'everpost_oidc'
    | 'everpost_passkey',
  apiUrl: string,
): string {
  return apiUrl.startsWith('https:') ? `__Host-${name}` : name;
}

/** Returns a `Set-Cookie` value. `maxAge` in seconds; 0 deletes the cookie. */
export function setCookie(name: string, value: string, maxAge: number, apiUrl: string): string {
  const secure = apiUrl.startsWith('https:') ? '; Secure' : '';
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`;
}

/** The parts of a call that are needed to start a session. */
export interface Signing {
  db: Database;
  config: Services['config'];
  request: { client: Client };
}

/**
 * Starts a session for a user who has just logged in. Returns the `Set-Cookie` value of the
 * session.
 * @throws Problem INVALID_CREDENTIALS when the user was deleted, or all sessions were ended, after
 * the user's row was read.
 */
export async function startSession(
  { db, config, request }: Signing,
  user: { id: string; session_version: number },
  { seconds = sessionSeconds, ...signIn }: SignIn,
): Promise<string> {
  const version = user.session_version;
  const session = { userId: user.id, version, seconds, ...signIn, ...request.client };
  const sid = await insertSession(db, session);
  if (!sid) throw new Problem('INVALID_CREDENTIALS');
  const token = await new SignJWT({ id: user.id, sv: user.session_version, sid })
    .setProtectedHeader({ alg: 'HS256', kid: keyId(config.jwtSecret) })
    .setIssuedAt()
    .setExpirationTime(`${seconds}s`)
    .sign(secretBytes(config.jwtSecret));
  const name = cookieName('everpost_session', config.apiUrl);
  return setCookie(name, token, seconds, config.apiUrl);
}

/**
 * Returns the `Set-Cookie` values that delete the session cookie, under its names with and without
 * https.
 */
export function endSession({ apiUrl }: Pick<Config, 'apiUrl'>): string[] {
  const names = new Set([cookieName('everpost_session', apiUrl), 'everpost_session']);
  return [...names].map((name) => setCookie(name, '', 0, apiUrl));
}

type Cookies = (name: string) => string | undefined;

/** Returns true if a request has a session cookie, valid or not. */
export function hasSessionCookie(cookies: Cookies, { apiUrl }: Pick<Config, 'apiUrl'>): boolean {
  const names = [cookieName('everpost_session', apiUrl), 'everpost_session'];
  return names.some((name) => cookies(name) !== undefined);
}

/** Returns the session in a request's cookie, or null when it is missing, forged or expired. */
export async function readSession(
  cookies: Cookies,
  config: Pick<Config, 'apiUrl' | 'jwtSecret' | 'jwtSecretsPrevious'>,
): Promise<Session | null> {
  const token = cookies(cookieName('everpost_session', config.apiUrl));
  if (!token) return null;
  const { id, sv, sid } = (await readClaims(token, config)) ?? {};
  if (!isUuid(id) || typeof sv !== 'number' || !isUuid(sid)) return null;
  return { userId: id, version: sv, id: sid };
}

export function clientOf(ctx: Context): Client {
  return { ip: ctx.ip, userAgent: ctx.get('user-agent').slice(0, userAgentMax) || null };
}

type SessionSecrets = Pick<Secrets, 'jwtSecret' | 'jwtSecretsPrevious'>;

/** Verifies a token with the current or a previous secret. The token names the secret in `kid`. */
async function readClaims(token: string, secrets: SessionSecrets): Promise<JWTPayload | null> {
  for (const secret of [secrets.jwtSecret, ...secrets.jwtSecretsPrevious]) {
    const verified = await jwtVerify(
      token,
      ({ kid }) => {
        if (kid !== keyId(secret)) throw new Error('Signed with another key.');
        return secretBytes(secret);
      },
      { algorithms: ['HS256'], requiredClaims: ['exp'] },
    ).catch(() => null);
    if (verified) return verified.payload;
  }
  return null;
}

function secretBytes(secret: string): Uint8Array {
  return new TextEncoder().encode(secret);
}
