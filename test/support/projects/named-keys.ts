import { randomBytes } from 'node:crypto';
import type { InsertObject } from 'kysely';
import { hashKey } from '../../../api/access/keys.ts';
import type { Database } from '../../../db/database.ts';
import type { DB } from '../../../db/tables.ts';

export const newValue = (kind: 'sk' | 'pk' = 'sk') => `${kind}_${randomBytes(32).toString('hex')}`;

/** Inserts a named key that is valid at once. Returns its id and value. */
export async function insertNamedKey(
  db: Database,
  projectId: string,
  { kind = 'secret', scopes = ['*'], ...given }: Partial<InsertObject<DB, 'api_key'>> = {},
): Promise<{ id: string; key: string }> {
  const key = newValue(kind === 'secret' ? 'sk' : 'pk');
  const { id } = await db
    .insertInto('api_key')
    .values({
      project_id: projectId,
      name: 'Shop backend',
      kind,
      scopes,
      key_hash: hashKey(key),
      key_last4: key.slice(-4),
      created_by: 'key:secret',
      ...given,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { id, key };
}
