import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { listConditionsFor } from '../../segments/segments.ts';
import { conditionSql } from '../../sql/filter.ts';
import type { Condition } from '../../../domain/filter/filter.ts';

/** The active executions of a workflow, in pages by version and id. */

/** Selects the executions at one step that began before a moment. */
export interface ActiveQuery {
  projectId: string;
  workflowId: string;
  stepId: string;
  /** Versions of the executions; null: any. */
  versions: readonly number[] | null;
  startedBy: Date;
  /** Condition on the contacts of the executions; null: none. */
  filter: Condition | null;
}

/**
 * Position of the next page: the executions of `version` after `id` (null: all), then those of
 * later versions.
 */
export interface ActiveCursor {
  version: number;
  id: string | null;
}

/**
 * Maximum number of versions that one page skips, because none of their executions is at the step.
 */
const versionsMax = 50;

/**
 * Returns the next executions that wait at the step, in the order of the index. An execution that
 * arrives at the step later is found, too, if its position is after the cursor.
 * @param max maximum number of executions to read, including those that do not wait or do not meet
 *   the filter
 * @returns how many were read, the ids of those that wait and meet the filter, and `cursor`, where
 *   the next page begins; null: there is no next page
 */
export async function nextWaiting(
  tx: Database,
  query: ActiveQuery,
  from: ActiveCursor,
  max: number,
): Promise<{ checked: number; ids: string[]; cursor: ActiveCursor | null }> {
  let cursor = from;
  for (let passed = 0; passed < versionsMax; passed++) {
    const version =
      cursor.id === null ? await nextVersion(tx, query, cursor.version) : cursor.version;
    if (version === null) return { checked: 0, ids: [], cursor: null };
    const rows = await pageOf(tx, query, { ...cursor, version }, max);
    const isLast = rows.length < max;
    cursor = {
      version: isLast ? version + 1 : version,
      id: isLast ? null : (rows.at(-1)?.id ?? null),
    };
    if (rows.length === 0) continue;
    const ids = rows.filter(({ isMeant }) => isMeant).map(({ id }) => id);
    return { checked: rows.length, ids, cursor };
  }
  return { checked: 0, ids: [], cursor };
}

/**
 * Returns the lowest version from `from` on that has active executions, by one index lookup; null:
 * there is none.
 */
export async function nextVersion(
  tx: Database,
  { workflowId, versions }: Pick<ActiveQuery, 'workflowId' | 'versions'>,
  from: number,
): Promise<number | null> {
  const { rows } = await sql<{ version: number }>`
    select workflow_version as version from execution
      where workflow_id = ${workflowId} and status in ('RUNNING', 'WAITING')
        and workflow_version >= ${from}
        and ${versions ? sql`workflow_version = any(${versions}::int[])` : sql`true`}
      order by workflow_version limit 1`.execute(tx);
  return rows[0]?.version ?? null;
}

async function pageOf(
  tx: Database,
  { projectId, workflowId, stepId, startedBy, filter }: ActiveQuery,
  { version, id }: ActiveCursor,
  max: number,
): Promise<{ id: string; isMeant: boolean }[]> {
  const holds = filter
    ? conditionSql(filter, {
        now: new Date(),
        segments: await listConditionsFor(tx, projectId, filter),
        projectId,
      })
    : sql`true`;
  const { rows } = await sql<{ id: string; isMeant: boolean }>`
    with page as materialized (
      select id, contact_id, status, started_at from execution
        where workflow_id = ${workflowId} and status in ('RUNNING', 'WAITING')
          and workflow_version = ${version} and current_step_id = ${stepId}
          ${id === null ? sql`` : sql`and id > ${id}`}
        order by id limit ${max}
    )
    select page.id, page.status = 'WAITING' and page.started_at <= ${startedBy} and ${holds}
        as "isMeant"
      from page join contact on contact.id = page.contact_id
      order by page.id`.execute(tx);
  return rows;
}
