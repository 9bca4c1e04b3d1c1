import { type Selectable, sql } from 'kysely';
import type { Database } from './database.ts';
import { activeStatuses, type ExecutionRow } from './executions.ts';
import type { StepExecution } from './tables.ts';

/** What the run of an execution notes while it walks its graph. */

export type StepExecutionRow = Selectable<StepExecution>;

/** An execution with the step execution its run is at. */
export interface StepVisit {
  execution: ExecutionRow;
  stepExecution: StepExecutionRow;
  /** When the step was completed, to the microsecond, in a call that is repeated; else null. */
  completedAt: string | null;
}

/**
 * Enters a step, in the caller's transaction: the contact and then the execution are locked, the
 * execution is RUNNING at this step, the step execution exists. Repeating it changes nothing.
 * Answers null when the execution is no longer active. Whoever locks both locks the contact
 * first, or two of them could wait for each other.
 */
export async function enterStep(
  tx: Database,
  executionId: string,
  stepId: string,
): Promise<StepVisit | null> {
  const execution = await tx
    .with('held', (query) =>
      query
        .selectFrom('contact')
        .select('id')
        .where('id', '=', (eb) =>
          eb.selectFrom('execution').select('contact_id').where('id', '=', executionId),
        )
        .forNoKeyUpdate(),
    )
    .updateTable('execution')
    .from('held')
    .set({ status: 'RUNNING', current_step_id: stepId, updated_at: sql<Date>`now()` })
    .where('execution.id', '=', executionId)
    .whereRef('execution.contact_id', '=', 'held.id')
    .where('status', 'in', activeStatuses)
    .returningAll('execution')
    .executeTakeFirst();
  if (!execution) return null;
  const { completedAt, ...stepExecution } = await tx
    .insertInto('step_execution')
    .values({
      project_id: execution.project_id,
      execution_id: executionId,
      step_id: stepId,
      status: 'RUNNING',
      started_at: sql<Date>`clock_timestamp()`,
    })
    .onConflict((conflict) =>
      conflict.columns(['execution_id', 'step_id']).doUpdateSet({
        status: sql<string>`case when step_execution.status in ('COMPLETED', 'WAITING')
          then step_execution.status else 'RUNNING' end`,
        started_at: sql<Date>`coalesce(step_execution.started_at, clock_timestamp())`,
        updated_at: sql<Date>`now()`,
      }),
    )
    .returningAll()
    .returning(
      sql<string | null>`case when status = 'COMPLETED' then completed_at::text end`.as(
        'completedAt',
      ),
    )
    .executeTakeFirstOrThrow();
  return { execution, stepExecution, completedAt };
}

/** Ends a step with its output. Answers the moment, to the microsecond, as the database writes it. */
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

/** Puts a step back between two attempts: begun, but with nothing under way. */
export async function postponeStep(
  tx: Database,
  stepExecutionId: string,
  attempts: number,
): Promise<void> {
  await tx
    .updateTable('step_execution')
    .set({ status: 'PENDING', attempts, updated_at: sql<Date>`now()` })
    .where('id', '=', stepExecutionId)
    .execute();
}

/** Records the result of a step whose execution ended while it was under way. */
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

/** Ends a step and its execution as FAILED, with one sentence for both. */
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

/** Marks an entered execution as waiting at its step. */
export async function updateExecutionWaiting(tx: Database, executionId: string): Promise<void> {
  await tx
    .updateTable('execution')
    .set({ status: 'WAITING', updated_at: sql<Date>`now()` })
    .where('id', '=', executionId)
    .execute();
}

/** Notes when the step after a delay is to begin. */
export async function insertScheduledStep(
  tx: Database,
  visit: StepVisit,
  stepId: string,
  at: Date,
): Promise<void> {
  await tx
    .insertInto('step_execution')
    .values({
      project_id: visit.execution.project_id,
      execution_id: visit.execution.id,
      step_id: stepId,
      status: 'SCHEDULED',
      scheduled_for: at,
    })
    .onConflict((conflict) => conflict.columns(['execution_id', 'step_id']).doNothing())
    .execute();
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
    .selectAll()
    .where('execution_id', '=', executionId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** How a step and its execution stand, for a repeated call that comes after the end. */
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
