import { sql } from 'kysely';
import { type Database, transact } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import { enqueueExecutions, signalExecutions } from '../../outbox/outbox.ts';
import { closingSteps } from './closing.ts';
import type { RunEnd } from '../../../domain/runs/reconcile.ts';
import { activeStatuses } from './executions.ts';

/**
 * The times at which an active execution is reconciled with its run in Temporal, and the results
 * that are recorded. The run may be lost, have ended without notice, or be unable to continue: see
 * `activities/upkeep/reconcile.ts`.
 */

/**
 * SQL of the time of the next check of an execution that begins to run. Most executions have ended
 * by then.
 */
export const reconcileWhenRunning = sql<Date>`now() + interval '5 minutes'`;

/**
 * SQL of the time of the next check of an execution that waits: a minute after its timer, and at
 * least every six hours, because its run may be lost. If its run was ended in Temporal, the
 * execution is checked sooner.
 */
export function reconcileWhenWaiting(until: ReturnType<typeof sql>) {
  // Without a timer, `until` is null, which `least` ignores.
  const next = sql`least(${until} + interval '1 minute', now() + interval '6 hours')`;
  return sql<Date>`greatest(${next}, now() + interval '1 minute')`;
}

/** An active execution that is due for reconciliation. */
export interface ExecutionToReconcile {
  id: string;
  projectId: string;
  workflowName: string;
  status: 'RUNNING' | 'WAITING';
  /**
   * Number of the latest start of the execution's run. The result of the check counts only for this
   * start.
   */
  generation: number;
  /** Milliseconds since the execution's current step began. */
  stepMs: number;
  wasStuck: boolean;
  /** True if the database was put back to an earlier moment since the execution has started. */
  isOfBefore: boolean;
  /**
   * Number of times that the execution's entry in the outbox was claimed to be sent to Temporal;
   * null: it has no entry.
   */
  tries: number | null;
}

/**
 * Claims executions to check: no other worker checks them for 20 seconds. If a worker is killed,
 * its executions become due again. Two checks of one execution do no harm.
 */
export async function claimForReconciliation(
  db: Database,
  max: number,
): Promise<ExecutionToReconcile[]> {
  const { rows } = await sql<ExecutionToReconcile>`
    with claimed as (
      update execution set next_reconcile_at = now() + interval '20 seconds'
        where id in (select id from execution
          where status in ('RUNNING', 'WAITING') and next_reconcile_at < now()
          order by next_reconcile_at limit ${max} for update skip locked)
        returning id, project_id, workflow_name, status, start_generation, current_step_id,
          started_at, stuck_since
    )
    select claimed.id, project_id as "projectId", workflow_name as "workflowName", claimed.status,
        start_generation as generation, stuck_since is not null as "wasStuck",
        coalesce(claimed.started_at < (select max(held_before) from restore
          where kind = 'database_older'), false) as "isOfBefore",
        (select tries from outbox where run_id = 'execution-' || claimed.id) as tries,
        (extract(epoch from now() - coalesce((select step.started_at from step_execution step
            where step.execution_id = claimed.id and step.step_id = claimed.current_step_id),
          claimed.started_at)) * 1000)::float8 as "stepMs"
      from claimed`.execute(db);
  return rows;
}

/** Makes these executions due for reconciliation now, because their runs have ended. */
export async function reconcileSoon(db: Database, ids: readonly string[]): Promise<void> {
  await db
    .updateTable('execution')
    .set({ next_reconcile_at: sql<Date>`now()` })
    .where('id', '=', anyOf(ids))
    .where('status', 'in', activeStatuses)
    .where('next_reconcile_at', '>', sql<Date>`now()`)
    .execute();
}

const isSame = ({ id, generation }: ExecutionToReconcile) =>
  sql`execution.id = ${id} and execution.start_generation = ${generation}
    and execution.status in ('RUNNING', 'WAITING')`;

/** SQL of the time of the next check of an execution whose state matches that of its run. */
const nextReconcileAt = sql`case
  when execution.held_at is not null then ${reconcileWhenWaiting(sql`null::timestamptz`)}
  when execution.status = 'RUNNING' then ${reconcileWhenRunning}
  else ${reconcileWhenWaiting(sql`coalesce(
    (select inner_wait.expires_at from wait inner_wait
      where inner_wait.execution_id = execution.id limit 1),
    (select max(inner_delay.scheduled_for) from step_execution inner_delay
      where inner_delay.execution_id = execution.id and inner_delay.status = 'SCHEDULED'))`)} end`;

/**
 * Records that an execution matches its open run.
 * @param run.stuck why the run cannot continue; null: it can. `stuck_since` is the time of the
 * first check with this result.
 */
export async function recordOpenRun(
  db: Database,
  execution: ExecutionToReconcile,
  run: { runId: string | null; stuck: string | null },
): Promise<void> {
  await sql`
    update execution set next_reconcile_at = ${nextReconcileAt},
        temporal_run_id = coalesce(temporal_run_id, ${run.runId}),
        stuck_since = case when ${run.stuck}::text is not null then coalesce(stuck_since, now()) end,
        stuck_reason = ${run.stuck}
      where ${isSame(execution)}`.execute(db);
}

/**
 * Signals the run of an execution again, if a delay or wait ended more than a minute ago. The run
 * has the position of the row, but has not continued, so a signal was lost.
 */
export async function signalOverdue(db: Database, execution: ExecutionToReconcile): Promise<void> {
  await transact(db, async (tx) => {
    const { rows } = await sql<{ id: string; project_id: string }>`
      select id, project_id from execution
        where ${isSame(execution)} and held_at is null and exists (
          select from step_execution step where step.execution_id = execution.id
            and (step.status = 'SCHEDULED' and step.scheduled_for < now() - interval '1 minute'
              or step.status = 'WAITING' and step.execute_after < now() - interval '1 minute'))
      `.execute(tx);
    await signalExecutions(tx, rows);
  });
}

/** Number of executions that `signalChangedSince` reads at once. */
const readAtOnce = 2_000;

/**
 * Signals the runs of executions that have changed since `since`, because Temporal has lost all
 * later changes. A run that is behind then continues, a lost run starts again, and the run of an
 * ended execution ends. Returns the number of executions.
 * @param since the start of 1970 means that Temporal has lost everything, so only active executions
 *   are signalled
 */
export async function signalChangedSince(db: Database, since: Date): Promise<number> {
  const isEverything = since.getTime() <= 0;
  let signalled = 0;
  for (let after: string | null = null; ;) {
    const { rows } = await sql<{ id: string; project_id: string; is_concerned: boolean }>`
      select id, project_id, status in ('RUNNING', 'WAITING') and (updated_at >= ${since}
            or exists (select from wait
              where wait.execution_id = execution.id and wait.event_id is not null)
            or exists (select from step_execution step
              where step.execution_id = execution.id and step.updated_at >= ${since}))
          or updated_at >= ${since} and not ${isEverything}::boolean as is_concerned
        from (select id, project_id, status, updated_at from execution
          where ${after}::uuid is null or id > ${after}::uuid
          order by id limit ${readAtOnce}) execution`.execute(db);
    const concerned = rows.filter((row) => row.is_concerned);
    await transact(db, (tx) => signalExecutions(tx, concerned));
    signalled += concerned.length;
    after = rows.at(-1)?.id ?? null;
    if (rows.length < readAtOnce) return signalled;
  }
}

/**
 * Restarts the lost run of an execution at its position. Returns true if the execution was still
 * active.
 */
export async function restartExecution(
  db: Database,
  execution: ExecutionToReconcile,
): Promise<boolean> {
  return transact(db, async (tx) => {
    const { rows } = await sql<{ id: string; project_id: string }>`
      update execution set start_generation = start_generation + 1,
          next_reconcile_at = ${reconcileWhenRunning}, updated_at = now()
        where ${isSame(execution)}
        returning id, project_id`.execute(tx);
    await enqueueExecutions(tx, 'start', rows);
    return rows.length > 0;
  });
}

/**
 * Ends an execution as its run was ended in Temporal: completed, cancelled, or failed with this text.
 * Returns true if the execution was still active.
 */
export async function endAsItsRun(
  db: Database,
  execution: ExecutionToReconcile,
  end: RunEnd,
): Promise<boolean> {
  const error = 'error' in end ? end.error : null;
  const isCompleted = 'completed' in end;
  const { rows } = await sql`
    with ended as (
      update execution set
          status = case when ${error}::text is not null then 'FAILED'
            when ${isCompleted} then 'COMPLETED' else 'CANCELLED' end,
          exit_reason = case when ${error}::text is null and not ${isCompleted} then 'cancelled' end,
          error = ${error}, stuck_since = null, stuck_reason = null,
          completed_at = clock_timestamp(), updated_at = now()
        where ${isSame(execution)}
        returning execution.id
    ), ${closingSteps({ atWork: error === null ? 'SKIPPED' : 'FAILED' })}
    select id from ended`.execute(db);
  return rows.length > 0;
}
