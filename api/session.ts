import { type JWTPayload, SignJWT, jwtVerify } from 'jose';
import { keyId, type Secrets } from '../db/sealed.ts';
import { isUuid } from '../domain/ids.ts';

export const sessionCookie = 'everpost_session';

/** Seven days, in seconds. */
const sessionSeconds = 7 * 24 * 60 * 60;

export interface Session {
  userId: string;
  /** Equals the user's `session_version` as long as the session is valid. */
  version: number;
}

type SessionSecrets = Pick<Secrets, 'jwtSecret' | 'jwtSecretsPrevious'>;

/** The `Set-Cookie` value that starts a session. */
export async function startSession(
  session: Session,
  settings: { jwtSecret: string; apiUrl: string },
): Promise<string> {
  const token = await new SignJWT({ id: session.userId, sv: session.version })
    .setProtectedHeader({ alg: 'HS256', kid: keyId(settings.jwtSecret) })
    .setIssuedAt()
    .setExpirationTime(`${sessionSeconds}s`)
    .sign(secretBytes(settings.jwtSecret));
  return cookie(token, sessionSeconds, settings.apiUrl);
}

/** The `Set-Cookie` value that empties the cookie. */
export function endSession(settings: { apiUrl: string }): string {
  return cookie('', 0, settings.apiUrl);
}

/** The session of a cookie value, or null when it is missing, forged or expired. */
export async function readSession(
  token: string | undefined,
  secrets: SessionSecrets,
): Promise<Session | null> {
  if (!token) return null;
  const { id, sv } = (await readClaims(token, secrets)) ?? {};
  return isUuid(id) && typeof sv === 'number' ? { userId: id, version: sv } : null;
}

/** Of a token under the secret in use or one before it. Tokens older than key ids name none. */
async function readClaims(token: string, secrets: SessionSecrets): Promise<JWTPayload | null> {
  for (const secret of [secrets.jwtSecret, ...secrets.jwtSecretsPrevious]) {
    const verified = await jwtVerify(
      token,
      ({ kid }) => {
        if (kid !== undefined && kid !== keyId(secret)) throw new Error('Of another key.');
        return secretBytes(secret);
      },
      { algorithms: ['HS256'], requiredClaims: ['exp'] },
    ).catch(() => null);
    if (verified) return verified.payload;
  }
  return null;
}

function cookie(value: string, maxAge: number, apiUrl: string): string {
  const secure = apiUrl.startsWith('https:') ? '; Secure' : '';
  return `${sessionCookie}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`;
}

function secretBytes(secret: string): Uint8Array {
  return new TextEncoder().encode(secret);
}
