import { type Selectable, sql } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import type { ExecutionRow } from './executions.ts';
import { lookWhenRunning, lookWhenWaiting } from './looks.ts';
import type { StepExecution } from '../tables.ts';

/** What an execution's run records while it walks its graph. */

export type StepExecutionRow = Selectable<StepExecution>;

/** An execution with its current step execution. */
export interface StepVisit {
  execution: Pick<
    ExecutionRow,
    'id' | 'project_id' | 'contact_id' | 'workflow_id' | 'workflow_name' | 'started_at' | 'context'
  >;
  stepExecution: Pick<StepExecutionRow, 'id' | 'attempts' | 'output'> & {
    /** When the step was first entered. */
    started_at: Date;
  };
  /** When the step was completed, to the microsecond, if the call is a repeat; else null. */
  completedAt: string | null;
}

/**
 * Enters a step, in the caller's transaction: the contact and then the execution are locked, the
 * execution is RUNNING at this step, the step execution exists. Repeating it changes nothing. Nor
 * does entering a completed step: a late attempt finds the execution at another step. Returns null
 * when the execution is no longer active. Always lock the contact before the execution, or two
 * transactions could deadlock.
 */
export async function enterStep(
  tx: Database,
  executionId: string,
  stepId: string,
  newId: string,
): Promise<StepVisit | null> {
  // One statement, because every step of every execution runs it.
  const { rows } = await sql<{
    id: string;
    project_id: string;
    contact_id: string;
    workflow_id: string;
    workflow_name: string;
    started_at: Date;
    context: ExecutionRow['context'];
    step_execution_id: string;
    attempts: number;
    output: StepExecutionRow['output'];
    step_started_at: Date;
    completed_at: string | null;
  }>`
    with held as (
      select id from contact
        where id = (select contact_id from execution where id = ${executionId})
        for no key update
    ), active as (
      select execution.id, project_id, contact_id, workflow_id, workflow_name, started_at, context
        from execution, held
        where execution.id = ${executionId} and execution.contact_id = held.id
          and status in ('RUNNING', 'WAITING')
        for no key update of execution
    ), step as (
      insert into step_execution (id, project_id, execution_id, step_id, status, started_at)
        select ${newId}::uuid, project_id, id, ${stepId}::uuid, 'RUNNING', clock_timestamp()
          from active
        on conflict (execution_id, step_id) do update set
          status = case when step_execution.status in ('COMPLETED', 'WAITING')
            then step_execution.status else 'RUNNING' end,
          started_at = coalesce(step_execution.started_at, clock_timestamp()),
          completed_at = case when step_execution.status = 'COMPLETED'
            then step_execution.completed_at end,
          updated_at = now()
        returning id, status, attempts, output, started_at, completed_at
    ), entered as (
      update execution set status = 'RUNNING', current_step_id = ${stepId}, updated_at = now(),
          next_look_at = case when execution.status = 'RUNNING' then next_look_at
            else ${lookWhenRunning} end,
          stuck_since = null, stuck_reason = null
        from step
        where execution.id = ${executionId} and step.status <> 'COMPLETED'
    )
    select active.id, active.project_id, active.contact_id, active.workflow_id,
        active.workflow_name, active.started_at, active.context,
        step.id as step_execution_id, step.attempts, step.output,
        step.started_at as step_started_at,
        case when step.status = 'COMPLETED' then step.completed_at::text end as completed_at
      from active cross join step`.execute(tx);
  const [row] = rows;
  if (!row) return null;
  const { step_execution_id: id, attempts, output, step_started_at, completed_at } = row;
  return {
    execution: row,
    stepExecution: { id, attempts, output, started_at: step_started_at },
    completedAt: completed_at,
  };
}

/**
 * Completes a step with its output. Returns the time to the microsecond, as the database has it.
 */
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
 * Puts a step back between two attempts: started, with nothing in progress. The number of attempts
 * never decreases.
 */
export async function postponeStep(
  tx: Database,
  stepExecutionId: string,
  attempts: number,
): Promise<void> {
  await tx
    .updateTable('step_execution')
    .set({
      status: 'PENDING',
      attempts: sql<number>`greatest(attempts, ${attempts})`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', stepExecutionId)
    .execute();
}

/** Records the result of a step whose execution ended while the step was in progress. */
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
    .where('status', '=', 'RUNNING')
    .execute();
}

/** Ends a step and its execution as FAILED, with the same message. */
export async function failStep(
  tx: Database,
  visit: StepVisit,
  error: string,
  output: Record<string, unknown> | null,
): Promise<void> {
  const at = sql<Date>`clock_timestamp()`;
  await tx
    .updateTable('step_execution')
    .set({
      status: 'FAILED',
      error,
      output: output && JSON.stringify(output),
      completed_at: at,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', visit.stepExecution.id)
    .execute();
  await tx
    .updateTable('execution')
    .set({ status: 'FAILED', error, completed_at: at, updated_at: sql<Date>`now()` })
    .where('id', '=', visit.execution.id)
    .execute();
}

/** Marks an entered execution as waiting at its step, until a moment (null: without end). */
export async function updateExecutionWaiting(
  tx: Database,
  executionId: string,
  until: Date | null,
): Promise<void> {
  await tx
    .updateTable('execution')
    .set({
      status: 'WAITING',
      updated_at: sql<Date>`now()`,
      next_look_at: lookWhenWaiting(sql`${until}::timestamptz`),
    })
    .where('id', '=', executionId)
    .execute();
}

/**
 * Ends a delay: the step is complete, its execution waits, and the next step, if there is one, is
 * scheduled for `resumeAt`.
 */
export async function completeDelay(
  tx: Database,
  visit: StepVisit,
  delay: { output: Record<string, unknown>; nextStepId: string | null; resumeAt: Date },
): Promise<void> {
  const { execution, stepExecution } = visit;
  await sql`
    with completed as (
      update step_execution set status = 'COMPLETED', output = ${JSON.stringify(delay.output)},
          completed_at = clock_timestamp(), updated_at = now()
        where id = ${stepExecution.id}
    ), scheduled as (
      insert into step_execution (project_id, execution_id, step_id, status, scheduled_for)
        select ${execution.project_id}::uuid, ${execution.id}::uuid, next.id, 'SCHEDULED', ${delay.resumeAt}::timestamptz
          from (select ${delay.nextStepId}::uuid as id) next
          where next.id is not null
        on conflict (execution_id, step_id) do nothing
    )
    update execution set status = 'WAITING', updated_at = now(),
        next_look_at = ${lookWhenWaiting(sql`${delay.resumeAt}::timestamptz`)}
      where id = ${execution.id}`.execute(tx);
}

/** Adds an event's data to the context; incoming keys win. */
export async function mergeExecutionContext(
  tx: Database,
  executionId: string,
  data: unknown,
): Promise<void> {
  await tx
    .updateTable('execution')
    .set({
      context: sql<string>`coalesce(context, '{}') || ${JSON.stringify(data)}::jsonb`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', executionId)
    .execute();
}

/** The step executions of an execution, oldest first. */
export async function listStepExecutions(
  db: Database,
  executionId: string,
): Promise<StepExecutionRow[]> {
  return db
    .selectFrom('step_execution')
    .select(columnsOf('step_execution'))
    .where('execution_id', '=', executionId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** The state of a step and its execution, for a repeated call after the end. */
export async function findStepEnd(db: Database, executionId: string, stepId: string) {
  return db
    .selectFrom('execution')
    .leftJoin('step_execution', (join) =>
      join
        .onRef('step_execution.execution_id', '=', 'execution.id')
        .on('step_execution.step_id', '=', stepId),
    )
    .select([
      'execution.status as executionStatus',
      'step_execution.status as stepStatus',
      'step_execution.error as error',
    ])
    .where('execution.id', '=', executionId)
    .executeTakeFirst();
}
