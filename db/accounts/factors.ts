import { type Selectable, sql } from 'kysely';
import type { Database } from '../database.ts';
import type { Factor } from '../tables.ts';
import { lockUser } from './users.ts';

/** Second factors of users: authenticator apps (TOTP) and passkeys. */

const factorColumns = [
  'id',
  'user_id',
  'type',
  'name',
  'secret',
  'used_step',
  'credential_id',
  'public_key',
  'counter',
  'transports',
  'last_used_at',
  'created_at',
] as const;

export type FactorRow = Pick<Selectable<Factor>, (typeof factorColumns)[number]>;

/** Lists the confirmed factors of a user, oldest first. */
export async function listFactors(db: Database, userId: string): Promise<FactorRow[]> {
  return db
    .selectFrom('factor')
    .select(factorColumns)
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is not', null)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/**
 * Stores an authenticator app that is not confirmed yet, in place of an earlier unconfirmed one.
 * Returns its id; undefined when the user has `max` factors or is deleted.
 */
export async function insertTotp(
  tx: Database,
  totp: { userId: string; name: string; secret: Buffer },
  max: number,
): Promise<string | undefined> {
  if (!(await lockUser(tx, totp.userId))) return undefined;
  if ((await listFactors(tx, totp.userId)).length >= max) return undefined;
  await tx
    .deleteFrom('factor')
    .where('user_id', '=', totp.userId)
    .where('confirmed_at', 'is', null)
    .execute();
  const { id } = await tx
    .insertInto('factor')
    .values({ user_id: totp.userId, type: 'totp', name: totp.name, secret: totp.secret })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** Minutes within which an authenticator app must be confirmed. */
const confirmMinutes = 10;

/** Returns an authenticator app that is not confirmed yet. */
export async function findUnconfirmed(
  db: Database,
  userId: string,
  id: string,
): Promise<FactorRow | undefined> {
  return db
    .selectFrom('factor')
    .select(factorColumns)
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is', null)
    .where('created_at', '>', sql<Date>`now() - make_interval(mins => ${confirmMinutes})`)
    .executeTakeFirst();
}

/**
 * Confirms an authenticator app, which makes it a factor. Returns undefined when the app is
 * confirmed already, or was replaced.
 */
export async function confirmFactor(
  tx: Database,
  id: string,
  usedStep: number,
): Promise<FactorRow | undefined> {
  return tx
    .updateTable('factor')
    .set({ confirmed_at: sql<Date>`now()`, last_used_at: sql<Date>`now()`, used_step: usedStep })
    .where('id', '=', id)
    .where('confirmed_at', 'is', null)
    .returning(factorColumns)
    .executeTakeFirst();
}

/**
 * Marks a time step of an authenticator app as used, so that each code works once. Returns false if
 * this step or a later one was used before, also by a concurrent request.
 */
export async function takeStep(tx: Database, id: string, step: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('factor')
    .set({ used_step: step, last_used_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where((where) => where.or([where('used_step', 'is', null), where('used_step', '<', step)]))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function renameFactor(
  db: Database,
  userId: string,
  id: string,
  name: string,
): Promise<FactorRow | undefined> {
  return db
    .updateTable('factor')
    .set({ name })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is not', null)
    .returning(factorColumns)
    .executeTakeFirst();
}

/**
 * Deletes a factor. With the last factor of a user, the recovery codes are deleted, too. Returns
 * false if the user has no such factor.
 */
export async function deleteFactor(tx: Database, userId: string, id: string): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('factor')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is not', null)
    .executeTakeFirst();
  if (numDeletedRows === 0n) return false;
  if ((await listFactors(tx, userId)).length === 0) await replaceRecoveryCodes(tx, userId, []);
  return true;
}

export async function countRecoveryCodes(db: Database, userId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from recovery_code where user_id = ${userId}`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Replaces all recovery codes of a user. */
export async function replaceRecoveryCodes(
  tx: Database,
  userId: string,
  hashes: readonly Buffer[],
): Promise<void> {
  await tx.deleteFrom('recovery_code').where('user_id', '=', userId).execute();
  if (hashes.length === 0) return;
  await tx
    .insertInto('recovery_code')
    .values(hashes.map((hash) => ({ user_id: userId, code_hash: hash })))
    .execute();
}

/** Deletes a recovery code. Of several concurrent callers, one gets true. */
export async function useRecoveryCode(
  tx: Database,
  userId: string,
  hash: Buffer,
): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('recovery_code')
    .where('user_id', '=', userId)
    .where('code_hash', '=', hash)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Returns true if a project of the user requires a second factor. */
export async function needsFactor(db: Database, userId: string): Promise<boolean> {
  const { rows } = await sql<{ needs: boolean }>`
    select exists (select from membership join project on project.id = membership.project_id
      where membership.user_id = ${userId} and project.requires_second_factor
        and project.removal is null) as needs`.execute(db);
  return rows[0]?.needs ?? false;
}

/** Stores a passkey. Returns undefined when the passkey already belongs to an account. */
export async function insertPasskey(
  tx: Database,
  passkey: {
    userId: string;
    name: string;
    credentialId: string;
    publicKey: Buffer;
    counter: number;
    transports: string[] | null;
  },
): Promise<FactorRow | undefined> {
  return tx
    .insertInto('factor')
    .values({
      user_id: passkey.userId,
      type: 'passkey',
      name: passkey.name,
      credential_id: passkey.credentialId,
      public_key: passkey.publicKey,
      counter: String(passkey.counter),
      transports: passkey.transports,
      confirmed_at: sql<Date>`now()`,
    })
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .returning(factorColumns)
    .executeTakeFirst();
}

export async function findPasskey(db: Database, credentialId: string) {
  return db
    .selectFrom('factor')
    .select(factorColumns)
    .where('credential_id', '=', credentialId)
    .executeTakeFirst();
}

/** Stores the signature counter of a passkey after its use. */
export async function updatePasskeyUse(tx: Database, id: string, counter: number): Promise<void> {
  await tx
    .updateTable('factor')
    .set({ counter: String(counter), last_used_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}
