import { sql } from 'kysely';
import { v7 as uuidV7 } from 'uuid';
import { columnsOf } from '../../columns.ts';
import { type Database, transact } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import { signalExecutions } from '../../outbox/outbox.ts';
import { pageInTurn } from '../../pages.ts';
import { activeStatuses, type ExecutionRow, isActive } from './executions.ts';
import { historyWith } from './history.ts';
import { lockExecutions } from './lock.ts';
import { reconcileWhenRunning, reconcileWhenWaiting } from './reconciliation.ts';
import { notFound, Problem } from '../../../domain/errors.ts';

/**
 * Pausing: while an execution or its workflow is paused, the execution begins no step. `holdStep`
 * holds the next step, without a timer, until the execution is released.
 */

/** Maximum number of executions released in one transaction. */
const pageSize = 500;

/**
 * Pauses one execution, in the caller's transaction.
 * @throws Problem EXECUTION_NOT_FOUND, EXECUTION_NOT_ACTIVE, EXECUTION_PAUSED
 */
export async function pauseExecution(
  tx: Database,
  id: string,
  reason: string | null,
): Promise<ExecutionRow> {
  const [execution] = await lockExecutions(tx, [id]);
  if (!execution) throw notFound('EXECUTION', id);
  if (!isActive(execution)) {
    const { status } = execution;
    const message = `The execution has already ended: it is ${status}.`;
    throw new Problem('EXECUTION_NOT_ACTIVE', { message, details: { status } });
  }
  if (execution.paused_at) throw new Problem('EXECUTION_PAUSED');
  return updatePause(tx, id, { at: sql<Date>`now()`, reason });
}

/**
 * Makes one execution continue, in the caller's transaction, unless its workflow is paused.
 * @throws Problem EXECUTION_NOT_FOUND; EXECUTION_NOT_PAUSED, also when the execution has ended
 */
export async function resumeExecution(tx: Database, id: string): Promise<ExecutionRow> {
  const [execution] = await lockExecutions(tx, [id]);
  if (!execution) throw notFound('EXECUTION', id);
  if (!execution.paused_at || !isActive(execution)) throw new Problem('EXECUTION_NOT_PAUSED');
  const row = await updatePause(tx, id, { at: null, reason: null });
  if (row.held_at && !(await isWorkflowPaused(tx, row.workflow_id))) await release(tx, [row]);
  return row;
}

async function updatePause(
  tx: Database,
  id: string,
  { at, reason }: { at: ReturnType<typeof sql<Date>> | null; reason: string | null },
): Promise<ExecutionRow> {
  const detail = JSON.stringify({ paused: at !== null, ...(reason !== null && { reason }) });
  const status = sql.ref('status');
  return tx
    .updateTable('execution')
    .set({
      paused_at: at,
      pause_reason: reason,
      history: historyWith({ from: status, to: status, detail: sql`${detail}` }),
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .returning(columnsOf('execution'))
    .executeTakeFirstOrThrow();
}

/**
 * Returns true if a workflow is paused. Until the caller's transaction has ended, no other
 * transaction can pause or release the workflow.
 */
export async function isWorkflowPaused(tx: Database, id: string): Promise<boolean> {
  const workflow = await tx
    .selectFrom('workflow')
    .select('paused_at')
    .where('id', '=', id)
    .forShare()
    .executeTakeFirst();
  return Boolean(workflow?.paused_at);
}

/**
 * Holds the next step of an execution that is paused, individually or with its workflow, in the
 * transaction of `enterStep`, which has locked the execution. Returns false when it was just
 * released. A release updates the workflow's row first, so either this sees the release, or the
 * release sees the held step.
 */
export async function holdStep(
  tx: Database,
  { executionId, stepId }: { executionId: string; stepId: string },
): Promise<boolean> {
  const { workflow_id: workflowId, paused_at: pausedAt } = await tx
    .selectFrom('execution')
    .select(['workflow_id', 'paused_at'])
    .where('id', '=', executionId)
    .executeTakeFirstOrThrow();
  if (!pausedAt && !(await isWorkflowPaused(tx, workflowId))) return false;
  await sql`
    with held as (
      update execution set status = 'RUNNING', held_at = clock_timestamp(), updated_at = now(),
          -- The run has no timer until the execution is released.
          next_reconcile_at = ${reconcileWhenWaiting(sql`null::timestamptz`)}
        where id = ${executionId} and held_at is null
        returning id, project_id
    )
    insert into step_execution (id, project_id, execution_id, step_id, status, scheduled_for)
      select ${uuidV7()}::uuid, project_id, id, ${stepId}::uuid, 'SCHEDULED', clock_timestamp()
        from held
      on conflict (execution_id, step_id) do nothing`.execute(tx);
  return true;
}

/** Makes held executions, which the caller has locked, begin their next step. */
async function release(
  tx: Database,
  rows: readonly { id: string; project_id: string }[],
): Promise<void> {
  const ids = rows.map(({ id }) => id);
  await tx
    .updateTable('execution')
    .set({ held_at: null, next_reconcile_at: reconcileWhenRunning, updated_at: sql<Date>`now()` })
    .where('id', '=', anyOf(ids))
    .execute();
  // The step looks for events from `scheduled_for` on, so events that were recorded while the
  // execution was held do not count.
  await tx
    .updateTable('step_execution')
    .set({ scheduled_for: sql<Date>`clock_timestamp()`, updated_at: sql<Date>`now()` })
    .where('execution_id', '=', anyOf(ids))
    .where('status', '=', 'SCHEDULED')
    .execute();
  await signalExecutions(tx, rows);
}

/**
 * Pauses or releases a workflow, in the transaction that has locked it. Changes one row, for any
 * number of executions: `releaseExecutions` makes the held ones continue after the commit.
 */
export async function pauseWorkflow(
  tx: Database,
  { id, project_id, paused_at }: { id: string; project_id: string; paused_at: Date | null },
  isPaused: boolean,
): Promise<void> {
  if (isPaused === (paused_at !== null)) return;
  await tx
    .updateTable('workflow')
    .set({ paused_at: isPaused ? sql<Date>`now()` : null })
    .where('id', '=', id)
    .execute();
  if (isPaused) {
    await tx.deleteFrom('workflow_release').where('workflow_id', '=', id).execute();
    return;
  }
  await tx
    .insertInto('workflow_release')
    .values({ workflow_id: id, project_id })
    .onConflict((conflict) => conflict.column('workflow_id').doNothing())
    .execute();
}

/** Releases executions of a workflow page by page, until `isOver`. The sweep releases the rest. */
export async function releaseExecutions(
  db: Database,
  workflowId: string,
  isOver: () => boolean,
): Promise<void> {
  while (!(await releasePage(db, workflowId)) && !isOver());
}

/**
 * Continues releases that were requested before, a page for each workflow in turn, until `isOver`.
 */
export async function continueReleases(db: Database, isOver: () => boolean): Promise<void> {
  const rows = await db.selectFrom('workflow_release').select('workflow_id').execute();
  const ids = rows.map((row) => row.workflow_id);
  await pageInTurn(ids, isOver, (id) => releasePage(db, id));
}

/** Releases a page of a workflow's executions. Returns true if it was the last one. */
async function releasePage(db: Database, workflowId: string): Promise<boolean> {
  return transact(db, async (tx) => {
    const held = tx
      .selectFrom('execution')
      .select('id')
      .where('workflow_id', '=', workflowId)
      .where('held_at', 'is not', null)
      .where('paused_at', 'is', null)
      .where('status', 'in', activeStatuses);
    const ids = (await held.limit(pageSize).execute()).map(({ id }) => id);
    const rows = await lockExecutions(tx, ids);
    // The lock makes a new pause of the workflow wait for this page. As in all code, the locks on
    // contacts come first.
    const due = await tx
      .selectFrom('workflow_release')
      .select('workflow_id')
      .where('workflow_id', '=', workflowId)
      .forUpdate()
      .executeTakeFirst();
    if (!due) return true;
    await release(
      tx,
      rows.filter((row) => row.held_at && !row.paused_at && isActive(row)),
    );
    // Read again, because another pause may have held more executions before this transaction
    // locked the row.
    if (await held.limit(1).executeTakeFirst()) return false;
    await tx.deleteFrom('workflow_release').where('workflow_id', '=', workflowId).execute();
    return true;
  });
}
