import { type SelectQueryBuilder, type Selectable, sql } from 'kysely';
import { Problem } from '../domain/errors.ts';
import type { ExecutionStart } from '../domain/execution.ts';
import type { Graph } from '../domain/graph.ts';
import type { Database } from './database.ts';
import { dispatchGrace } from './events.ts';
import type { DB, Execution, StepExecution } from './tables.ts';

export type ExecutionRow = Selectable<Execution>;
export type StepExecutionRow = Selectable<StepExecution>;

export const activeStatuses = ['RUNNING', 'WAITING'] as const;

/**
 * Starts an execution by hand, in the caller's transaction.
 * @throws Problem WORKFLOW_NOT_ENABLED, EXECUTION_EXISTS.
 */
export async function insertExecution(
  tx: Database,
  given: {
    projectId: string;
    workflowId: string;
    contactId: string;
    context: Record<string, unknown> | null;
  },
): Promise<ExecutionRow> {
  // The lock of the contact makes parallel starts, by hand or by event, one after the other.
  await tx
    .selectFrom('contact')
    .select('id')
    .where('id', '=', given.contactId)
    .forNoKeyUpdate()
    .execute();
  const workflow = await tx
    .selectFrom('workflow')
    .innerJoin('workflow_step as step', 'step.workflow_id', 'workflow.id')
    .select(['workflow.version', 'workflow.name', 'workflow.enabled', 'workflow.allow_reentry'])
    .select('step.id as trigger_step_id')
    .where('workflow.id', '=', given.workflowId)
    .where('step.type', '=', 'TRIGGER')
    .executeTakeFirstOrThrow();
  if (!workflow.enabled) throw new Problem('WORKFLOW_NOT_ENABLED');
  const earlier = await tx
    .selectFrom('execution')
    .select(['id', 'status'])
    .where('workflow_id', '=', given.workflowId)
    .where('contact_id', '=', given.contactId)
    .$if(workflow.allow_reentry, (query) => query.where('status', 'in', activeStatuses))
    .orderBy('started_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (earlier) {
    throw new Problem('EXECUTION_EXISTS', {
      details: { executionId: earlier.id, status: earlier.status },
    });
  }
  const execution = await tx
    .insertInto('execution')
    .values({
      project_id: given.projectId,
      workflow_id: given.workflowId,
      workflow_version: workflow.version,
      workflow_name: workflow.name,
      contact_id: given.contactId,
      current_step_id: workflow.trigger_step_id,
      context: given.context && JSON.stringify(given.context),
      dispatch: 'start',
      dispatch_at: dispatchGrace,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await tx
    .insertInto('step_execution')
    .values({
      project_id: given.projectId,
      execution_id: execution.id,
      step_id: workflow.trigger_step_id,
      status: 'COMPLETED',
      output: JSON.stringify({
        triggered: true,
        eventName: 'manual',
        timestamp: execution.started_at.toISOString(),
      }),
      started_at: execution.started_at,
      completed_at: execution.started_at,
    })
    .execute();
  return execution;
}

/** The active executions among `ids` whose run has not been started. */
export async function listExecutionStarts(
  db: Database,
  ids: readonly string[],
): Promise<ExecutionStart[]> {
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
      'version.graph as graph',
    ])
    .where('execution.id', '=', sql<string>`any(${ids}::uuid[])`)
    .where('execution.dispatch', '=', 'start')
    .execute();
  return rows as unknown as ExecutionStart[];
}

/** The executions among `ids` whose run has not been told that they were cancelled. */
export async function listExecutionCancels(db: Database, ids: readonly string[]) {
  const rows = await db
    .selectFrom('execution')
    .select('id')
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .where('dispatch', '=', 'cancel')
    .execute();
  return rows.map((row) => row.id);
}

/** Temporal has the run: nothing is due any more, unless a cancel came in between. */
export async function updateExecutionStarted(
  db: Database,
  id: string,
  runId: string,
): Promise<void> {
  await db
    .updateTable('execution')
    .set((eb) => ({
      temporal_run_id: runId,
      dispatch: eb.case().when('dispatch', '=', 'start').then(null).else(eb.ref('dispatch')).end(),
      dispatch_at: eb
        .case()
        .when('dispatch', '=', 'start')
        .then(null)
        .else(eb.ref('dispatch_at'))
        .end(),
    }))
    .where('id', '=', id)
    .execute();
}

/** Temporal knows of the cancel. */
export async function updateExecutionCancelled(db: Database, id: string): Promise<void> {
  await db
    .updateTable('execution')
    .set({ dispatch: null, dispatch_at: null })
    .where('id', '=', id)
    .where('dispatch', '=', 'cancel')
    .execute();
}

/**
 * Cancels active executions in the caller's transaction: the rows at once, their runs as soon as
 * Temporal hears of it. Answers the cancelled rows.
 */
export async function cancelExecutions(
  tx: Database,
  which: { ids: readonly string[] } | { workflowId: string } | { contactId: string },
  reason: 'cancelled' | 'project_disabled' | 'contact_deleted' | 'project_reset',
): Promise<ExecutionRow[]> {
  const rows = await tx
    .updateTable('execution')
    .set({
      status: 'CANCELLED',
      exit_reason: reason,
      completed_at: sql<Date>`clock_timestamp()`,
      updated_at: sql<Date>`now()`,
      dispatch: 'cancel',
      dispatch_at: dispatchGrace,
    })
    .where('status', 'in', activeStatuses)
    .$if('ids' in which, (query) =>
      query.where('id', '=', sql<string>`any(${'ids' in which ? which.ids : []}::uuid[])`),
    )
    .$if('workflowId' in which, (query) =>
      query.where('workflow_id', '=', 'workflowId' in which ? which.workflowId : ''),
    )
    .$if('contactId' in which, (query) =>
      query.where('contact_id', '=', 'contactId' in which ? which.contactId : ''),
    )
    .returningAll()
    .execute();
  const ids = rows.map((row) => row.id);
  await tx
    .updateTable('step_execution')
    .set({
      status: 'SKIPPED',
      completed_at: sql<Date>`clock_timestamp()`,
      updated_at: sql<Date>`now()`,
    })
    .where('execution_id', '=', sql<string>`any(${ids}::uuid[])`)
    .where('status', 'in', ['PENDING', 'SCHEDULED', 'WAITING'])
    .execute();
  await tx
    .deleteFrom('wait')
    .where('execution_id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute();
  return rows;
}

/** An execution with the step execution its run is at. */
export interface StepVisit {
  execution: ExecutionRow;
  stepExecution: StepExecutionRow;
}

/**
 * Enters a step, in the caller's transaction: the execution is locked and RUNNING at this step,
 * the step execution exists. Repeating it changes nothing.
 * Answers null when the execution is no longer active.
 */
export async function enterStep(
  tx: Database,
  executionId: string,
  stepId: string,
): Promise<StepVisit | null> {
  const execution = await tx
    .updateTable('execution')
    .set({ status: 'RUNNING', current_step_id: stepId, updated_at: sql<Date>`now()` })
    .where('id', '=', executionId)
    .where('status', 'in', activeStatuses)
    .returningAll()
    .executeTakeFirst();
  if (!execution) return null;
  const stepExecution = await tx
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
    .executeTakeFirstOrThrow();
  return { execution, stepExecution };
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
    .returning(sql<string>`clock_timestamp()::text`.as('at'))
    .executeTakeFirstOrThrow();
  return row.at;
}

/** Ends a step and its execution as FAILED, with one sentence for both. */
export async function failStep(tx: Database, visit: StepVisit, error: string): Promise<void> {
  const at = sql<Date>`clock_timestamp()`;
  await tx
    .updateTable('step_execution')
    .set({ status: 'FAILED', error, completed_at: at, updated_at: sql<Date>`now()` })
    .where('id', '=', visit.stepExecution.id)
    .execute();
  await tx
    .updateTable('execution')
    .set({ status: 'FAILED', error, completed_at: at, updated_at: sql<Date>`now()` })
    .where('id', '=', visit.execution.id)
    .execute();
}

/** Ends an active execution. Answers false when it had ended already. */
export async function endExecution(
  tx: Database,
  executionId: string,
  end: { status: 'COMPLETED' } | { status: 'EXITED'; reason: string },
): Promise<boolean> {
  const result = await tx
    .updateTable('execution')
    .set({
      status: end.status,
      exit_reason: end.status === 'EXITED' ? end.reason : null,
      ...(end.status === 'COMPLETED' ? { current_step_id: null } : {}),
      completed_at: sql<Date>`clock_timestamp()`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', executionId)
    .where('status', 'in', activeStatuses)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
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

export interface ExecutionListItem extends ExecutionRow {
  contact_email: string;
  /** The snapshot the execution runs on, to name its current step. */
  graph: Graph;
}

/** One page of a workflow's executions, newest start first, and how many there are. */
export async function listExecutions(
  db: Database,
  workflowId: string,
  query: { status?: string | undefined; page: number; pageSize: number },
): Promise<{ rows: ExecutionListItem[]; total: number }> {
  const filtered = db
    .selectFrom('execution')
    .where('execution.workflow_id', '=', workflowId)
    .$if(query.status !== undefined, (builder) =>
      builder.where('execution.status', '=', query.status ?? ''),
    );
  const { total } = await filtered
    .select(sql<number>`count(*)::int`.as('total'))
    .executeTakeFirstOrThrow();
  const rows = await withContactAndGraph(filtered)
    .orderBy('execution.started_at', 'desc')
    .orderBy('execution.id', 'desc')
    .limit(query.pageSize)
    .offset((query.page - 1) * query.pageSize)
    .execute();
  return { rows: rows as unknown as ExecutionListItem[], total };
}

export async function findExecution(
  db: Database,
  workflowId: string,
  id: string,
): Promise<ExecutionListItem | undefined> {
  const row = await withContactAndGraph(
    db
      .selectFrom('execution')
      .where('execution.workflow_id', '=', workflowId)
      .where('execution.id', '=', id),
  ).executeTakeFirst();
  return row as unknown as ExecutionListItem | undefined;
}

function withContactAndGraph(query: SelectQueryBuilder<DB, 'execution', object>) {
  return query
    .innerJoin('contact', 'contact.id', 'execution.contact_id')
    .innerJoin('workflow_version as version', (join) =>
      join
        .onRef('version.workflow_id', '=', 'execution.workflow_id')
        .onRef('version.version', '=', 'execution.workflow_version'),
    )
    .selectAll('execution')
    .select(['contact.email as contact_email', 'version.graph as graph']);
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
