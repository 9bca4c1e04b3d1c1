import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import type { AppUser } from './tables.ts';

export type UserRow = Selectable<AppUser>;

export async function findUser(db: Database, id: string): Promise<UserRow | undefined> {
  return db.selectFrom('app_user').selectAll().where('id', '=', id).executeTakeFirst();
}

/** `email` in its stored form: trimmed and lower case. */
export async function findUserByEmail(db: Database, email: string): Promise<UserRow | undefined> {
  return db.selectFrom('app_user').selectAll().where('email', '=', email).executeTakeFirst();
}

/** Makes an account with a password, or answers undefined when the address has one already. */
export async function insertUser(
  db: Database,
  user: { email: string; passwordHash: string; emailVerified: boolean },
): Promise<UserRow | undefined> {
  return db
    .insertInto('app_user')
    .values({
      email: user.email,
      type: 'PASSWORD',
      password_hash: user.passwordHash,
      email_verified: user.emailVerified,
    })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .returningAll()
    .executeTakeFirst();
}

/** Ends all sessions of a user: their cookies carry the version before. */
export async function updateSessionVersion(db: Database, userId: string): Promise<void> {
  await db
    .updateTable('app_user')
    .set({ session_version: sql<number>`session_version + 1`, updated_at: sql<Date>`now()` })
    .where('id', '=', userId)
    .execute();
}
