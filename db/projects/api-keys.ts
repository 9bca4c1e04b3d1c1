import type { Selectable } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';
import type { ApiKey } from '../tables.ts';

export type ApiKeyRow = Selectable<ApiKey>;

/** Finds a named key of a project, also a revoked one. */
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

/** The names of keys, by their ids. */
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
