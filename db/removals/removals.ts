import { type RawBuilder, sql } from 'kysely';
import { type Database, transact } from '../database.ts';
import { deletePage } from '../pages.ts';

/**
 * Deletes the dependent rows of a deleted workflow, segment, topic or list of recipients; there may
 * be millions. A trigger adds a row to `removal` at the deletion. Clients can no longer find the
 * dependent rows, which are deleted in pages.
 */

interface Belonging {
  table: string;
  column: string;
  /** Rows per transaction. */
  rows: number;
  /** SQL of the order of deletion, if it matters. */
  order?: RawBuilder<unknown>;
}

/** The executions of one page, in the order of the index `execution_page`. */
const executions = {
  table: 'execution',
  column: 'workflow_id',
  rows: 500,
  order: sql`started_at desc, id desc`,
} satisfies Belonging;

/** The tables in the order of deletion. */
const belongings: Readonly<Record<string, readonly Belonging[]>> = {
  workflow: [
    executions,
    { table: 'not_started', column: 'workflow_id', rows: 5000 },
    // Few rows at once, because each is a graph of up to a megabyte.
    { table: 'workflow_version', column: 'workflow_id', rows: 20 },
  ],
  segment: [{ table: 'segment_member', column: 'segment_id', rows: 5000 }],
  topic: [{ table: 'contact_topic', column: 'topic_id', rows: 5000 }],
  follow_up_list: [{ table: 'follow_up_recipient', column: 'list_id', rows: 5000 }],
};

/**
 * Requests that the members of a segment are deleted while the segment stays. The caller has locked
 * the segment.
 */
export async function insertSegmentRemoval(
  tx: Database,
  { id, project_id }: { id: string; project_id: string },
): Promise<void> {
  await tx
    .insertInto('removal')
    .values({ id, project_id, kind: 'segment' })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Returns true if dependent rows of a deleted object are not deleted yet. */
export async function hasRemoval(db: Database, id: string): Promise<boolean> {
  const row = await db.selectFrom('removal').select('id').where('id', '=', id).executeTakeFirst();
  return row !== undefined;
}

/** Deletes the dependent rows of a deleted object, until `isOver`. Returns true if none is left. */
export async function completeRemoval(
  db: Database,
  id: string,
  isOver: () => boolean,
): Promise<boolean> {
  while (!(await deleteRemovalPage(db, id))) if (isOver()) return false;
  return true;
}

/** Works on all removals, a page of each in turn, until `isOver`. */
export async function continueRemovals(db: Database, isOver: () => boolean): Promise<void> {
  for (;;) {
    const ids = await listRemovalIds(db, { max: 100 });
    if (ids.length === 0) return;
    for (const id of ids) {
      if (isOver()) return;
      await deleteRemovalPage(db, id);
    }
  }
}

/** Lists deleted objects whose dependent rows are not deleted yet: those of a project, or all. */
export async function listRemovalIds(
  db: Database,
  { projectId, max }: { projectId?: string; max: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('removal')
    .select('id')
    .$if(projectId !== undefined, (query) => query.where('project_id', '=', projectId ?? ''))
    .orderBy('id')
    .limit(max)
    .execute();
  return rows.map(({ id }) => id);
}

/** Deletes one page of the dependent rows of a deleted object. Returns true if none is left. */
export async function deleteRemovalPage(db: Database, id: string): Promise<boolean> {
  return transact(db, async (tx) => {
    const removal = await tx
      .selectFrom('removal')
      .select('kind')
      .where('id', '=', id)
      // The lock lets one transaction at a time delete a page of this removal.
      .forUpdate()
      .executeTakeFirst();
    if (!removal) return true;
    if (removal.kind === 'workflow' && !(await deleteDigestEvents(tx, id))) return false;
    for (const { table, column, rows, order } of belongings[removal.kind] ?? []) {
      const where = sql<boolean>`${sql.ref(column)} = ${id}`;
      if ((await deletePage(tx, { table, where, rows, order })) === rows) return false;
    }
    await tx.deleteFrom('removal').where('id', '=', id).execute();
    return true;
  });
}

/**
 * Deletes a page of the rows `digest_event` of the executions that are deleted next, because a
 * digest may have a million of them. Returns true if none is left.
 */
async function deleteDigestEvents(tx: Database, workflowId: string): Promise<boolean> {
  const rows = 5000;
  const where = sql<boolean>`step_execution_id in (
    select step.id from (select id from execution where workflow_id = ${workflowId}
        order by ${executions.order} limit ${executions.rows}) own
      join step_execution step on step.execution_id = own.id)`;
  return (await deletePage(tx, { table: 'digest_event', where, rows })) < rows;
}
