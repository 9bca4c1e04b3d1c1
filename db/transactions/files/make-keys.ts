import { sql } from 'kysely';
import { type KeyedKind, keyedKinds } from '../../../domain/files/kinds.ts';
import { type KeylessObject, keysFor, madeKey } from '../../../domain/files/keys.ts';
import { type Database, transact } from '../../database.ts';
import { lockProject } from '../../projects/projects.ts';
import { fileTables } from '../../files/tables.ts';

/** Maximum number of objects that get their keys in one transaction. */
const pageSize = 500;

/** Gives a key to each object of a project that has none, oldest first. */
export async function makeMissingKeys(db: Database, projectId: string): Promise<void> {
  for (const kind of keyedKinds) {
    while ((await makeKeys(db, projectId, kind)) === pageSize);
  }
}

/** Makes the keys of one page of objects. Returns the number of objects. */
async function makeKeys(db: Database, projectId: string, kind: KeyedKind): Promise<number> {
  const { table, name } = fileTables[kind];
  const keyless = sql<KeylessObject>`
    select id, ${name} as name from ${sql.table(table)}
      where project_id = ${projectId} and file_key is null
      order by created_at, id limit ${pageSize}`;
  if ((await keyless.execute(db)).rows.length === 0) return 0;
  return transact(db, async (tx) => {
    // Two requests must not make the same key.
    if (!(await lockProject(tx, projectId))) return 0;
    const { rows } = await keyless.execute(tx);
    const made = [...new Set(rows.map((row) => madeKey(kind, row.name)))];
    // In the order of the index, all made keys with a number lie between `welcome-` and `welcome.`.
    const { rows: taken } = await sql<{ key: string }>`
      select file_key as key from unnest(${made}::text[]) as made(key)
        join ${sql.table(table)} as object on object.project_id = ${projectId}
          and (object.file_key = made.key
            or object.file_key >= made.key || '-' and object.file_key < made.key || '.')`.execute(
      tx,
    );
    const keys = keysFor(kind, rows, new Set(taken.map(({ key }) => key)));
    await sql`
      update ${sql.table(table)} as object set file_key = made.key
        from jsonb_to_recordset(${JSON.stringify(keys)}::jsonb) as made(id uuid, key text)
        where object.id = made.id`.execute(tx);
    return rows.length;
  });
}
