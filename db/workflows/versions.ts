import { sql } from 'kysely';
import {
  graphAfter,
  smallDifference,
  type StoredGraph,
} from '../../domain/workflow/versions/difference.ts';
import type { DrawnVersion } from '../../domain/workflow/versions/version.ts';
import { type VersionChange, versionChanges } from '../../domain/workflow/versions/changes.ts';
import type { Database } from '../database.ts';
import { findDrawing } from './drawing.ts';
import { insertExitEvents, updateWorkflow, type WorkflowRow } from './workflows.ts';

/**
 * The versions of a workflow. Each version number that a response has shown can be read as long as
 * the workflow exists.
 */

export interface Edit {
  /** The actor that makes the version; null: not known. */
  causedBy: string | null;
  /** The older version that this version restores. */
  restoredFrom?: number;
}

/**
 * Increases the version of a locked workflow after an edit of steps, transitions, trigger or exit
 * rules, and stores the new version. If the workflow is enabled, executions that start from now on
 * use it.
 */
export async function recordWorkflowEdit(
  tx: Database,
  locked: WorkflowRow,
  edit: Edit,
): Promise<WorkflowRow> {
  const workflow = await updateWorkflow(tx, locked.id, { version: locked.version + 1 });
  await storeVersion(tx, workflow, edit);
  return workflow;
}

/**
 * Stores the edited workflow as its current version, in the transaction that creates the version. A
 * large graph may be stored as its difference from the whole graph on which the previous (or
 * restored) version is based, if the difference is small.
 */
export async function storeVersion(
  tx: Database,
  workflow: WorkflowRow,
  { causedBy, restoredFrom }: Edit,
): Promise<void> {
  const { id, project_id, version } = workflow;
  const drawn = await findDrawing(tx, workflow);
  const before = await findVersion(tx, id, version - 1);
  const origin = restoredFrom === undefined ? before : await findVersion(tx, id, restoredFrom);
  const difference = origin ? smallDifference(origin.whole, drawn) : null;
  await tx
    .insertInto('workflow_version')
    .values({
      workflow_id: id,
      project_id,
      version,
      graph: difference ? null : JSON.stringify(drawn),
      base: difference && origin ? origin.base : null,
      difference: difference && JSON.stringify(difference),
      caused_by: causedBy,
      restored_from: restoredFrom ?? null,
      changes: JSON.stringify(versionChanges(before?.drawn ?? null, drawn, restoredFrom ?? null)),
    })
    .execute();
  if (workflow.enabled) await insertExitEvents(tx, id, drawn.exitRules ?? []);
}

/**
 * Returns the actor that made the current version of each workflow, by workflow id; null: not
 * known.
 */
export async function listVersionMakers(
  db: Database,
  workflows: readonly Pick<WorkflowRow, 'id' | 'version'>[],
): Promise<Map<string, string | null>> {
  const { rows } = await sql<{ id: string; causedBy: string | null }>`
    select given.id, stored.caused_by as "causedBy"
      from unnest(${workflows.map(({ id }) => id)}::uuid[],
        ${workflows.map(({ version }) => version)}::int[]) as given(id, version)
      join workflow_version stored
        on stored.workflow_id = given.id and stored.version = given.version`.execute(db);
  return new Map(rows.map(({ id, causedBy }) => [id, causedBy]));
}

/** A version without its graph. */
export interface VersionRow {
  version: number;
  created_at: Date;
  caused_by: string | null;
  restored_from: number | null;
  changes: VersionChange[];
}

const columns = ['version', 'created_at', 'caused_by', 'restored_from', 'changes'] as const;

/**
 * Lists versions of a workflow, newest first, and counts them (0 if `before` is given).
 * @param page.before only versions before this one; undefined: all
 */
export async function listVersions(
  db: Database,
  workflowId: string,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<{ rows: VersionRow[]; total: number }> {
  const query = db.selectFrom('workflow_version').where('workflow_id', '=', workflowId);
  const rows = await query
    .select(columns)
    .$if(before !== undefined, (all) => all.where('version', '<', before ?? 0))
    .orderBy('version', 'desc')
    .limit(limit)
    .execute();
  if (before !== undefined) return { rows: rows as unknown as VersionRow[], total: 0 };
  const { total } = await query
    .select(sql<number>`count(*)::int`.as('total'))
    .executeTakeFirstOrThrow();
  return { rows: rows as unknown as VersionRow[], total };
}

/** A version with its whole content. */
export interface FoundVersion {
  row: VersionRow;
  drawn: DrawnVersion;
  /** The whole graph that the version is based on, and the version that has this graph. */
  whole: DrawnVersion;
  base: number;
}

export async function findVersion(
  db: Database,
  workflowId: string,
  version: number,
): Promise<FoundVersion | undefined> {
  const found = await db
    .selectFrom('workflow_version as stored')
    .innerJoin('workflow_graph as graph', (join) =>
      join
        .onRef('graph.workflow_id', '=', 'stored.workflow_id')
        .onRef('graph.version', '=', 'stored.version'),
    )
    .select(columns.map((column) => `stored.${column}` as const))
    .select(['stored.base', 'graph.whole', 'graph.difference'])
    .where('stored.workflow_id', '=', workflowId)
    .where('stored.version', '=', sql<number>`${version}::bigint`)
    .executeTakeFirst();
  if (!found) return undefined;
  const { base, whole, difference, ...row } = found;
  const stored = { whole, difference } as unknown as StoredGraph<DrawnVersion>;
  return {
    row: row as unknown as VersionRow,
    drawn: graphAfter(stored),
    whole: stored.whole,
    base: base ?? version,
  };
}

/** Counts the active executions on each of these versions. Versions without any are left out. */
export async function countActiveOn(
  db: Database,
  workflowId: string,
  versions: readonly number[],
): Promise<Map<number, number>> {
  const { rows } = await sql<{ version: number; active: number }>`
    select workflow_version as version, count(*)::int as active from execution
      where workflow_id = ${workflowId} and status in ('RUNNING', 'WAITING')
        and workflow_version = any(${versions}::int[])
      group by 1`.execute(db);
  return new Map(rows.map(({ version, active }) => [version, active]));
}
