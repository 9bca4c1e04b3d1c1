import { sql } from 'kysely';
import type { TestApi } from './api.ts';
import { SignJWT } from 'jose';
import { keyId } from '../../providers/encryption.ts';

/** Returns the cookie of a user's session, as if the session had begun `minutes` ago. */
export async function sessionSince(api: TestApi, userId: string, minutes: number): Promise<string> {
  const { rows } = await sql<{ id: string; version: number }>`
    update session set proved_at = now() - make_interval(mins => ${minutes}::int)
      where id = (select id from session where user_id = ${userId} order by id limit 1)
      returning id, version`.execute(api.db);
  const { id: sid, version } = rows[0]!;
  const secret = api.services.config.jwtSecret;
  const value = await new SignJWT({ id: userId, sv: version, sid })
    .setProtectedHeader({ alg: 'HS256', kid: keyId(secret) })
    .setIssuedAt()
    .setExpirationTime('7d')
    .sign(new TextEncoder().encode(secret));
  return `everpost_session=${value}`;
}
