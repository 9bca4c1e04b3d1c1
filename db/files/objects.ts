import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { fileTables } from './tables.ts';
import {
  type FilePattern,
  type FileKind,
  fileKinds,
  type KeyedKind,
} from '../../domain/files/kinds.ts';
import type { FileKeys } from '../../domain/files/references.ts';

/** An object that a file describes. */
export interface FileObject {
  kind: FileKind;
  key: string;
  /** Id of the object; null for policies. */
  id: string | null;
  name: string;
}

/**
 * Lists the objects of a project that have a key, except policies, by kind and key. Returns one more
 * than `max` if there are more.
 * @param only patterns of which one must match; undefined: all objects
 */
export async function listFileObjects(
  db: Database,
  projectId: string,
  { only, max }: { only: readonly FilePattern[] | undefined; max: number },
): Promise<FileObject[]> {
  const found: FileObject[] = [];
  for (const kind of fileKinds) {
    if (kind === 'send-policy' || kind === 'consent-policy') continue;
    const { table, key, name } = fileTables[kind];
    const patterns = only?.filter((pattern) => pattern.kind === kind);
    if (patterns?.length === 0) continue;
    const column = sql`${sql.ref(key)} collate "C"`;
    const matches = patterns?.map(({ beginning, isKey }) =>
      isKey ? sql`${column} = ${beginning}` : sql`starts_with(${column}, ${beginning})`,
    );
    const { rows } = await sql<{ id: string; key: string; name: string }>`
      select id, ${sql.ref(key)} as key, ${name} as name from ${sql.table(table)}
        where project_id = ${projectId} and ${sql.ref(key)} is not null
          and ${matches ? sql`(${sql.join(matches, sql` or `)})` : sql`true`}
        order by ${column} limit ${max + 1 - found.length}`.execute(db);
    for (const row of rows) found.push({ kind, ...row });
    if (found.length > max) break;
  }
  return found;
}

/** Finds objects of a project by kind and key, except policies. Unknown keys are left out. */
export async function findFileObjects(
  db: Database,
  projectId: string,
  named: readonly { kind: FileKind; key: string }[],
): Promise<FileObject[]> {
  const found: FileObject[] = [];
  for (const kind of fileKinds) {
    if (kind === 'send-policy' || kind === 'consent-policy') continue;
    const keys = named.filter((one) => one.kind === kind).map(({ key }) => key);
    if (keys.length === 0) continue;
    const { table, key, name } = fileTables[kind];
    const { rows } = await sql<{ id: string; key: string; name: string }>`
      select id, ${sql.ref(key)} as key, ${name} as name from ${sql.table(table)}
        where project_id = ${projectId} and ${sql.ref(key)} = any(${keys}::text[])`.execute(db);
    for (const row of rows) found.push({ kind, ...row });
  }
  return found;
}

/**
 * Prevents changes and deletion of objects, except policies, until the transaction ends. The order
 * is always the same.
 */
export async function lockFileObjects(
  tx: Database,
  projectId: string,
  objects: readonly { kind: FileKind; id: string | null }[],
): Promise<void> {
  for (const kind of fileKinds) {
    if (kind === 'send-policy' || kind === 'consent-policy') continue;
    const ids = objects.flatMap((one) => (one.kind === kind && one.id !== null ? [one.id] : []));
    if (ids.length === 0) continue;
    await sql`select from ${sql.table(fileTables[kind].table)}
      where project_id = ${projectId} and id = any(${ids}::uuid[])
      order by id for no key update`.execute(tx);
  }
}

/** Returns the number of objects of a project, except policies. */
export async function countFileObjects(db: Database, projectId: string): Promise<number> {
  let count = 0;
  for (const { table } of Object.values(fileTables)) {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from ${sql.table(table)}
        where project_id = ${projectId}`.execute(db);
    count += rows[0]?.count ?? 0;
  }
  return count;
}

/**
 * Returns the keys of the templates, segments and topics of a project with these ids. Other ids are
 * ignored.
 */
export async function findFileKeys(
  db: Database,
  projectId: string,
  ids: readonly string[],
): Promise<FileKeys> {
  const keysIn = async (kind: 'template' | 'segment' | 'topic') => {
    const { table, key } = fileTables[kind];
    const { rows } = await sql<{ id: string; key: string }>`
      select id, ${sql.ref(key)} as key from ${sql.table(table)}
        where project_id = ${projectId} and id = any(${ids}::uuid[])
          and ${sql.ref(key)} is not null`.execute(db);
    return new Map(rows.map((row) => [row.id, row.key]));
  };
  return {
    templates: await keysIn('template'),
    segments: await keysIn('segment'),
    topics: await keysIn('topic'),
  };
}

/** Sets the keys of objects. An object may get the former key of another one in the list. */
export async function setFileKeys(
  tx: Database,
  kind: KeyedKind,
  keys: readonly { id: string; key: string }[],
): Promise<void> {
  if (keys.length === 0) return;
  const table = sql.table(fileTables[kind].table);
  const given = sql`jsonb_to_recordset(${JSON.stringify(keys)}::jsonb) as given(id uuid, key text)`;
  await sql`update ${table} as object set file_key = null from ${given}
    where object.id = given.id and object.file_key <> given.key`.execute(tx);
  await sql`update ${table} as object set file_key = given.key from ${given}
    where object.id = given.id and object.file_key is null`.execute(tx);
}
