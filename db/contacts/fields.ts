import { sql } from 'kysely';
import { type Database, transact } from '../database.ts';
import { type DataField, typedSql } from '../sql/data-fields.ts';
import { limits } from '../../domain/limits.ts';

/** Reads and removes keys of contact data: their types, values and uses. */

/** Number of the newest contacts from whose values the types of most keys are derived. */
export const newestContacts = 5000;

/**
 * Lists the keys in the data of all contacts, sorted, with the number of contacts that have each.
 * The type of a key is the most frequent type of its newest values. The query reads the data of
 * every contact once. A second query finds the types of keys that are rare among the newest
 * contacts.
 */
export async function listContactDataFields(
  db: Database,
  projectId: string,
): Promise<(DataField & { holders: number })[]> {
  const wanted = limits.fieldTypeValues;
  const { rows } = await sql<DataField & { holders: number }>`
    with counted as materialized (
      select key, count(*) as holders
        from contact cross join jsonb_object_keys(data) as key
        where project_id = ${projectId}
        group by key
    ), recent as materialized (
      select key, value, created_at, id
        from (select id, created_at, data from contact where project_id = ${projectId}
          order by created_at desc, id desc limit ${sql.lit(newestContacts)}) newest
        cross join jsonb_each(data)
    ), sparse as materialized (
      select key from counted left join (
          select key, count(*) as seen from recent group by key) sample using (key)
        where coalesce(seen, 0) < least(holders, ${sql.lit(wanted)})
    ), valued as (
      select key, value, created_at, id from recent
        where key not in (select key from sparse)
      union all
      select key, data -> key, created_at, id
        from contact cross join unnest(array(select key from sparse)) as key
        where exists (select from sparse) and project_id = ${projectId}
          and data ?| array(select key from sparse) and data ? key
    ), typed as (${typedSql(sql`valued`)})
    select key, type, holders::float8 as holders
      from typed join counted using (key)
      order by key collate "C"`.execute(db);
  return rows;
}

/** Lists the texts, numbers and booleans that a key has, the most frequent first, then sorted. */
export async function listFieldValues(
  db: Database,
  projectId: string,
  key: string,
  limit: number,
): Promise<(string | number | boolean)[]> {
  const { rows } = await sql<{ value: string | number | boolean }>`
    select value from (select data -> ${key}::text as value from contact
        where project_id = ${projectId} and data ? ${key}::text) held
      where jsonb_typeof(value) in ('string', 'number', 'boolean')
      group by value
      order by count(*) desc, jsonb_typeof(value),
        case jsonb_typeof(value) when 'number' then value::numeric end,
        (value #>> '{}') collate "C"
      limit ${limit}`.execute(db);
  return rows.map(({ value }) => value);
}

/**
 * Returns true if any contact has a key. The query is fast if many contacts have the key, and reads
 * every contact if none has it.
 */
export async function isKeyInUse(db: Database, projectId: string, key: string): Promise<boolean> {
  const row = await db
    .selectFrom('contact')
    .select('id')
    .where('project_id', '=', projectId)
    .where(sql<boolean>`(data ? ${key}::text)`)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Returns those of `keys` that at least one contact has. Reads the data of every contact once. */
export async function findKeysInUse(
  db: Database,
  projectId: string,
  keys: readonly string[],
): Promise<string[]> {
  if (keys.length === 0) return [];
  const { rows } = await sql<{ key: string }>`
    select distinct key from contact cross join unnest(${keys}::text[]) as key
      where project_id = ${projectId} and data ?| ${keys}::text[] and data ? key`.execute(db);
  return rows.map(({ key }) => key);
}

/**
 * Returns those of `keys` that none of the newest contacts has. The query is fast for keys that
 * many contacts have, and reads `newestContacts` rows for an unknown key. Returns none while no
 * contact has data.
 */
export async function findUnknownKeys(
  db: Database,
  projectId: string,
  keys: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    with newest as not materialized (
      select data from contact where project_id = ${projectId} and data is not null
        order by created_at desc, id desc limit ${sql.lit(newestContacts)})
    select key from unnest(${keys}::text[]) key
      where exists (select from newest)
        and not exists (select from newest where newest.data ? key)`.execute(db);
  return rows.map(({ key }) => key);
}

/** Lists the keys in the data of the newest contacts. */
export async function findDataKeys(db: Database, projectId: string): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select distinct jsonb_object_keys(data) as key
      from (select data from contact where project_id = ${projectId}
        order by created_at desc, id desc limit ${sql.lit(newestContacts)}) newest
      order by key`.execute(db);
  return rows.map(({ key }) => key);
}

export async function countFieldHolders(
  db: Database,
  projectId: string,
  key: string,
): Promise<number> {
  const { holders } = await db
    .selectFrom('contact')
    .select(sql<number>`count(*)::int`.as('holders'))
    .where('project_id', '=', projectId)
    .where(sql<boolean>`data ? ${key}::text`)
    .executeTakeFirstOrThrow();
  return holders;
}

/** Maximum number of contacts changed, and therefore locked, in one transaction. */
const changedAtOnce = 1_000;

/**
 * Removes a key from the data of all contacts of a project, page by page. Returns the number of
 * contacts that had it. The contacts of a page are locked by id, which prevents deadlocks with
 * other transactions that lock several contacts. A repeated call continues.
 * @param note records the deletion, in the transaction of the first page that changes a contact
 */
export async function deleteContactField(
  db: Database,
  projectId: string,
  key: string,
  note: (tx: Database) => Promise<void>,
): Promise<number> {
  let changed = 0;
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const page = await transact(db, async (tx) => {
      const { rows } = await sql<{ changed: number; last: string | null }>`
      with held as (
        select id from contact
          where project_id = ${projectId} and id > ${after}::uuid and data ? ${key}::text
          order by id limit ${changedAtOnce} for no key update
      ), changed as (
        update contact set data = nullif(data - ${key}::text, '{}'), updated_at = now()
          from held where contact.id = held.id and data ? ${key}::text
          returning 1
      )
      select (select count(*)::int from changed) as changed,
        (select id from held order by id desc limit 1) as last`.execute(tx);
      if (changed === 0 && rows[0]?.changed) await note(tx);
      return rows[0];
    });
    changed += page?.changed ?? 0;
    if (!page?.last) return changed;
    after = page.last;
  }
}
