import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import {
  anyOf,
  containsText,
  countRows,
  type ListQuery,
  orderOf,
  type RowSize,
  sortColumns,
} from '../expressions.ts';
import type { Template } from '../tables.ts';

export type TemplateRow = Selectable<Template>;

export async function findTemplate(
  db: Database,
  projectId: string,
  id: string,
): Promise<TemplateRow | undefined> {
  return db
    .selectFrom('template')
    .select(columnsOf('template'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export type TemplateQuery = ListQuery & { type?: string | undefined };

/**
 * Returns the ids and sizes of one page of a project's templates, and the number of all matches.
 */
export async function listTemplates(
  db: Database,
  projectId: string,
  query: TemplateQuery,
): Promise<{ rows: RowSize[]; total: number }> {
  const { search, type } = query;
  let filtered = db.selectFrom('template').where('project_id', '=', projectId);
  if (type !== undefined) filtered = filtered.where('type', '=', type);
  if (search !== undefined) {
    filtered = filtered.where(containsText(['name', 'description', 'subject'], search));
  }
  const total = await countRows(filtered);
  const rows = await filtered
    .select(['id', sql<number>`octet_length(body)`.as('bytes')])
    .orderBy(sortColumns[query.sort], query.dir)
    .orderBy('id', 'desc')
    .limit(query.pageSize)
    .offset((query.page - 1) * query.pageSize)
    .execute();
  return { rows, total };
}

/** Returns the templates with these ids, in this order. */
export async function readTemplates(db: Database, ids: readonly string[]): Promise<TemplateRow[]> {
  return db
    .selectFrom('template')
    .select(columnsOf('template'))
    .where('id', '=', anyOf(ids))
    .orderBy(orderOf(ids, 'id'))
    .execute();
}

export async function insertTemplate(
  db: Database,
  values: Insertable<Template>,
): Promise<TemplateRow> {
  return db
    .insertInto('template')
    .values(values)
    .returning(columnsOf('template'))
    .executeTakeFirstOrThrow();
}

/** Stores an edit of a locked template. */
export async function updateTemplate(
  tx: Database,
  id: string,
  values: Updateable<Template>,
): Promise<TemplateRow> {
  return tx
    .updateTable('template')
    .set({ ...values, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .returning(columnsOf('template'))
    .executeTakeFirstOrThrow();
}

/** Finds a template and locks it as `lockTemplates` does. */
export async function lockTemplate(
  tx: Database,
  projectId: string,
  id: string,
): Promise<TemplateRow | undefined> {
  return tx
    .selectFrom('template')
    .select(columnsOf('template'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/**
 * Locks templates until the transaction ends, so that no step can start to use them. Returns the
 * templates that exist.
 */
export async function lockTemplates(
  tx: Database,
  projectId: string,
  ids: readonly string[],
): Promise<{ id: string }[]> {
  return tx
    .selectFrom('template')
    .select('id')
    .where('project_id', '=', projectId)
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forUpdate()
    .execute();
}

/**
 * Returns the templates that exist, ordered by id, and prevents their deletion until the
 * transaction ends.
 */
export async function holdTemplates(
  tx: Database,
  projectId: string,
  ids: readonly string[],
): Promise<{ id: string }[]> {
  return tx
    .selectFrom('template')
    .select('id')
    .where('project_id', '=', projectId)
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forKeyShare()
    .execute();
}

export async function deleteTemplates(tx: Database, ids: readonly string[]): Promise<void> {
  await tx.deleteFrom('template').where('id', '=', anyOf(ids)).execute();
}

/** Counts the emails that were made from a template and accepted by a provider. */
export async function countTemplateEmails(
  db: Database,
  projectId: string,
  id: string,
): Promise<number> {
  return countRows(
    db
      .selectFrom('email')
      .where('project_id', '=', projectId)
      .where('template_id', '=', id)
      .where('sent_at', 'is not', null),
  );
}

/** Returns the names of templates, by id. */
export async function listTemplateNames(
  db: Database,
  projectId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('template')
    .select(['id', 'name'])
    .where('project_id', '=', projectId)
    .where('id', '=', anyOf(ids))
    .execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Returns templates by id, with the properties that are checked when a workflow is enabled. */
export async function findTemplateSenders(
  db: Database,
  projectId: string,
  ids: readonly string[],
): Promise<Map<string, { hasSender: boolean; isMarketing: boolean }>> {
  const rows = await db
    .selectFrom('template')
    .select(['id', 'from_email', 'type'])
    .where('project_id', '=', projectId)
    .where('id', '=', anyOf(ids))
    .execute();
  return new Map(
    rows.map(({ id, from_email: from, type }) => [
      id,
      { hasSender: from !== null, isMarketing: type === 'MARKETING' },
    ]),
  );
}
