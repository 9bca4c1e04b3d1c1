import { sql } from 'kysely';
import type { DueStart } from '../domain/execution.ts';
import { findStep, type Graph } from '../domain/graph.ts';
import type { Database } from './database.ts';
import { activeStatuses } from './executions.ts';

/** What Temporal has to hear of executions, and that it has heard it. */

/**
 * When the step an execution is at began, to the microsecond: at the end of the one before, or
 * when the delay before it was over. Only events from then on count for a wait.
 */
const stepBegin = sql<string>`(
  select greatest(execution.started_at,
      max(completed_at) filter (where status = 'COMPLETED' and step_id <> current_step_id),
      max(scheduled_for) filter (where step_id = current_step_id))::text
    from step_execution where execution_id = execution.id)`;

/**
 * The executions among `ids` whose run is not known to have been started. One that has left its
 * trigger goes on at its current step: that step failed and is tried again.
 */
export async function listExecutionStarts(
  db: Database,
  ids: readonly string[],
): Promise<DueStart[]> {
  const rows = await db
    .selectFrom('execution')
    .innerJoin('workflow_version as version', (join) =>
      join
        .onRef('version.workflow_id', '=', 'execution.workflow_id')
        .onRef('version.version', '=', 'execution.workflow_version'),
    )
    .select([
      'execution.id as executionId',
      'execution.project_id as projectId',
      'execution.workflow_id as workflowId',
      'execution.workflow_name as workflowName',
      'execution.workflow_version as version',
      'execution.contact_id as contactId',
      sql<string>`execution.started_at::text`.as('startedAt'),
      stepBegin.as('since'),
      'version.graph as graph',
      'execution.current_step_id as currentStepId',
      'execution.temporal_run_id as failedRunId',
      'execution.status',
    ])
    .where('execution.id', '=', sql<string>`any(${ids}::uuid[])`)
    .where('execution.dispatch', '=', 'start')
    .execute();
  return rows.map(({ currentStepId, failedRunId, status, since, ...row }) => {
    const start = { ...row, graph: row.graph as unknown as Graph, format: 2 as const };
    const step = currentStepId === null ? undefined : findStep(start.graph, currentStepId);
    const resume = step && step.type !== 'TRIGGER' && { stepId: step.id, since };
    const hasEnded = !activeStatuses.some((active) => active === status);
    return { start: resume ? { ...start, resume } : start, failedRunId, hasEnded };
  });
}

/** The executions among `ids` whose run has not been told that they were cancelled or deleted. */
export async function listExecutionCancels(db: Database, ids: readonly string[]) {
  const rows = await db
    .selectFrom('execution')
    .select('id')
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .where('dispatch', '=', 'cancel')
    .unionAll(
      db
        .selectFrom('orphan_run')
        .select('execution_id as id')
        .where('execution_id', '=', sql<string>`any(${ids}::uuid[])`),
    )
    .execute();
  return rows.map((row) => row.id);
}

/** Temporal has these runs: nothing is due any more, unless a cancel came in between. */
export async function updateExecutionsStarted(
  db: Database,
  started: readonly { executionId: string; runId: string }[],
): Promise<void> {
  await sql`
    update execution set
        temporal_run_id = started.run_id,
        dispatch = nullif(dispatch, 'start'),
        dispatch_at = case when dispatch = 'start' then null else dispatch_at end
      from unnest(${started.map(({ executionId }) => executionId)}::uuid[],
        ${started.map(({ runId }) => runId)}::text[]) as started(id, run_id)
      where execution.id = started.id`.execute(db);
}

/** Temporal knows of the cancel. */
export async function updateExecutionCancelled(db: Database, id: string): Promise<void> {
  await db
    .updateTable('execution')
    .set({ dispatch: null, dispatch_at: null })
    .where('id', '=', id)
    .where('dispatch', '=', 'cancel')
    .execute();
  await db.deleteFrom('orphan_run').where('execution_id', '=', id).execute();
}
