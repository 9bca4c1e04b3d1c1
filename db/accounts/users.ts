import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { anyOf, countRows } from '../expressions.ts';
import type { AppUser } from '../tables.ts';

export type UserRow = Selectable<AppUser>;

export async function findUser(db: Database, id: string): Promise<UserRow | undefined> {
  return db
    .selectFrom('app_user')
    .select(columnsOf('app_user'))
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Returns the email addresses of users, by user id. */
export async function listUserEmails(
  db: Database,
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('app_user')
    .select(['id', 'email'])
    .where('id', '=', anyOf(ids))
    .execute();
  return new Map(rows.map(({ id, email }) => [id, email]));
}

/** Finds a user. `email` is in its stored form: trimmed and lower case. */
export async function findUserByEmail(db: Database, email: string): Promise<UserRow | undefined> {
  return db
    .selectFrom('app_user')
    .select(columnsOf('app_user'))
    .where('email', '=', email)
    .executeTakeFirst();
}

/** The way in which an account signs in. */
export type UserType = 'PASSWORD' | 'GITHUB_OAUTH' | 'GOOGLE_OAUTH' | 'OIDC';

/** Creates an account. Returns undefined when the address has an account already. */
export async function insertUser(
  db: Database,
  user: { email: string; emailVerified: boolean } & (
    | { passwordHash: string }
    | {
        type: Exclude<UserType, 'PASSWORD'>;
        providerId: string | null;
        /** The OpenID provider whose user may take over the account at their first sign-in. */
        awaitedProvider?: string;
      }
  ),
): Promise<UserRow | undefined> {
  return db
    .insertInto('app_user')
    .values({
      email: user.email,
      email_verified: user.emailVerified,
      ...('passwordHash' in user
        ? { type: 'PASSWORD', password_hash: user.passwordHash }
        : {
            type: user.type,
            provider_id: user.providerId,
            awaited_provider: user.awaitedProvider ?? null,
          }),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(columnsOf('app_user'))
    .executeTakeFirst();
}

export async function findUserByProvider(
  db: Database,
  type: UserType,
  providerId: string,
): Promise<UserRow | undefined> {
  return db
    .selectFrom('app_user')
    .select(columnsOf('app_user'))
    .where('type', '=', type)
    .where('provider_id', '=', providerId)
    .executeTakeFirst();
}

const newSessions = { session_version: sql<number>`session_version + 1` };
const touched = { updated_at: sql<Date>`now()` };

/** Ends all sessions of a user, because they have the previous version number. */
export async function updateSessionVersion(db: Database, userId: string): Promise<void> {
  await db
    .updateTable('app_user')
    .set({ ...newSessions, ...touched })
    .where('id', '=', userId)
    .execute();
}

/**
 * Sets a password and ends all sessions. Returns undefined when the account is deleted, has no
 * password, or its password hash is not `formerHash` any more.
 */
export async function updatePassword(
  db: Database,
  userId: string,
  passwordHash: string,
  formerHash?: string,
): Promise<UserRow | undefined> {
  return db
    .updateTable('app_user')
    .set({ password_hash: passwordHash, ...newSessions, ...touched })
    .where('id', '=', userId)
    .where('type', '=', 'PASSWORD')
    .$if(formerHash !== undefined, (query) => query.where('password_hash', '=', formerHash ?? ''))
    .returning(columnsOf('app_user'))
    .executeTakeFirst();
}

export async function updateEmailVerified(db: Database, userId: string): Promise<void> {
  await db
    .updateTable('app_user')
    .set({ email_verified: true, ...touched })
    .where('id', '=', userId)
    .execute();
}

/**
 * Converts an unverified account with a password to sign-in by the provider that has proved its
 * address: the password and all sessions become invalid. Returns undefined when the address is
 * verified already, or the account is deleted.
 */
export async function replacePassword(
  db: Database,
  userId: string,
  login: { type: Exclude<UserType, 'PASSWORD'>; providerId: string | null },
): Promise<UserRow | undefined> {
  return db
    .updateTable('app_user')
    .set({ type: login.type, provider_id: login.providerId, password_hash: null })
    .set({ email_verified: true, ...newSessions, ...touched })
    .where('id', '=', userId)
    .where('type', '=', 'PASSWORD')
    .where('email_verified', '=', false)
    .returning(columnsOf('app_user'))
    .executeTakeFirst();
}

/** Gives an account that an invitation created to the user who has proved its address. */
export async function takeInvitedUser(tx: Database, userId: string): Promise<UserRow | undefined> {
  return tx
    .updateTable('app_user')
    .set({ awaited_provider: null, email_verified: true, ...touched })
    .where('id', '=', userId)
    .returning(columnsOf('app_user'))
    .executeTakeFirst();
}

/**
 * Deletes an account with its memberships, unless it owns a project. Waits for a concurrent
 * transfer of a project to the account.
 */
export async function deleteUser(
  tx: Database,
  userId: string,
): Promise<'deleted' | 'owner' | 'missing'> {
  const user = await lockUser(tx, userId);
  if (!user) return 'missing';
  const owned = await tx
    .selectFrom('membership')
    .select('project_id')
    .where('user_id', '=', userId)
    .where('role', '=', 'OWNER')
    .executeTakeFirst();
  if (owned) return 'owner';
  // Security events of projects stay, with `user_id` null.
  await tx
    .deleteFrom('security_event')
    .where('user_id', '=', userId)
    .where('project_id', 'is', null)
    .execute();
  await tx.deleteFrom('app_user').where('id', '=', userId).execute();
  return 'deleted';
}

/** Locks an account until the transaction ends. */
export async function lockUser(tx: Database, userId: string): Promise<UserRow | undefined> {
  return tx
    .selectFrom('app_user')
    .select(columnsOf('app_user'))
    .where('id', '=', userId)
    .forUpdate()
    .executeTakeFirst();
}

/**
 * The purpose of a link in mail about an account. `sign_up` and `verify_email` both verify an
 * address. Mail for `invitation`, `members_by_key` and `factor` has no token in its link: rows with
 * these purposes are stored only to limit the mail per hour.
 */
export type TokenPurpose =
  | 'sign_up'
  | 'verify_email'
  | 'reset_password'
  | 'invitation'
  | 'members_by_key'
  | 'factor';

/** Links created after this time work, and count for the limit per hour. */
const tokenLife = sql<Date>`(now() - interval '1 hour')`;

/**
 * Stores the hash of a link's token. Returns false, and stores nothing, when the account is gone,
 * or `perHour` tokens of this purpose were stored for the user within the last hour.
 */
export async function insertToken(
  tx: Database,
  token: { userId: string; purpose: TokenPurpose; hash: Buffer },
  perHour = 3,
): Promise<boolean> {
  // The lock makes concurrent requests wait, so that they do not exceed the limit.
  if (!(await lockUser(tx, token.userId))) return false;
  const count = await countRows(
    tx
      .selectFrom('account_token')
      .where('user_id', '=', token.userId)
      .where('purpose', '=', token.purpose)
      .where('created_at', '>', tokenLife),
  );
  if (count >= perHour) return false;
  await tx
    .insertInto('account_token')
    .values({ token_hash: token.hash, user_id: token.userId, purpose: token.purpose })
    .execute();
  return true;
}

/** Returns the number of seconds, at least 1, after which `insertToken` stores a token again. */
export async function readTokenWait(
  db: Database,
  { userId, purpose }: { userId: string; purpose: TokenPurpose },
): Promise<number> {
  const { seconds } = await db
    .selectFrom('account_token')
    .select(
      sql<number>`greatest(1, ceil(extract(epoch from min(created_at) - ${tokenLife})))::int`.as(
        'seconds',
      ),
    )
    .where('user_id', '=', userId)
    .where('purpose', '=', purpose)
    .where('created_at', '>', tokenLife)
    .executeTakeFirstOrThrow();
  return seconds;
}

/** Returns the user of a token that is still valid. */
export async function findTokenOwner(
  db: Database,
  purposes: readonly TokenPurpose[],
  hash: Buffer,
): Promise<string | undefined> {
  const token = await db
    .selectFrom('account_token')
    .select('user_id')
    .where('token_hash', '=', hash)
    .where('purpose', 'in', purposes)
    .where('used_at', 'is', null)
    .where('created_at', '>', tokenLife)
    .executeTakeFirst();
  return token?.user_id;
}

/**
 * Marks a token, and the user's other tokens with these purposes, as used. Of several concurrent
 * callers, one gets the user, the others undefined.
 */
export async function useToken(
  tx: Database,
  purposes: readonly TokenPurpose[],
  hash: Buffer,
): Promise<string | undefined> {
  const ownerId = await findTokenOwner(tx, purposes, hash);
  // Lock the account first, as every change of the account does, because a change may invalidate
  // the token.
  if (ownerId === undefined || !(await lockUser(tx, ownerId))) return undefined;
  const used = await tx
    .updateTable('account_token')
    .set({ used_at: sql<Date>`now()` })
    .where('user_id', '=', ownerId)
    .where('purpose', 'in', purposes)
    .where('used_at', 'is', null)
    .returning('token_hash')
    .execute();
  return used.some((token) => token.token_hash.equals(hash)) ? ownerId : undefined;
}
