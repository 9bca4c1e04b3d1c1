import { SignJWT } from 'jose';
import { keyId } from '../../providers/encryption.ts';
import type { TestApi } from './api.ts';

/** The cookie of a user's session, as if it had begun `minutes` ago. */
export async function sessionSince(api: TestApi, userId: string, minutes: number): Promise<string> {
  const { id: sid, version } = await api.db
    .selectFrom('session')
    .select(['id', 'version'])
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  const value = await new SignJWT({ id: userId, sv: version, sid })
    .setProtectedHeader({ alg: 'HS256', kid: keyId(api.services.config.jwtSecret) })
    .setIssuedAt(new Date(Date.now() - minutes * 60_000))
    .setExpirationTime('7d')
    .sign(new TextEncoder().encode(api.services.config.jwtSecret));
  return `everpost_session=${value}`;
}
