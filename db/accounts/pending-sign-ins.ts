import { sql } from 'kysely';
import type { Database } from '../database.ts';
import type { SignIn } from './sessions.ts';

/** Sign-ins whose first factor is proved and whose second factor is still missing. */

/** Minutes after which a pending sign-in expires. */
const pendingMinutes = 5;
/** Maximum number of attempts to prove the second factor of one sign-in. */
const triesMax = 5;
/** Maximum number of pending sign-ins of one user. A further one deletes the oldest. */
const pendingMax = 20;

export interface PendingSignIn {
  userId: string;
  version: number;
  signIn: Omit<SignIn, 'secondFactor'> & { seconds: number };
}

export async function insertPending(
  db: Database,
  hash: Buffer,
  { userId, version, signIn }: PendingSignIn,
): Promise<void> {
  const { method, seconds, provider = null } = signIn;
  const { issuer = null, subject = null, providerSid = null } = signIn;
  await sql`
    with older as (
      delete from pending_sign_in where token_hash in (
        select token_hash from pending_sign_in where user_id = ${userId}
          order by expires_at desc offset ${pendingMax - 1})
    )
    insert into pending_sign_in (token_hash, user_id, version, method, provider, issuer, subject,
        provider_sid, seconds, expires_at)
      values (${hash}, ${userId}, ${version}, ${method}, ${provider}, ${issuer}, ${subject},
        ${providerSid}, ${seconds}, now() + make_interval(mins => ${pendingMinutes}))`.execute(db);
}

const isValid = sql<boolean>`expires_at > now() and version =
  (select inner_user.session_version from app_user inner_user
    where inner_user.id = pending_sign_in.user_id)`;

/** Returns the user of a pending sign-in that is not expired, used or out of attempts. */
export async function findPendingUser(db: Database, hash: Buffer): Promise<string | undefined> {
  const { rows } = await sql<{ userId: string }>`
    select user_id as "userId" from pending_sign_in
      where token_hash = ${hash} and tries < ${triesMax} and ${isValid}`.execute(db);
  return rows[0]?.userId;
}

/**
 * Counts an attempt before the second factor is checked, so that concurrent requests cannot exceed
 * the maximum. Returns undefined when the sign-in is expired, used or out of attempts.
 */
export async function takeTry(
  db: Database,
  hash: Buffer,
): Promise<PendingSignIn['signIn'] | undefined> {
  const { rows } = await sql<PendingSignIn['signIn']>`
    update pending_sign_in set tries = tries + 1
      where token_hash = ${hash} and tries < ${triesMax} and ${isValid}
      returning method, provider, issuer, subject, provider_sid as "providerSid", seconds`.execute(
    db,
  );
  return rows[0];
}

/** Deletes a pending sign-in that is completed. Of several concurrent callers, one gets true. */
export async function deletePending(tx: Database, hash: Buffer): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('pending_sign_in')
    .where('token_hash', '=', hash)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}
