import { type Selectable, sql } from 'kysely';
import { v7 as uuidV7 } from 'uuid';
import { columnsOf } from '../../columns.ts';
import type { Database } from '../../database.ts';
import { isoTime } from '../../expressions.ts';
import { isDue, isOn } from '../../sql/execution-predicates.ts';
import type { StepExecution } from '../../tables.ts';
import type { ExecutionRow } from './executions.ts';
import { reconcileWhenRunning, reconcileWhenWaiting } from './reconciliation.ts';
import type { FixedDelay } from '../../../domain/workflow/steps/effects.ts';

/** The rows that an execution's run writes at each step of the graph. */

export type StepExecutionRow = Selectable<StepExecution>;

/** An execution with its current step execution. */
export interface StepVisit {
  execution: Pick<
    ExecutionRow,
    | 'id'
    | 'project_id'
    | 'contact_id'
    | 'workflow_id'
    | 'workflow_name'
    | 'key'
    | 'started_at'
    | 'context'
    | 'exit_pending'
    | 'move_job_id'
  > & {
    /** True if the execution or its workflow is paused, so that no further step begins. */
    is_paused: boolean;
  };
  stepExecution: Pick<StepExecutionRow, 'id' | 'step_id' | 'status' | 'attempts' | 'output'> & {
    /** When the step was first entered. */
    started_at: Date;
  };
  /**
   * When the step was completed, to the microsecond, if an earlier call did this; otherwise null.
   */
  completedAt: string | null;
}

type EnteredRow = StepVisit['execution'] & {
  step_execution_id: string;
  step_status: string;
  attempts: number;
  output: StepExecutionRow['output'];
  step_started_at: Date;
  completed_at: string | null;
};

/**
 * Enters a step, in the caller's transaction: locks the contact and then the execution, makes the
 * execution RUNNING at this step, and creates the step execution if it is missing. A repeated call
 * changes nothing, nor does a call for a completed step, for example by a late attempt.
 * Returns null when the execution is no longer active, or the step may not begin: `findObstacle`
 * returns the reason. Always lock the contact before the execution, or two transactions could
 * deadlock.
 */
export async function enterStep(
  tx: Database,
  at: { executionId: string; stepId: string; version: number },
  newId: string,
): Promise<StepVisit | null> {
  const { executionId, stepId, version } = at;
  // One statement, because each step of each execution runs it.
  const { rows } = await sql<EnteredRow>`
    with held as (
      select id from contact
        where id = (select contact_id from execution where id = ${executionId})
        for no key update
    ), active as (
      select execution.id, execution.project_id, contact_id, workflow_id, workflow_name, key,
          started_at, context, exit_pending, move_job_id,
          coalesce(execution.paused_at, workflow.paused_at) is not null as is_paused
        from held, execution left join workflow on workflow.id = execution.workflow_id
        where execution.id = ${executionId} and execution.contact_id = held.id
          and status in ('RUNNING', 'WAITING') and ${isOn(version)}
        for no key update of execution
    ), step as (
      insert into step_execution (id, project_id, execution_id, step_id, status, started_at)
        select ${newId}::uuid, project_id, id, ${stepId}::uuid, 'RUNNING', clock_timestamp()
          from active
          -- While the execution is paused, about to exit or to be moved, only a step that has begun
          -- already continues.
          where not is_paused and exit_pending is null and move_job_id is null
            or exists (select from step_execution begun where begun.execution_id = active.id
              and begun.step_id = ${stepId} and begun.status <> 'SCHEDULED')
        on conflict (execution_id, step_id) do update set
          status = case when step_execution.status in ('COMPLETED', 'WAITING')
            then step_execution.status else 'RUNNING' end,
          started_at = coalesce(step_execution.started_at, clock_timestamp()),
          completed_at = case when step_execution.status = 'COMPLETED'
            then step_execution.completed_at end,
          updated_at = now()
          where step_execution.status <> 'SKIPPED'
            and (step_execution.status <> 'SCHEDULED'
              or ${isDue(sql`step_execution.scheduled_for`)})
        returning id, status, attempts, output, started_at,
          coalesce(settled_at, completed_at) as completed_at
    ), entered as (
      update execution set status = 'RUNNING', current_step_id = ${stepId}, updated_at = now(),
          held_at = null,
          next_reconcile_at = case when execution.status = 'RUNNING' then next_reconcile_at
            else ${reconcileWhenRunning} end,
          stuck_since = null, stuck_reason = null
        from step
        where execution.id = ${executionId} and step.status not in ('COMPLETED', 'WAITING')
    )
    select active.id, active.project_id, active.contact_id, active.workflow_id,
        active.workflow_name, active.key, active.started_at, active.context, active.exit_pending,
        active.move_job_id, active.is_paused, step.id as step_execution_id,
        step.status as step_status, step.attempts, step.output, step.started_at as step_started_at,
        case when step.status = 'COMPLETED' then step.completed_at::text end as completed_at
      from active cross join step`.execute(tx);
  const [row] = rows;
  if (!row) return null;
  const { step_execution_id: id, step_status: status, attempts, output } = row;
  return {
    execution: row,
    stepExecution: {
      id,
      step_id: stepId,
      status,
      attempts,
      output,
      started_at: row.step_started_at,
    },
    completedAt: row.completed_at,
  };
}

/** Completes a step with its output. Returns the completion time, to the microsecond. */
export async function completeStep(
  tx: Database,
  stepExecutionId: string,
  output: Record<string, unknown>,
): Promise<string> {
  const row = await tx
    .updateTable('step_execution')
    .set({
      status: 'COMPLETED',
      output: JSON.stringify(output),
      completed_at: sql<Date>`clock_timestamp()`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', stepExecutionId)
    .returning(sql<string>`completed_at::text`.as('at'))
    .executeTakeFirstOrThrow();
  return row.at;
}

/**
 * Sets a started step to PENDING between two attempts. The step's output is the result of the last
 * attempt, until the next attempt has ended. The number of attempts never decreases.
 */
export async function postponeStep(
  tx: Database,
  stepExecutionId: string,
  output: Record<string, unknown> & { attempts: number },
): Promise<void> {
  await tx
    .updateTable('step_execution')
    .set({
      status: 'PENDING',
      attempts: sql<number>`greatest(attempts, ${output.attempts})`,
      output: sql<string>`case when attempts > ${output.attempts} then output
        else ${JSON.stringify(output)}::jsonb end`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', stepExecutionId)
    .execute();
}

/**
 * Records the result of a step whose execution ended while the step was running, even if the step
 * has been closed (`closingSteps`).
 */
export async function completeLateStep(
  db: Database,
  executionId: string,
  stepId: string,
  output: Record<string, unknown>,
): Promise<void> {
  await db
    .updateTable('step_execution')
    .set({
      status: 'COMPLETED',
      output: JSON.stringify(output),
      completed_at: sql<Date>`clock_timestamp()`,
      updated_at: sql<Date>`now()`,
    })
    .where('execution_id', '=', executionId)
    .where('step_id', '=', stepId)
    .where(sql<boolean>`(status = 'RUNNING' or status = 'SKIPPED' and output is null)`)
    .execute();
}

/**
 * Reads `exit_pending` again after the step itself has recorded events, because one of them may
 * have met an exit rule.
 */
export async function rereadExitPending(tx: Database, visit: StepVisit): Promise<StepVisit> {
  const { exit_pending } = await tx
    .selectFrom('execution')
    .select('exit_pending')
    .where('id', '=', visit.execution.id)
    .executeTakeFirstOrThrow();
  return { ...visit, execution: { ...visit.execution, exit_pending } };
}

/**
 * Marks an execution as waiting at a step until a time (null: without end). Changes nothing if the
 * execution has already continued, so a late attempt may call it.
 */
export async function updateExecutionWaiting(
  tx: Database,
  { executionId, stepId }: { executionId: string; stepId: string },
  until: Date | null,
): Promise<void> {
  await tx
    .updateTable('execution')
    .set({
      status: 'WAITING',
      updated_at: sql<Date>`now()`,
      next_reconcile_at: reconcileWhenWaiting(sql`${until}::timestamptz`),
    })
    .where('id', '=', executionId)
    .where('current_step_id', '=', stepId)
    .where('status', '=', 'RUNNING')
    .where('held_at', 'is', null)
    .execute();
}

/**
 * Completes a step with its output and begins the next one. The execution must not have begun the
 * next step before (`passOver` skips such steps), so the insert needs no `on conflict`. The
 * caller's next statement moves the execution to the next step.
 */
export async function completeStepAndEnter(
  tx: Database,
  { execution, stepExecution }: StepVisit,
  output: Record<string, unknown>,
  next: { stepId: string; newId: string },
): Promise<void> {
  await sql`
    with completed as (
      update step_execution set status = 'COMPLETED', output = ${JSON.stringify(output)},
          completed_at = clock_timestamp(), updated_at = now()
        where id = ${stepExecution.id}
        returning id
    )
    insert into step_execution (id, project_id, execution_id, step_id, status, started_at)
      select ${next.newId}::uuid, ${execution.project_id}::uuid, ${execution.id}::uuid,
          ${next.stepId}::uuid, 'RUNNING', clock_timestamp()
        -- Selects from completed, so that the next step begins after this one, also in the
        -- history.
        from completed`.execute(tx);
}

/**
 * Completes a delay that an execution has entered. The execution waits at the delay, and the next
 * step, if there is one, is scheduled. Returns when the delay ends.
 */
export async function completeDelay(
  tx: Database,
  execution: Pick<ExecutionRow, 'id' | 'project_id'>,
  { stepId, nextStepId }: { stepId: string; nextStepId: string | null },
  delay: FixedDelay | { until: Date; output: Record<string, unknown> },
): Promise<Date> {
  const resumeAt =
    'until' in delay
      ? sql`${delay.until}::timestamptz`
      : sql`started_at + ${delay.ms} * interval '1 millisecond'`;
  const { rows } = await sql<{ resume_at: Date }>`
    with delay as (
      select id, (${resumeAt})::timestamptz(3) as resume_at
        from step_execution where execution_id = ${execution.id} and step_id = ${stepId}
    ), completed as (
      update step_execution set status = 'COMPLETED',
          output = ${JSON.stringify(delay.output)}::jsonb || jsonb_build_object('resumeAt',
            to_char(delay.resume_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
          completed_at = clock_timestamp(), updated_at = now()
        from delay where step_execution.id = delay.id
        returning step_execution.id
    ), scheduled as (
      insert into step_execution (id, project_id, execution_id, step_id, status, scheduled_for)
        select ${uuidV7()}::uuid, ${execution.project_id}::uuid, ${execution.id}::uuid, next.id,
            'SCHEDULED', resume_at
          -- The delay is completed first, also in the history.
          from completed, delay, (select ${nextStepId}::uuid as id) next
          where next.id is not null
        on conflict (execution_id, step_id) do nothing
    ), waiting as (
      update execution set status = 'WAITING', current_step_id = ${stepId}, updated_at = now(),
          next_reconcile_at = ${reconcileWhenWaiting(sql`delay.resume_at`)}
        from delay where execution.id = ${execution.id}
    )
    select resume_at from delay`.execute(tx);
  const [row] = rows;
  if (!row) throw new Error(`Execution ${execution.id} has not entered step ${stepId}.`);
  return row.resume_at;
}

/**
 * Marks an execution as running again after its wait, and adds the data of the event that ended the
 * wait (null: none) to the context. Keys of the event replace those of the context.
 */
export async function leaveWait(tx: Database, executionId: string, data: unknown): Promise<void> {
  await sql`
    update execution set status = 'RUNNING', updated_at = now(),
        context = case when ${JSON.stringify(data)}::jsonb = 'null' then context
          else coalesce(context, '{}') || ${JSON.stringify(data)}::jsonb end,
        next_reconcile_at = case when status = 'RUNNING' then next_reconcile_at else ${reconcileWhenRunning} end
      where id = ${executionId}`.execute(tx);
}

/**
 * Lists the step executions of an execution, oldest first. The output of an open digest has its
 * current count and end.
 */
export async function listStepExecutions(
  db: Database,
  executionId: string,
): Promise<StepExecutionRow[]> {
  return db
    .selectFrom('step_execution')
    .leftJoin('wait', 'wait.step_execution_id', 'step_execution.id')
    .select(columnsOf('step_execution'))
    .select(
      sql<StepExecutionRow['output']>`case when wait.digest is null then output
        else output || jsonb_build_object('count', wait.digest_count,
          'closesAt', ${isoTime(sql`wait.expires_at`)}) end`.as('output'),
    )
    .where('step_execution.execution_id', '=', executionId)
    .orderBy('step_execution.created_at')
    .orderBy('step_execution.id')
    .execute();
}

/** The reason why a step of an execution was not entered. */
export type Obstacle =
  /** The execution has ended. `error`: the error of the step, if it has failed. */
  | { kind: 'ended'; status: string; error: string | null }
  /** The execution is at another step, or has not reached this one yet. */
  | { kind: 'elsewhere' }
  /** An exit rule was met while the last step was running, so the execution must exit now. */
  | { kind: 'exit'; reason: string }
  /** The execution must be moved to another version first. */
  | { kind: 'move' }
  | { kind: 'paused' };

/** Returns the reason why `enterStep` has not entered a step. */
export async function findObstacle(
  tx: Database,
  at: { executionId: string; stepId: string; version: number },
): Promise<Obstacle> {
  const { rows } = await sql<{
    status: string;
    stepStatus: string | null;
    error: string | null;
    isThere: boolean;
    exitPending: string | null;
    isMoving: boolean;
    isPaused: boolean;
  }>`
    select execution.status, step.status as "stepStatus", step.error,
        ${isOn(at.version)} and coalesce(step.status <> 'SKIPPED'
          and (step.status <> 'SCHEDULED' or ${isDue(sql`step.scheduled_for`)}), true) as "isThere",
        exit_pending as "exitPending", move_job_id is not null as "isMoving",
        coalesce(execution.paused_at, workflow.paused_at) is not null as "isPaused"
      from execution
      left join workflow on workflow.id = execution.workflow_id
      left join step_execution step
        on step.execution_id = execution.id and step.step_id = ${at.stepId}
      where execution.id = ${at.executionId}`.execute(tx);
  const [row] = rows;
  if (!row) return { kind: 'ended', status: 'CANCELLED', error: null };
  if (row.status !== 'RUNNING' && row.status !== 'WAITING') {
    // If an exit rule was met in the meantime, a step that fails ends its execution as EXITED.
    const hasFailed = row.status === 'FAILED' && row.stepStatus === 'FAILED';
    const error = hasFailed ? (row.error ?? '') : null;
    return { kind: 'ended', status: row.status, error };
  }
  if (!row.isThere) return { kind: 'elsewhere' };
  if (row.exitPending !== null) return { kind: 'exit', reason: row.exitPending };
  if (row.isMoving) return { kind: 'move' };
  // An execution that is not paused any more was released between the two statements.
  return row.isPaused ? { kind: 'paused' } : { kind: 'elsewhere' };
}
