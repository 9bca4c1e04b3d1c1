import { sql } from 'kysely';
import { columnsOf } from '../../columns.ts';
import type { Database } from '../../database.ts';
import { enqueueExecutions, signalExecutions } from '../../outbox/outbox.ts';
import { holdEnabledProject } from '../../projects/projects.ts';
import { placeAgain } from './start-execution.ts';
import { closeSteps } from '../../workflows/executions/closing.ts';
import { closeDigest, hasOpenDigest } from '../../workflows/executions/digests.ts';
import type { ExecutionRow } from '../../workflows/executions/executions.ts';
import { lockExecutions } from '../../workflows/executions/lock.ts';
import { reconcileWhenRunning } from '../../workflows/executions/reconciliation.ts';
import { listStepMarks } from '../../workflows/executions/starts.ts';
import { findVersionGraph } from '../../workflows/graphs.ts';
import { found, invalidField, notFound, Problem } from '../../../domain/errors.ts';
import { resultsOf } from '../../../domain/workflow/graph-rules.ts';
import { findStep, type Graph, type GraphStep, stepAfter } from '../../../domain/workflow/graph.ts';
import { passOver, type StepMark } from '../../../domain/workflow/place.ts';

/**
 * Skips a step of an execution, in the caller's transaction: the step at which the execution waits,
 * the next step, or the failed step. The execution continues after this step, along `branch`. If
 * the execution had failed, the caller starts its run after the commit (`startNow`).
 * @returns the row of the execution, and true if the execution had failed
 * @throws Problem EXECUTION_NOT_FOUND, EXECUTION_NOT_SKIPPABLE, PROJECT_DISABLED; EXECUTION_EXISTS
 * when it has failed and the contact has another active execution; VALIDATION_ERROR
 */
export async function skipStep(
  tx: Database,
  { id, projectId, branch }: { id: string; projectId: string; branch: string | null },
): Promise<{ row: ExecutionRow; hasFailed: boolean }> {
  await holdEnabledProject(tx, projectId);
  const [execution] = await lockExecutions(tx, [id]);
  if (!execution) throw notFound('EXECUTION', id);
  const hasFailed = execution.status === 'FAILED';
  const { graph, marks, step } = await findSkipped(tx, execution, branch);
  const slot = hasFailed ? await placeAgain(tx, execution) : null;
  const output = await endWait(tx, id, step.id);
  await tx
    .updateTable('step_execution')
    .set({
      status: 'SKIPPED',
      output: sql<string>`coalesce(output, '{}') || ${JSON.stringify({
        ...output,
        skipped: true,
        ...(branch !== null && { branch }),
      })}::jsonb`,
      started_at: sql<Date>`coalesce(started_at, clock_timestamp())`,
      completed_at: sql<Date>`clock_timestamp()`,
      updated_at: sql<Date>`now()`,
    })
    .where('execution_id', '=', id)
    .where('step_id', '=', step.id)
    .execute();
  const next = passOver(graph, stepAfter(graph, step.id, branch), marks);
  const row = await tx
    .updateTable('execution')
    .set({
      ...(next
        ? { status: 'RUNNING', current_step_id: step.id, completed_at: null }
        : {
            status: 'COMPLETED',
            current_step_id: null,
            completed_at: sql<Date>`clock_timestamp()`,
          }),
      error: null,
      held_at: null,
      next_reconcile_at: reconcileWhenRunning,
      ...(hasFailed && { slot, start_generation: sql<number>`start_generation + 1` }),
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .returning(columnsOf('execution'))
    .executeTakeFirstOrThrow();
  if (!next) await closeSteps(tx, [id]);
  if (!hasFailed) await signalExecutions(tx, [row]);
  else if (next) await enqueueExecutions(tx, 'start', [row], { isAwaited: true });
  return { row, hasFailed };
}

/**
 * Returns the step of an execution that can be skipped now.
 * @throws Problem EXECUTION_NOT_SKIPPABLE; VALIDATION_ERROR when the step needs another branch
 */
export async function findSkipped(
  db: Database,
  execution: ExecutionRow,
  branch: string | null,
): Promise<{ graph: Graph; marks: StepMark[]; step: GraphStep }> {
  const { workflow_id: workflowId, workflow_version: version } = execution;
  const graph = found('WORKFLOW', workflowId, await findVersionGraph(db, workflowId, version));
  const marks = await listStepMarks(db, execution.id);
  const step = findStep(graph, skippable(execution, marks)?.stepId ?? '');
  if (!step) throw new Problem('EXECUTION_NOT_SKIPPABLE');
  checkBranch(graph, step, branch);
  return { graph, marks, step };
}

function skippable(
  { status, current_step_id }: ExecutionRow,
  marks: readonly StepMark[],
): StepMark | undefined {
  const current = marks.find(({ stepId }) => stepId === current_step_id);
  const scheduled = marks.find((mark) => mark.status === 'SCHEDULED');
  switch (status) {
    case 'FAILED':
      return current?.status === 'FAILED' ? current : undefined;
    // The execution waits for an event, collects events, or is in a delay, whose step is complete.
    case 'WAITING':
      return current;
    case 'RUNNING':
      return scheduled;
    default:
      return undefined;
  }
}

/**
 * Checks the branch along which the execution continues after a skipped step.
 * @throws Problem VALIDATION_ERROR when the step needs another branch.
 */
function checkBranch(graph: Graph, step: GraphStep, branch: string | null): void {
  const branches = resultsOf(graph, step);
  if (branches.length > 0 && branch === null) {
    const message = `Is required, because "${step.name}" has branches. Send one of them: ${branches.join(', ')}.`;
    throw invalidField('branch', 'required', message);
  }
  if (branch !== null && !branches.includes(branch)) {
    const message =
      branches.length === 0
        ? `"${step.name}" has no branches. Leave \`branch\` out.`
        : `"${step.name}" has no branch "${branch}". It has: ${branches.join(', ')}.`;
    throw invalidField('branch', 'not_allowed', message);
  }
}

/**
 * Ends the wait of a step: deletes an open wait, closes an open digest with the events it has, or
 * makes the step after a delay due now.
 * @returns the output of a digest; otherwise an empty object
 * @throws Problem EXECUTION_NOT_SKIPPABLE when the event of the wait has arrived.
 */
async function endWait(tx: Database, executionId: string, stepId: string): Promise<object> {
  if (await hasOpenDigest(tx, executionId)) return closeDigest(tx, executionId, 'skip');
  const wait = await tx
    .deleteFrom('wait')
    .where('execution_id', '=', executionId)
    .returning('event_id')
    .executeTakeFirst();
  if (wait?.event_id) throw new Problem('EXECUTION_NOT_SKIPPABLE');
  await tx
    .updateTable('step_execution')
    .set({ scheduled_for: sql<Date>`clock_timestamp()`, updated_at: sql<Date>`now()` })
    .where('execution_id', '=', executionId)
    .where('status', '=', 'SCHEDULED')
    .where('step_id', '<>', stepId)
    .execute();
  return {};
}
