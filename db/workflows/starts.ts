import { sql } from 'kysely';
import type { DueCancel, DueStart, StartedRun } from '../../domain/workflow/execution.ts';
import { findStep, type Graph } from '../../domain/workflow/graph.ts';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';
import { activeStatuses } from './executions.ts';

/**
 * The starts and cancels of executions to send to Temporal, and their confirmation. Sending may be
 * slow: a confirmation counts only for the request that was sent (`dispatch_generation`), so it
 * never overwrites a later request or confirmation.
 */

/**
 * When an execution's current step began, to the microsecond: at the end of the previous step, or
 * after the delay before it. Only events from then on count for a wait.
 */
const stepBegin = sql<string>`(
  select greatest(execution.started_at,
      max(completed_at) filter (where status = 'COMPLETED' and step_id <> current_step_id),
      max(scheduled_for) filter (where step_id = current_step_id))::text
    from step_execution where execution_id = execution.id)`;

/**
 * The executions among `ids` whose run is not known to be started. One that has left its trigger
 * resumes at its current step: that step failed and is retried.
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
      'execution.dispatch_generation as generation',
      'execution.status',
    ])
    .where('execution.id', '=', anyOf(ids))
    .where('execution.dispatch', '=', 'start')
    .execute();
  return rows.map(({ currentStepId, failedRunId, generation, status, since, ...row }) => {
    const start = { ...row, graph: row.graph as unknown as Graph, format: 2 as const };
    const step = currentStepId === null ? undefined : findStep(start.graph, currentStepId);
    const resume = step && step.type !== 'TRIGGER' && { stepId: step.id, since };
    const hasEnded = !activeStatuses.some((active) => active === status);
    return { start: resume ? { ...start, resume } : start, generation, failedRunId, hasEnded };
  });
}

/** The executions among `ids` that were cancelled or deleted and whose run was not. */
export async function listExecutionCancels(
  db: Database,
  ids: readonly string[],
): Promise<DueCancel[]> {
  return db
    .selectFrom('execution')
    .select(['id as executionId', sql<number | null>`dispatch_generation`.as('generation')])
    .where('id', '=', anyOf(ids))
    .where('dispatch', '=', 'cancel')
    .unionAll(
      db
        .selectFrom('orphan_run')
        .select(['execution_id as executionId', sql<number | null>`null::integer`.as('generation')])
        .where('execution_id', '=', anyOf(ids)),
    )
    .execute();
}

/**
 * Records the runs that Temporal has started: those starts are no longer due. The run of an
 * execution that was cancelled meanwhile is recorded too; its cancel stays due.
 */
export async function updateExecutionsStarted(
  db: Database,
  started: readonly StartedRun[],
): Promise<void> {
  await sql`
    with started as (
      select id, generation, run_id from unnest(${started.map(({ executionId }) => executionId)}::uuid[],
          ${started.map(({ generation }) => generation)}::int[],
          ${started.map(({ runId }) => runId)}::text[]) as run(id, generation, run_id)
    ), cancelled as (
      update execution set temporal_run_id = run_id
        from started
        where execution.id = started.id and status = 'CANCELLED'
          and dispatch_generation = started.generation + 1
    )
    update execution set temporal_run_id = run_id, dispatch = null, dispatch_at = null
      from started
      where execution.id = started.id and dispatch = 'start'
        and dispatch_generation = started.generation`.execute(db);
}

/** Records that Temporal has the cancel. */
export async function updateExecutionCancelled(db: Database, due: DueCancel): Promise<void> {
  if (due.generation === null) {
    await db.deleteFrom('orphan_run').where('execution_id', '=', due.executionId).execute();
    return;
  }
  await db
    .updateTable('execution')
    .set({ dispatch: null, dispatch_at: null })
    .where('id', '=', due.executionId)
    .where('dispatch', '=', 'cancel')
    .where('dispatch_generation', '=', due.generation)
    .execute();
}

/**
 * Records the run that an operator's reset has given an execution. Returns false when there was
 * another request meanwhile: then that run does not count.
 */
export async function updateExecutionRun(
  db: Database,
  { executionId, generation, runId }: StartedRun,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('execution')
    .set({ temporal_run_id: runId })
    .where('id', '=', executionId)
    .where('dispatch_generation', '=', generation)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
