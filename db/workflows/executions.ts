import { type SelectQueryBuilder, type Selectable, sql } from 'kysely';
import { notFound, Problem } from '../../domain/errors.ts';
import type { Graph, GraphStep } from '../../domain/workflow/graph.ts';
import { columnList, columnsOf } from '../columns.ts';
import { triggerOutput } from '../../domain/workflow/steps/trigger.ts';
import { failWaitingMail } from '../delivery/endings.ts';
import type { Database } from '../database.ts';
import { anyOf, countRows } from '../expressions.ts';
import { enqueueExecutions } from '../outbox/outbox.ts';
import { holdEnabledProject } from '../projects/projects.ts';
import { closingSteps } from '../live/closing.ts';
import { findVersionGraph } from './graphs.ts';
import type { DB, Execution } from '../tables.ts';
import { isDelayOver, isOn } from '../sql/execution-predicates.ts';

export type ExecutionRow = Selectable<Execution>;

/** SQL of the statuses, written out: only then does each plan use the indexes of active executions. */
export const activeStatuses = [sql.lit('RUNNING'), sql.lit('WAITING')];

export function isActive({ status }: Pick<ExecutionRow, 'status'>): boolean {
  return status === 'RUNNING' || status === 'WAITING';
}

/** Whether it should go on by itself at this moment: it neither waits nor is held. */
export function isAtWork(row: Pick<ExecutionRow, 'status' | 'paused_at' | 'held_at'>): boolean {
  return row.status === 'RUNNING' && row.paused_at === null && row.held_at === null;
}

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

/** @throws Problem EXECUTION_EXISTS while the contact of an execution has another active one. */
export async function refuseActive(
  tx: Database,
  execution: Pick<ExecutionRow, 'id' | 'workflow_id' | 'contact_id'>,
): Promise<void> {
  const { id: besides, workflow_id: workflowId, contact_id: contactId } = execution;
  await refuseSecond(tx, { workflowId, contactId, besides }, activeStatuses);
}

/** The trigger step of an execution is complete from the start. */
async function insertTriggerStep(
  tx: Database,
  execution: ExecutionRow,
  stepId: string,
): Promise<void> {
  const { id, project_id, started_at } = execution;
  await tx
    .insertInto('step_execution')
    .values({
      project_id,
      execution_id: id,
      step_id: stepId,
      status: 'COMPLETED',
      output: JSON.stringify(triggerOutput(null, started_at)),
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
 * Ends an active execution, and what is open of it. Returns false when it had ended already. An earlier
 * statement has completed the step that ends it.
 */
export async function endExecution(
  tx: Database,
  executionId: string,
  end: { status: 'COMPLETED' } | { status: 'EXITED'; reason: string },
): Promise<boolean> {
  const { rows } = await sql`
    with ended as (
      update execution set status = ${end.status},
          exit_reason = ${end.status === 'EXITED' ? end.reason : null},
          current_step_id = ${end.status === 'COMPLETED' ? null : sql.ref('current_step_id')},
          completed_at = clock_timestamp(), updated_at = now()
        where id = ${executionId} and status in ('RUNNING', 'WAITING')
        returning id
    ), ${closingSteps()}
    select id from ended`.execute(tx);
  return rows.length > 0;
}

/**
 * Completes an execution that has no step left in this version.
 * Returns false when it has one, or has ended otherwise: somebody has moved it to another version, or
 * its last delay's end, or an event has met an exit rule.
 */
export async function completeExecution(
  tx: Database,
  executionId: string,
  version: number,
): Promise<boolean> {
  // Who moves it has locked its contact, and then changes several rows.
  await tx
    .selectFrom('contact')
    .innerJoin('execution', 'execution.contact_id', 'contact.id')
    .select('contact.id')
    .where('execution.id', '=', executionId)
    .forNoKeyUpdate('contact')
    .execute();
  const { rows } = await sql<{ isOver: boolean }>`
    with ended as (
      update execution set status = 'COMPLETED', current_step_id = null,
          completed_at = clock_timestamp(), updated_at = now()
        where id = ${executionId} and status in ('RUNNING', 'WAITING') and ${isOn(version)}
          and (status = 'RUNNING' or exists (
            select from step_execution step
              where step.execution_id = execution.id and step.step_id = current_step_id
                and ${isDelayOver(sql`step.output`)}))
        returning id
    ), ${closingSteps()}
    select exists (select from ended) or not exists (select from execution
      where id = ${executionId} and status <> 'COMPLETED') as "isOver"`.execute(tx);
  return rows[0]?.isOver ?? true;
}

export async function findExecutionStatus(db: Database, id: string): Promise<string | undefined> {
  const query = db.selectFrom('execution').select('status').where('id', '=', id);
  return (await query.executeTakeFirst())?.status;
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
  query: {
    status?: string | undefined;
    /** By its own pause, also of those that have ended. */
    paused?: boolean | undefined;
    page: number;
    pageSize: number;
  },
): Promise<{ rows: ExecutionListItem[]; total: number }> {
  const filtered = db
    .selectFrom('execution')
    .where('execution.workflow_id', '=', workflowId)
    .$if(query.status !== undefined, (builder) =>
      builder.where('execution.status', '=', query.status ?? ''),
    )
    .$if(query.paused !== undefined, (builder) =>
      builder.where('execution.paused_at', query.paused ? 'is not' : 'is', null),
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

export interface ExecutionInGraph extends ExecutionListItem {
  graph: Graph;
  /** The steps of the versions that it was on before. */
  formerSteps: GraphStep[];
}

export async function findExecution(
  db: Database,
  workflowId: string,
  id: string,
): Promise<ExecutionInGraph | undefined> {
  const row = await findExecutionOf(db, id);
  return row?.workflow_id === workflowId ? row : undefined;
}

/** An execution of any workflow, for who knows that it is of the project. */
export async function findExecutionOf(
  db: Database,
  id: string,
): Promise<ExecutionInGraph | undefined> {
  const row = await withContactAndStep(db.selectFrom('execution').where('execution.id', '=', id))
    .select('version.graph')
    .executeTakeFirst();
  if (!row) return undefined;
  const graphs: Awaited<ReturnType<typeof findVersionGraph>>[] = [];
  // One after the other: a transaction has one connection.
  for (const version of row.earlier_versions ?? []) {
    graphs.push(await findVersionGraph(db, row.workflow_id, version));
  }
  const formerSteps = graphs.flatMap((graph) => graph?.steps ?? []);
  return { ...(row as unknown as ExecutionInGraph), formerSteps };
}

/** Of the graph only the current step: it may have a megabyte, and a page a hundred executions. */
export function withContactAndStep(query: SelectQueryBuilder<DB, 'execution', object>) {
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
