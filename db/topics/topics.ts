import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { anyOf, orderOf } from '../expressions.ts';
import type { Topic } from '../tables.ts';

/** Topics: the kinds of marketing mail of a project. */

export type TopicRow = Selectable<Topic>;

/** Returns the names of those of `ids` that are topics of the project, by id. */
export async function listTopicNames(
  db: Database,
  projectId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('topic')
    .select(['id', 'name'])
    .where('project_id', '=', projectId)
    .where('id', '=', anyOf(ids))
    .execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Lists the topics of a project, oldest first; at most `limits.topics`. */
export async function listTopics(db: Database, projectId: string): Promise<TopicRow[]> {
  return db
    .selectFrom('topic')
    .select(columnsOf('topic'))
    .where('project_id', '=', projectId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

export async function findTopic(
  db: Database,
  projectId: string,
  id: string,
): Promise<TopicRow | undefined> {
  return db
    .selectFrom('topic')
    .select(columnsOf('topic'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Returns the topics with these ids, in this order. */
export async function readTopics(db: Database, ids: readonly string[]): Promise<TopicRow[]> {
  return db
    .selectFrom('topic')
    .select(columnsOf('topic'))
    .where('id', '=', anyOf(ids))
    .orderBy(orderOf(ids, 'id'))
    .execute();
}

export async function listTopicsByKey(
  db: Database,
  projectId: string,
  keys: readonly string[],
): Promise<TopicRow[]> {
  return db
    .selectFrom('topic')
    .select(columnsOf('topic'))
    .where('project_id', '=', projectId)
    .where('key', '=', anyOf(keys, 'text'))
    .execute();
}

/**
 * Lets only one transaction at a time create topics of the project, so that together they cannot
 * exceed the maximum number of topics. Each transaction that creates topics must call this.
 */
export async function lockTopics(tx: Database, projectId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`topics ${projectId}`}, 0))`.execute(
    tx,
  );
}

export async function insertTopic(tx: Database, values: Insertable<Topic>): Promise<TopicRow> {
  return tx
    .insertInto('topic')
    .values(values)
    .returning(columnsOf('topic'))
    .executeTakeFirstOrThrow();
}

/** Changes a topic; undefined when there is none. */
export async function updateTopic(
  db: Database,
  projectId: string,
  id: string,
  values: Updateable<Topic>,
): Promise<TopicRow | undefined> {
  return db
    .updateTable('topic')
    .set({ ...values, updated_at: sql<Date>`now()` })
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .returning(columnsOf('topic'))
    .executeTakeFirst();
}

/** Locks a topic until the transaction ends, so that nothing can start to use it. */
export async function lockTopic(
  tx: Database,
  projectId: string,
  id: string,
): Promise<TopicRow | undefined> {
  return tx
    .selectFrom('topic')
    .select(columnsOf('topic'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/**
 * Returns those of the topics that exist, and prevents their deletion until the transaction ends.
 */
export async function holdTopics(
  tx: Database,
  projectId: string,
  ids: readonly string[],
): Promise<{ id: string }[]> {
  return tx
    .selectFrom('topic')
    .select('id')
    .where('project_id', '=', projectId)
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forKeyShare()
    .execute();
}

/**
 * Deletes a locked topic. The choices of contacts are deleted later, in pages: see `removals.ts`.
 */
export async function deleteTopic(tx: Database, id: string): Promise<void> {
  await tx.deleteFrom('topic').where('id', '=', id).execute();
}
