import { sql } from 'kysely';
import { firstStep } from '../../domain/workflow/decide.ts';
import type {
  DueStart,
  ExecutionStart,
  OpenStart,
  StartedRun,
} from '../../domain/workflow/execution.ts';
import { findStep, type Graph, refOf } from '../../domain/workflow/graph.ts';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';
import { activeStatuses } from './executions.ts';
import { type FindGraph, graphReader } from './graphs.ts';

/**
 * The input of an execution's run. Starting it may be slow: what is reported back counts only for
 * the start that was sent (`dispatch_generation`), so it never overwrites a later one.
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
 * What the runs of these executions are started with. One that has left its trigger resumes at its
 * current step: that step failed and is retried, or its run was lost.
 */
export async function listExecutionStarts(
  db: Database,
  ids: readonly string[],
  findGraph: FindGraph = graphReader(db),
): Promise<DueStart[]> {
  const rows = await db
    .selectFrom('execution')
    .select([
      'execution.id as executionId',
      'execution.project_id as projectId',
      'execution.workflow_id as workflowId',
      'execution.workflow_name as workflowName',
      'execution.workflow_version as version',
      'execution.contact_id as contactId',
      sql<string>`execution.started_at::text`.as('startedAt'),
      stepBegin.as('since'),
      'execution.current_step_id as currentStepId',
      'execution.temporal_run_id as failedRunId',
      'execution.dispatch_generation as generation',
      'execution.status',
      sql<string>`execution.updated_at::text`.as('updatedAt'),
    ])
    .select((eb) =>
      eb
        .selectFrom('run_format')
        .select('format')
        .where('kind', '=', 'customerWorkflow')
        .as('format'),
    )
    .where('execution.id', '=', anyOf(ids))
    .execute();
  const starts = rows.map(async (row): Promise<DueStart | null> => {
    const { currentStepId, failedRunId, generation, status, since, updatedAt, format, ...ids } =
      row;
    const graph = await findGraph(ids.workflowId, ids.version);
    // Deleted just now, and the execution with it.
    if (!graph) return null;
    const step = currentStepId === null ? undefined : findStep(graph, currentStepId);
    const resume = step && step.type !== 'TRIGGER' && { stepId: step.id, since };
    return {
      start: {
        ...ids,
        ...(resume && { resume }),
        ...inFormat(format, graph, resume ? resume.stepId : null),
      },
      generation,
      failedRunId,
      hasEnded: !activeStatuses.some((active) => active === status),
      updatedAt,
    };
  });
  return (await Promise.all(starts)).filter((start) => start !== null);
}

/** The part of a start that depends on its format. */
function inFormat(
  format: number | null,
  graph: Graph,
  stepId: string | null,
): Pick<ExecutionStart & { format: 3 }, 'format' | 'next'> | { format: 2; graph: Graph } {
  if (format !== 3) return { format: 2, graph };
  const next = firstStep(graph, stepId);
  return { format, next: next ? refOf(next) : null };
}

/** The executions among these that are as they were when they were sent: nobody has begun them. */
export async function listUnbegun(db: Database, starts: readonly OpenStart[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from execution join unnest(
        ${starts.map(({ executionId }) => executionId)}::uuid[],
        ${starts.map(({ updatedAt }) => updatedAt)}::timestamptz[]) as sent(id, updated_at)
      using (id, updated_at)
      where status = 'RUNNING'`.execute(db);
  return rows.map(({ id }) => id);
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
