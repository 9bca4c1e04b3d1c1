import {
  type InsertObject,
  type RawBuilder,
  type Selectable,
  sql,
  type UpdateObject,
} from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';
import type { ApiKey, DB } from '../tables.ts';
import { nextNotice } from '../../domain/access/key-expiry.ts';

export type ApiKeyRow = Selectable<ApiKey>;

/** Finds a named key of a project; revoked keys are found, too. */
export async function findApiKey(
  db: Database,
  projectId: string,
  id: string,
): Promise<ApiKeyRow | undefined> {
  return db
    .selectFrom('api_key')
    .select(columnsOf('api_key'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Returns the names of keys, by key id. */
export async function listKeyNames(
  db: Database,
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('api_key')
    .select(['id', 'name'])
    .where('id', '=', anyOf(ids))
    .execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Maximum number of revoked keys of a project that are kept. */
const revokedMax = 1_000;

/** Lists the named keys of a project, newest first: either the revoked keys or all others. */
export async function listApiKeys(
  db: Database,
  projectId: string,
  { isRevoked }: { isRevoked: boolean },
): Promise<ApiKeyRow[]> {
  return db
    .selectFrom('api_key')
    .select(columnsOf('api_key'))
    .where('project_id', '=', projectId)
    .where('revoked_at', isRevoked ? 'is not' : 'is', null)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(revokedMax)
    .execute();
}

/**
 * Locks the named keys of a project until the transaction ends, so that changes of them run one
 * after the other.
 */
export async function lockKeys(tx: Database, projectId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`api_key ${projectId}`}, 0))`.execute(
    tx,
  );
}

/** Returns true if this is the hash of the project's own secret key. Call it under `lockKeys`. */
export async function isSecretKey(tx: Database, projectId: string, hash: Buffer): Promise<boolean> {
  const row = await tx
    .selectFrom('project')
    .select('id')
    .where('id', '=', projectId)
    .where('secret_key_hash', '=', hash)
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertApiKey(
  tx: Database,
  values: InsertObject<DB, 'api_key'> & { expires_at: Date | null },
): Promise<ApiKeyRow> {
  return tx
    .insertInto('api_key')
    .values({ ...values, notice_at: nextNotice(values.expires_at, new Date()) })
    .returning(columnsOf('api_key'))
    .executeTakeFirstOrThrow();
}

/** Changes a key. If its expiry changes, its notices are planned again. */
export async function updateApiKey(
  tx: Database,
  before: ApiKeyRow,
  change: UpdateObject<DB, 'api_key'> & { expires_at?: Date | null },
): Promise<ApiKeyRow> {
  const { expires_at: end = before.expires_at } = change;
  const isNewEnd = end?.getTime() !== before.expires_at?.getTime();
  return tx
    .updateTable('api_key')
    .set({
      ...change,
      ...(isNewEnd && { notice_at: nextNotice(end, new Date()) }),
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', before.id)
    .returning(columnsOf('api_key'))
    .executeTakeFirstOrThrow();
}

/** SQL that selects a key, and all keys created with it, directly or through other keys. */
function descendants(projectId: string, first: RawBuilder<unknown>) {
  return sql`with recursive line as (
      select id from api_key where project_id = ${projectId} and ${first}
      union
      select made.id from api_key made join line on made.created_by = 'key:' || line.id
        where made.project_id = ${projectId})`;
}

/**
 * Returns true if the key `id` was created with the key `makerId`, directly or through other keys.
 */
export async function isMadeBy(
  tx: Database,
  projectId: string,
  { id, makerId }: { id: string; makerId: string },
): Promise<boolean> {
  const { rows } = await sql`
    ${descendants(projectId, sql`created_by = ${`key:${makerId}`}`)}
    select from line where id = ${id}`.execute(tx);
  return rows.length > 0;
}

/**
 * Revokes keys and all keys created with them, directly or through other keys. Deletes the oldest
 * revoked keys beyond the maximum. Returns the ids of the newly revoked keys.
 * @param which one key, or all keys created with the project's own secret key
 */
export async function revokeKeys(
  tx: Database,
  projectId: string,
  which: { id: string } | 'made by the pair',
  revokedBy: string,
): Promise<string[]> {
  const first =
    which === 'made by the pair' ? sql`created_by = 'key:secret'` : sql`id = ${which.id}`;
  const { rows } = await sql<{ id: string }>`
    ${descendants(projectId, first)}
    update api_key set revoked_at = now(), revoked_by = ${revokedBy}, notice_at = null,
        clear_answers = true, updated_at = now()
      where id in (select id from line) and revoked_at is null
      returning id`.execute(tx);
  // No valid key was created with a revoked one, so a deleted key is not needed to find others.
  await sql`
    delete from api_key where id in (
      select id from api_key where project_id = ${projectId} and revoked_at is not null
        order by revoked_at desc, id desc offset ${revokedMax})`.execute(tx);
  return rows.map(({ id }) => id);
}
