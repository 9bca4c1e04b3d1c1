import { type SelectQueryBuilder, type Selectable, sql } from 'kysely';
import { notFound, Problem } from '../../domain/errors.ts';
import type { Graph, GraphStep } from '../../domain/workflow/graph.ts';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { anyOf, countRows } from '../expressions.ts';
import { enqueueExecutions } from '../outbox/outbox.ts';
import { holdEnabledProject } from '../projects/projects.ts';
import type { DB, Execution } from '../tables.ts';

export type ExecutionRow = Selectable<Execution>;

export const activeStatuses = ['RUNNING', 'WAITING'] as const;

/**
 * Starts an execution by hand, in the caller's transaction.
 * @throws Problem PROJECT_NOT_FOUND, PROJECT_DISABLED, CONTACT_NOT_FOUND, WORKFLOW_NOT_FOUND,
 *   WORKFLOW_NOT_ENABLED, EXECUTION_EXISTS.
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
  const { projectId, workflowId, contactId, context } = given;
  await holdEnabledProject(tx, projectId);
  if (!(await lockContact(tx, contactId))) throw notFound('CONTACT', contactId);
  // Waits for a deletion of the workflow that is in progress.
  const workflow = await tx
    .selectFrom('workflow')
    .innerJoin('workflow_step as step', 'step.workflow_id', 'workflow.id')
    .select(['workflow.version', 'workflow.name', 'workflow.enabled', 'workflow.allow_reentry'])
    .select('step.id as trigger_step_id')
    .where('workflow.id', '=', workflowId)
    .where('step.type', '=', 'TRIGGER')
    .forKeyShare('workflow')
    .executeTakeFirst();
  if (!workflow) throw notFound('WORKFLOW', workflowId);
  if (!workflow.enabled) throw new Problem('WORKFLOW_NOT_ENABLED');
  await refuseSecond(tx, given, workflow.allow_reentry ? activeStatuses : null);
  const execution = await tx
    .insertInto('execution')
    .values({
      project_id: projectId,
      workflow_id: workflowId,
      workflow_version: workflow.version,
      workflow_name: workflow.name,
      contact_id: contactId,
      current_step_id: workflow.trigger_step_id,
      context: context && JSON.stringify(context),
    })
    .returning(columnsOf('execution'))
    .executeTakeFirstOrThrow();
  await insertTriggerStep(tx, execution, workflow.trigger_step_id);
  await enqueueExecutions(tx, 'start', [execution]);
  return execution;
}

/** Serializes starts for a contact, by hand or by event. Returns whether the contact exists. */
async function lockContact(tx: Database, id: string): Promise<boolean> {
  const contact = await tx
    .selectFrom('contact')
    .select('id')
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return contact !== undefined;
}

/**
 * @param given.besides an execution to ignore.
 * @param statuses of the executions that conflict; null: all do.
 * @throws Problem EXECUTION_EXISTS naming the newest conflicting one.
 */
async function refuseSecond(
  tx: Database,
  given: { workflowId: string; contactId: string; besides?: string },
  statuses: typeof activeStatuses | null,
): Promise<void> {
  const earlier = await tx
    .selectFrom('execution')
    .select(['id', 'status'])
    .where('workflow_id', '=', given.workflowId)
    .where('contact_id', '=', given.contactId)
    .$if(statuses !== null, (query) => query.where('status', 'in', statuses ?? []))
    .$if(given.besides !== undefined, (query) => query.where('id', '<>', given.besides ?? ''))
    .orderBy('started_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!earlier) return;
  const { id: executionId, status } = earlier;
  throw new Problem('EXECUTION_EXISTS', { details: { executionId, status } });
}

/** The trigger step of an execution is complete from the start. */
async function insertTriggerStep(
  tx: Database,
  execution: ExecutionRow,
  stepId: string,
): Promise<void> {
  const { id, project_id, started_at } = execution;
  const timestamp = started_at.toISOString();
  await tx
    .insertInto('step_execution')
    .values({
      project_id,
      execution_id: id,
      step_id: stepId,
      status: 'COMPLETED',
      output: JSON.stringify({ triggered: true, eventName: 'manual', timestamp }),
      started_at,
      completed_at: started_at,
    })
    .execute();
}

/**
 * Cancels active executions, some hundreds at most, in the caller's transaction: the rows at once,
 * their runs after the commit. Returns the cancelled rows.
 */
export async function cancelExecutions(
  tx: Database,
  ids: readonly string[],
  reason: 'cancelled' | 'project_disabled',
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
  const rows = await tx
    .updateTable('execution')
    .set({
      status: 'CANCELLED',
      exit_reason: reason,
      completed_at: sql<Date>`clock_timestamp()`,
      updated_at: sql<Date>`now()`,
    })
    .where('status', 'in', activeStatuses)
    .where('id', '=', anyOf(ids))
    .returning(columnsOf('execution'))
    .execute();
  const cancelled = rows.map((row) => row.id);
  await tx
    .updateTable('step_execution')
    .set({
      status: 'SKIPPED',
      completed_at: sql<Date>`clock_timestamp()`,
      updated_at: sql<Date>`now()`,
    })
    .where('execution_id', '=', anyOf(cancelled))
    .where('status', 'in', ['PENDING', 'SCHEDULED', 'WAITING'])
    .execute();
  await tx.deleteFrom('wait').where('execution_id', '=', anyOf(cancelled)).execute();
  await enqueueExecutions(tx, 'cancel', rows);
  return rows;
}

/**
 * Makes a failed execution active again at its failed step, in the caller's transaction; its run is
 * due to be started again: the caller does that after the commit (`startNow`).
 * @throws Problem PROJECT_NOT_FOUND, PROJECT_DISABLED, EXECUTION_NOT_FOUND, WORKFLOW_NOT_FOUND,
 *   EXECUTION_NOT_FAILED, EXECUTION_EXISTS while the contact has another active one.
 */
export async function retryExecution(tx: Database, execution: ExecutionRow): Promise<ExecutionRow> {
  const { id, workflow_id: workflowId, contact_id: contactId } = execution;
  await holdEnabledProject(tx, execution.project_id);
  if (!(await lockContact(tx, contactId))) throw notFound('EXECUTION', id);
  const workflow = await tx
    .selectFrom('workflow')
    .select('id')
    .where('id', '=', workflowId)
    .forKeyShare()
    .executeTakeFirst();
  if (!workflow) throw notFound('WORKFLOW', workflowId);
  await refuseSecond(tx, { workflowId, contactId, besides: id }, activeStatuses);
  const again = {
    status: 'RUNNING',
    error: null,
    completed_at: null,
    updated_at: sql<Date>`now()`,
  };
  const row = await tx
    .updateTable('execution')
    .set({ ...again, dispatch_generation: sql<number>`dispatch_generation + 1` })
    .where('id', '=', id)
    .where('status', '=', 'FAILED')
    .returning(columnsOf('execution'))
    .executeTakeFirst();
  if (!row) throw new Problem('EXECUTION_NOT_FAILED');
  await tx
    .updateTable('step_execution')
    .set({ ...again, attempts: 0 })
    .where('execution_id', '=', id)
    .where('status', '=', 'FAILED')
    .execute();
  await enqueueExecutions(tx, 'start', [row], { isAwaited: true });
  return row;
}

/** Ends an active execution. Returns false when it had ended already. */
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

export interface ExecutionListItem extends ExecutionRow {
  contact_email: string;
  /** The step it is in, as its version of the graph names it. */
  current_step: Pick<GraphStep, 'id' | 'name' | 'type'> | null;
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
  const total = await countRows(filtered);
  const page = filtered
    .select('execution.id')
    .orderBy('execution.started_at', 'desc')
    .orderBy('execution.id', 'desc')
    .limit(query.pageSize)
    .offset((query.page - 1) * query.pageSize);
  // Joined to the page only: an offset reads all rows before it, and would join them, too.
  const rows = await withContactAndStep(
    db.selectFrom('execution').where('execution.id', 'in', page),
  )
    .orderBy('execution.started_at', 'desc')
    .orderBy('execution.id', 'desc')
    .execute();
  return { rows: rows as unknown as ExecutionListItem[], total };
}

export async function findExecution(
  db: Database,
  workflowId: string,
  id: string,
): Promise<(ExecutionListItem & { graph: Graph }) | undefined> {
  const row = await withContactAndStep(
    db
      .selectFrom('execution')
      .where('execution.workflow_id', '=', workflowId)
      .where('execution.id', '=', id),
  )
    .select('version.graph')
    .executeTakeFirst();
  return row as unknown as (ExecutionListItem & { graph: Graph }) | undefined;
}

/** Of the graph only the current step: it may have a megabyte, and a page a hundred executions. */
function withContactAndStep(query: SelectQueryBuilder<DB, 'execution', object>) {
  return query
    .innerJoin('contact', 'contact.id', 'execution.contact_id')
    .innerJoin('workflow_version as version', (join) =>
      join
        .onRef('version.workflow_id', '=', 'execution.workflow_id')
        .onRef('version.version', '=', 'execution.workflow_version'),
    )
    .select(columnsOf('execution'))
    .select('contact.email as contact_email')
    .select(
      sql`(select jsonb_build_object('id', step -> 'id', 'name', step -> 'name',
            'type', step -> 'type')
          from jsonb_array_elements(version.graph -> 'steps') as step
          where step ->> 'id' = execution.current_step_id::text)`.as('current_step'),
    );
}
