import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database.ts';
import type { GraphStep } from '../../../domain/workflow/graph.ts';

/** Counts the active executions of a workflow by position, and lists them. */

/** The active executions of one version at one step. */
export interface Position {
  version: number;
  stepId: string;
  active: number;
}

/**
 * Counts a workflow's active executions by version and step. Reads only an index.
 * @param versions the versions to count; undefined: all
 */
export async function countPositions(
  db: Database,
  workflowId: string,
  versions?: readonly number[],
): Promise<Position[]> {
  const { rows } = await sql<Position>`
    select workflow_version as version, current_step_id as "stepId", count(*)::int as active
      from execution
      where workflow_id = ${workflowId} and status in ('RUNNING', 'WAITING')
        and ${versions ? sql`workflow_version = any(${versions}::int[])` : sql`true`}
        and current_step_id is not null
      group by 1, 2 order by 1, 2`.execute(db);
  return rows;
}

/**
 * Lists some active executions at these positions: first the oldest at each position, then the
 * second at each, and so on.
 * @returns at most `max`; `position` is the index in the given list.
 */
export async function listAtPositions(
  db: Database,
  workflowId: string,
  positions: readonly Pick<Position, 'version' | 'stepId'>[],
  max: number,
): Promise<{ position: number; executionId: string; contactId: string }[]> {
  const { rows } = await sql<{ position: number; executionId: string; contactId: string }>`
    select (place - 1)::int as position, found.id as "executionId", found.contact_id as "contactId"
      from unnest(${positions.map(({ version }) => version)}::int[],
          ${positions.map(({ stepId }) => stepId)}::uuid[])
        with ordinality as position(version, step_id, place)
      cross join lateral (
        select id, contact_id, row_number() over (order by id) as turn from execution
          where workflow_id = ${workflowId} and workflow_version = position.version
            and current_step_id = position.step_id and status in ('RUNNING', 'WAITING')
          order by id limit ${max}) as found
      order by found.turn, place limit ${max}`.execute(db);
  return rows;
}

/**
 * Returns a step from the newest version that contains it and has active executions; undefined:
 * there is no such version. Reads at most one graph for each version with active executions.
 */
export async function findActiveStep(
  db: Database,
  workflowId: string,
  stepId: string,
): Promise<GraphStep | undefined> {
  const newest = (before: RawBuilder<unknown>) => sql`
    (select workflow_version from execution
      where workflow_id = ${workflowId} and status in ('RUNNING', 'WAITING')
        and workflow_version < ${before}
      order by workflow_version desc limit 1)`;
  const { rows } = await sql<{ step: GraphStep }>`
    with recursive active(version) as (
      select ${newest(sql`2147483647`)}
      union all
      select ${newest(sql`active.version`)} from active where active.version is not null
    )
    select step from active
      join workflow_graph stored
        on stored.workflow_id = ${workflowId} and stored.version = active.version,
      lateral graph_step(stored.whole, stored.difference, ${stepId}) as step
      where step is not null order by active.version desc limit 1`.execute(db);
  return rows[0]?.step;
}
