import { sql } from 'kysely';
import { columnList } from '../../columns.ts';
import { type Database, transact } from '../../database.ts';
import { failWaitingMail } from '../../emails/endings.ts';
import { anyOf } from '../../expressions.ts';
import { enqueueExecutions } from '../../outbox/outbox.ts';
import { pageInTurn } from '../../pages.ts';
import { closingSteps } from '../../workflows/executions/closing.ts';
import { type ExecutionRow, activeStatuses } from '../../workflows/executions/executions.ts';

/**
 * Cancels active executions, some hundreds at most, in the caller's transaction: the rows at once,
 * their runs after the commit. Returns the cancelled rows.
 */
export async function cancelExecutions(
  tx: Database,
  ids: readonly string[],
  reason: 'cancelled' | 'project_disabled' | 'contact_deleted',
): Promise<ExecutionRow[]> {
  if (ids.length === 0) return [];
  // Locks the contacts first, in order, as everywhere: see `enterStep`.
  await tx
    .selectFrom('contact')
    .select('id')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('execution')
        .select('contact_id')
        .where('status', 'in', activeStatuses)
        .where('id', '=', anyOf(ids)),
    )
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
  const { rows } = await sql<ExecutionRow>`
    with ended as (
      update execution set status = 'CANCELLED', exit_reason = ${reason},
          completed_at = clock_timestamp(), updated_at = now()
        where status in ('RUNNING', 'WAITING') and id = ${anyOf(ids)}
        returning ${columnList('execution')}
    ), ${closingSteps({ atWork: 'RUNNING' })}
    select ${columnList('execution', 'ended')} from ended`.execute(tx);
  const cancelled = rows.map((row) => row.id);
  await failWaitingMail(tx, cancelled, reason === 'project_disabled' ? reason : 'execution_ended');
  await enqueueExecutions(tx, 'cancel', rows);
  return rows;
}

/**
 * Maximum number of executions cancelled in one transaction: few, because the transaction locks
 * their contacts.
 */
const pageSize = 500;

/**
 * Milliseconds after which `cancelAllExecutions` stops. The sweep cancels the remaining executions.
 */
const workMs = 15_000;

/**
 * Cancels all executions of a workflow that are active now, page by page, for at most 15 seconds.
 * The sweep cancels the rest, also if the request dies. Returns the number of executions, including
 * those that the sweep will cancel.
 * @param note writes to the security log. It runs in the first transaction: after the commit of
 * this transaction, the cancellation is completed in any case.
 */
export async function cancelAllExecutions(
  db: Database,
  { id: workflowId, project_id }: { id: string; project_id: string },
  note: (tx: Database) => Promise<void>,
): Promise<number> {
  const active = await transact(db, async (tx) => {
    const until = sql<Date>`clock_timestamp()`;
    await tx
      .insertInto('workflow_cancellation')
      .values({ workflow_id: workflowId, project_id, until })
      .onConflict((conflict) => conflict.column('workflow_id').doUpdateSet({ until }))
      .execute();
    const { count } = await tx
      .selectFrom('execution')
      .select(sql<number>`count(*)::int`.as('count'))
      .where('workflow_id', '=', workflowId)
      .where('status', 'in', activeStatuses)
      .executeTakeFirstOrThrow();
    await note(tx);
    return count;
  });
  const end = Date.now() + workMs;
  let cancelled = 0;
  while (Date.now() < end) {
    const page = await cancelPage(db, workflowId);
    cancelled += page.cancelled;
    if (page.isOver) return cancelled;
  }
  return Math.max(active, cancelled);
}

/**
 * Continues the cancellations that requests have not completed, a page of each workflow in turn,
 * until `isOver` returns true.
 */
export async function continueCancellations(db: Database, isOver: () => boolean): Promise<void> {
  const rows = await db.selectFrom('workflow_cancellation').select('workflow_id').execute();
  const ids = rows.map((row) => row.workflow_id);
  await pageInTurn(ids, isOver, async (id) => (await cancelPage(db, id)).isOver);
}

async function cancelPage(
  db: Database,
  workflowId: string,
): Promise<{ cancelled: number; isOver: boolean }> {
  return transact(db, async (tx) => {
    // Locked before the executions are read, so that a later request cannot move `until` meanwhile.
    // Such a request inserts a new row after this row is deleted.
    await tx
      .selectFrom('workflow_cancellation')
      .select('workflow_id')
      .where('workflow_id', '=', workflowId)
      .forUpdate()
      .execute();
    const rows = await tx
      .selectFrom('workflow_cancellation as cancellation')
      .innerJoin('execution', 'execution.workflow_id', 'cancellation.workflow_id')
      .select('execution.id')
      .where('cancellation.workflow_id', '=', workflowId)
      .where('execution.status', 'in', activeStatuses)
      .whereRef('execution.started_at', '<=', 'cancellation.until')
      .limit(pageSize)
      .execute();
    const ids = rows.map(({ id }) => id);
    const cancelled = (await cancelExecutions(tx, ids, 'cancelled')).length;
    if (ids.length === pageSize) return { cancelled, isOver: false };
    await tx.deleteFrom('workflow_cancellation').where('workflow_id', '=', workflowId).execute();
    return { cancelled, isOver: true };
  });
}
