import { sql } from 'kysely';
import { columnsOf } from '../../columns.ts';
import type { Database } from '../../database.ts';
import { enqueueExecutions } from '../../outbox/outbox.ts';
import { holdEnabledProject } from '../../projects/projects.ts';
import { moveFailed, planFailed } from './move-executions.ts';
import { placeAgain } from './start-execution.ts';
import type { ExecutionRow } from '../../workflows/executions/executions.ts';
import { lockExecutions } from '../../workflows/executions/lock.ts';
import { isWorkflowPaused } from '../../workflows/executions/pausing.ts';
import { type FindGraph, graphReader } from '../../workflows/graphs.ts';
import { invalidField, notFound, Problem } from '../../../domain/errors.ts';

export interface Retry {
  /** Version on which the execution continues; absent: the current version of the execution. */
  version?: number;
  graphs?: FindGraph;
  /** True if the caller starts the run itself after the commit (`startNow`). */
  isAwaited?: boolean;
}

/**
 * Makes a failed execution active again at its failed step, in the caller's transaction; the outbox
 * then starts its run. If this throws a Problem, nothing was written.
 * @throws Problem PROJECT_NOT_FOUND, PROJECT_DISABLED, EXECUTION_NOT_FOUND, WORKFLOW_NOT_FOUND,
 * EXECUTION_NOT_FAILED, EXECUTION_EXISTS while the contact has another active execution,
 * VALIDATION_ERROR with the field `version` when that version has no counterpart of the step.
 */
export async function retryExecution(
  tx: Database,
  execution: Pick<ExecutionRow, 'id' | 'project_id' | 'workflow_id'>,
  { version, graphs = graphReader(tx), isAwaited = false }: Retry = {},
): Promise<ExecutionRow> {
  const { id, workflow_id: workflowId } = execution;
  await holdEnabledProject(tx, execution.project_id);
  const [failed] = await lockExecutions(tx, [id]);
  if (!failed) throw notFound('EXECUTION', id);
  const { status } = failed;
  if (status !== 'FAILED') {
    const message = `Only a FAILED execution can be retried; this one is ${status}.`;
    throw new Problem('EXECUTION_NOT_FAILED', { message, details: { status } });
  }
  const workflow = await tx
    .selectFrom('workflow')
    .select('id')
    .where('id', '=', workflowId)
    .forKeyShare()
    .executeTakeFirst();
  if (!workflow) throw notFound('WORKFLOW', workflowId);
  const slot = await placeAgain(tx, failed);
  if (version !== undefined && version !== failed.workflow_version) {
    if (!(await moveFailed(tx, failed, version, graphs))) throw noSuchStep(version);
  }
  const again = {
    status: 'RUNNING',
    error: null,
    completed_at: null,
    updated_at: sql<Date>`now()`,
  };
  const row = await tx
    .updateTable('execution')
    .set({ ...again, slot, start_generation: sql<number>`start_generation + 1` })
    .where('id', '=', id)
    .returning(columnsOf('execution'))
    .executeTakeFirstOrThrow();
  const isPaused = row.paused_at !== null || (await isWorkflowPaused(tx, workflowId));
  await tx
    .updateTable('step_execution')
    .set({
      ...again,
      // A step that had begun is RUNNING again. A step that had not begun when the run was ended in
      // Temporal is due at its former time. While the execution or its workflow is paused, no step
      // may begin, so all of these are SCHEDULED.
      status: sql<string>`case when status = 'SKIPPED' and started_at is null or ${isPaused}
        then 'SCHEDULED' else 'RUNNING' end`,
      scheduled_for: sql<Date>`case when ${isPaused} then clock_timestamp() else scheduled_for end`,
      attempts: 0,
    })
    .where('execution_id', '=', id)
    .where(sql<boolean>`(status = 'FAILED'
      or status = 'SKIPPED' and not coalesce(output ? 'skipped', false)
        and (started_at is null or step_id = ${row.current_step_id}))`)
    .execute();
  await enqueueExecutions(tx, 'start', [row], { isAwaited });
  return row;
}

function noSuchStep(version: number): Problem {
  const message =
    `Version ${version} has no step that corresponds to the failed one. ` +
    'Choose another version, or leave `version` out.';
  return invalidField('version', 'not_allowed', message);
}

/**
 * Refuses a version on which a failed execution cannot be retried.
 * @throws Problem VALIDATION_ERROR when the version has no counterpart of the failed step
 */
export async function refuseVersion(
  db: Database,
  execution: ExecutionRow,
  version: number,
): Promise<void> {
  if (execution.status !== 'FAILED' || version === execution.workflow_version) return;
  if (!(await planFailed(db, execution, version, graphReader(db)))) throw noSuchStep(version);
}
