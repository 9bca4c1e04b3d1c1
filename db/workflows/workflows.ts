import { type Selectable, sql, type Insertable, type Updateable } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import {
  anyOf,
  containsText,
  countRows,
  type ListQuery,
  orderOf,
  sortColumns,
} from '../expressions.ts';
import { type DataField, typedSql } from '../sql/data-fields.ts';
import { derivedNamed, selectDerived } from '../sql/derived-events.ts';
import { momentsOf } from '../sql/mail-moments.ts';
import type { Workflow, WorkflowStep, WorkflowTransition } from '../tables.ts';
import type { FieldComparison } from '../../domain/filter/step.ts';
import { limits } from '../../domain/limits.ts';
import type { Goal } from '../../domain/goals/goal.ts';
import type { ExitRule } from '../../domain/workflow/exit-rules.ts';
import { type Graph, withExitRules } from '../../domain/workflow/graph.ts';

/** Returns the conditions of a workflow's trigger on its event; null: none. */
export function triggerWhereOf(row: Pick<WorkflowRow, 'trigger_where'>): FieldComparison[] | null {
  return row.trigger_where as unknown as FieldComparison[] | null;
}

/** Returns the exit rules of a workflow, as currently edited. */
export function exitRulesOf({ exit_rules }: Pick<Selectable<Workflow>, 'exit_rules'>): ExitRule[] {
  return exit_rules as unknown as ExitRule[];
}

/** Returns the goal of a workflow; null: none. */
export function goalOf({ goal }: Pick<Selectable<Workflow>, 'goal'>): Goal | null {
  return goal as unknown as Goal | null;
}

/**
 * Stores the event names in a version's exit rules, in the transaction that makes the version
 * runnable.
 */
export async function insertExitEvents(
  tx: Database,
  workflowId: string,
  rules: readonly ExitRule[],
): Promise<void> {
  if (rules.length === 0) return;
  const names = [...new Set(rules.map(({ eventName }) => eventName))];
  await sql`
    insert into exit_event (project_id, event_name, workflow_id)
      select project_id, unnest(${names}::text[]), id from workflow where id = ${workflowId}
    on conflict do nothing`.execute(tx);
}

export type WorkflowRow = Selectable<Workflow>;
export type TransitionRow = Selectable<WorkflowTransition>;
export type StepRow = Omit<Selectable<WorkflowStep>, 'config'> & {
  config: Record<string, unknown>;
};

/** Returns the workflows with these ids, in this order. */
export async function readWorkflows(db: Database, ids: readonly string[]): Promise<WorkflowRow[]> {
  return db
    .selectFrom('workflow')
    .select(columnsOf('workflow'))
    .where('id', '=', anyOf(ids))
    .orderBy(orderOf(ids, 'id'))
    .execute();
}

export async function findWorkflow(
  db: Database,
  projectId: string,
  id: string,
): Promise<WorkflowRow | undefined> {
  return db
    .selectFrom('workflow')
    .select(columnsOf('workflow'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/**
 * Finds workflows and locks them until the transaction ends, so that edits of one workflow run one
 * after the other, and each sees a stable graph. Executions can still start, on the version before
 * the edit; `for: 'delete'` blocks starts, too.
 */
export async function lockWorkflows(
  tx: Database,
  projectId: string,
  ids: readonly string[],
  options: { for: 'edit' | 'delete' },
): Promise<WorkflowRow[]> {
  const query = tx
    .selectFrom('workflow')
    .select(columnsOf('workflow'))
    .where('project_id', '=', projectId)
    .where('id', '=', anyOf(ids))
    .orderBy('id');
  const locking = options.for === 'edit' ? query.forNoKeyUpdate() : query.forUpdate();
  return locking.execute();
}

/**
 * Waits for a deletion of the workflow that is in progress, and prevents a new one until the
 * transaction ends.
 */
export async function holdWorkflow(
  tx: Database,
  projectId: string,
  id: string,
): Promise<{ id: string } | undefined> {
  return tx
    .selectFrom('workflow')
    .select('id')
    .where((eb) => eb.and({ project_id: projectId, id }))
    .forKeyShare()
    .executeTakeFirst();
}

/** Returns those of the workflows that exist. */
export async function listKnownWorkflows(
  db: Database,
  projectId: string,
  ids: readonly string[],
): Promise<{ id: string }[]> {
  return db
    .selectFrom('workflow')
    .select('id')
    .where('project_id', '=', projectId)
    .where('id', '=', anyOf(ids))
    .execute();
}

export type WorkflowQuery = Omit<ListQuery, 'sort'> & {
  enabled?: boolean | undefined;
  sort: ListQuery['sort'] | 'steps';
};

export type WorkflowListRow = WorkflowRow &
  Record<'steps' | 'executions' | 'active' | 'failed', number>;

/**
 * Returns one page of a project's workflows, with their numbers of steps, executions, active and
 * failed executions, and the number of all matches. Active and failed ones are counted up to a
 * limit.
 */
export async function listWorkflows(
  db: Database,
  projectId: string,
  query: WorkflowQuery,
): Promise<{ rows: WorkflowListRow[]; total: number }> {
  const { search, enabled } = query;
  let filtered = db.selectFrom('workflow').where('workflow.project_id', '=', projectId);
  if (enabled !== undefined) filtered = filtered.where('workflow.enabled', '=', enabled);
  if (search !== undefined) {
    filtered = filtered.where(containsText(['workflow.name', 'workflow.description'], search));
  }
  const total = await countRows(filtered);
  const rows = await filtered
    .select(columnsOf('workflow'))
    .select([
      sql<number>`(select count(*)::int from workflow_step
        where workflow_step.workflow_id = workflow.id)`.as('steps'),
      sql<number>`(select count(*)::int from execution
        where execution.workflow_id = workflow.id)`.as('executions'),
      countUpTo(limits.countedExecutions, ['RUNNING', 'WAITING']).as('active'),
      countUpTo(limits.countedExecutions, ['FAILED']).as('failed'),
    ])
    .orderBy(query.sort === 'steps' ? 'steps' : `workflow.${sortColumns[query.sort]}`, query.dir)
    .orderBy('workflow.id', 'desc')
    .limit(query.pageSize)
    .offset((query.page - 1) * query.pageSize)
    .execute();
  return { rows, total };
}

/** SQL that counts the executions of a workflow in some states, by their index. */
function countUpTo(max: number, statuses: readonly string[]) {
  const states = sql.join(statuses.map((status) => sql.lit(status)));
  return sql<number>`(select count(*)::int from (select from execution inner_of_workflow
    where inner_of_workflow.workflow_id = workflow.id and inner_of_workflow.status in (${states})
    limit ${sql.lit(max)}) as counted)`;
}

export async function insertWorkflow(
  tx: Database,
  values: Insertable<Workflow>,
): Promise<WorkflowRow> {
  return tx
    .insertInto('workflow')
    .values(values)
    .returning(columnsOf('workflow'))
    .executeTakeFirstOrThrow();
}

export async function updateWorkflow(
  tx: Database,
  id: string,
  values: Updateable<Workflow>,
): Promise<WorkflowRow> {
  return tx
    .updateTable('workflow')
    .set({ ...values, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .returning(columnsOf('workflow'))
    .executeTakeFirstOrThrow();
}

/** Counts the active executions of workflows. Workflows without any are left out. */
export async function countActiveExecutions(
  db: Database,
  workflowIds: readonly string[],
): Promise<{ id: string; count: number }[]> {
  return db
    .selectFrom('execution')
    .select(['workflow_id as id', sql<number>`count(*)::int`.as('count')])
    .where('workflow_id', '=', anyOf(workflowIds))
    .where('status', 'in', [sql.lit('RUNNING'), sql.lit('WAITING')])
    .groupBy('workflow_id')
    .orderBy('workflow_id')
    .execute();
}

/** Returns those of the workflows that have active executions. */
export async function listBusyWorkflows(
  db: Database,
  workflowIds: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from unnest(${workflowIds}::uuid[]) as named(id)
      where exists (select from execution
        where workflow_id = named.id and status in ('RUNNING', 'WAITING'))`.execute(db);
  return rows.map(({ id }) => id);
}

/** Lists the steps of a workflow with the names of their templates, oldest first. */
export async function listSteps(
  db: Database,
  workflowId: string,
): Promise<(StepRow & { template_name: string | null })[]> {
  const rows = await db
    .selectFrom('workflow_step as step')
    .leftJoin('template', 'template.id', 'step.template_id')
    .select(columnsOf('workflow_step', 'step'))
    .select('template.name as template_name')
    .where('step.workflow_id', '=', workflowId)
    .orderBy('step.created_at')
    .orderBy('step.id')
    .execute();
  return rows as (StepRow & { template_name: string | null })[];
}

/** Lists the transitions of a workflow, oldest first. */
export async function listTransitions(db: Database, workflowId: string): Promise<TransitionRow[]> {
  return db
    .selectFrom('workflow_transition')
    .select(columnsOf('workflow_transition'))
    .where('workflow_id', '=', workflowId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

export async function insertStep(tx: Database, values: Insertable<WorkflowStep>): Promise<StepRow> {
  const row = await tx
    .insertInto('workflow_step')
    .values(values)
    .returning(columnsOf('workflow_step'))
    .executeTakeFirstOrThrow();
  return row as StepRow;
}

export async function updateStep(
  tx: Database,
  id: string,
  values: Updateable<WorkflowStep>,
): Promise<StepRow> {
  const row = await tx
    .updateTable('workflow_step')
    .set({ ...values, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .returning(columnsOf('workflow_step'))
    .executeTakeFirstOrThrow();
  return row as StepRow;
}

/** Deletes steps with all their transitions. */
export async function deleteSteps(tx: Database, ids: readonly string[]): Promise<void> {
  await tx.deleteFrom('workflow_step').where('id', '=', anyOf(ids)).execute();
}

export async function insertTransition(
  tx: Database,
  values: Insertable<WorkflowTransition>,
): Promise<TransitionRow> {
  return tx
    .insertInto('workflow_transition')
    .values(values)
    .returning(columnsOf('workflow_transition'))
    .executeTakeFirstOrThrow();
}

export async function insertGraph(
  tx: Database,
  steps: readonly Insertable<WorkflowStep>[],
  transitions: readonly Insertable<WorkflowTransition>[],
): Promise<void> {
  if (steps.length > 0) await tx.insertInto('workflow_step').values(steps).execute();
  if (transitions.length === 0) return;
  await tx.insertInto('workflow_transition').values(transitions).execute();
}

export async function updateTransitionTarget(
  tx: Database,
  id: string,
  toStepId: string,
): Promise<void> {
  await tx
    .updateTable('workflow_transition')
    .set({ to_step_id: toStepId, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

export async function deleteTransition(tx: Database, id: string): Promise<void> {
  await tx.deleteFrom('workflow_transition').where('id', '=', id).execute();
}

/**
 * Returns the current graph of a workflow: its exit rules, and its steps and transitions in order
 * of creation.
 */
export async function findWorkflowGraph(db: Database, workflowId: string): Promise<Graph> {
  const [workflow, steps, transitions] = [
    await db
      .selectFrom('workflow')
      .select('exit_rules')
      .where('id', '=', workflowId)
      .executeTakeFirst(),
    await db
      .selectFrom('workflow_step')
      .select(['id', 'type', 'name', 'config', 'template_id as templateId'])
      .where('workflow_id', '=', workflowId)
      .orderBy('created_at')
      .orderBy('id')
      .execute(),
    await db
      .selectFrom('workflow_transition')
      .select(['id', 'from_step_id as fromStepId', 'to_step_id as toStepId', 'branch'])
      .where('workflow_id', '=', workflowId)
      .orderBy('created_at')
      .orderBy('id')
      .execute(),
  ];
  const exitRules = workflow ? exitRulesOf(workflow) : [];
  return withExitRules({ steps: steps as Graph['steps'], transitions }, exitRules);
}

/**
 * Lists the keys in the data of the newest events with a name, sorted, with the types of their
 * values. Reads up to 100 stored and 100 derived events.
 */
export async function listEventDataFields(
  db: Database,
  projectId: string,
  eventName: string,
): Promise<DataField[]> {
  const derived = derivedNamed(eventName).map((event) => {
    const isNew = sql`id in (select email_id from ${momentsOf(projectId, event.moment)}
      order by at desc, email_id desc limit 100)`;
    return sql`union all select id, created_at, data from (${selectDerived(event, isNew)}) as mail`;
  });
  const { rows } = await sql<DataField>`
    with newest as materialized (
      (select id, created_at, data from event
        where project_id = ${projectId} and name = ${eventName}
        order by created_at desc, id desc limit 100)
      ${sql.join(derived, sql` `)}
    ), valued as (
      select key, value, created_at, id from newest cross join jsonb_each(data)
        where jsonb_typeof(data) = 'object'
    ), typed as (${typedSql(sql`valued`)})
    select key, type from typed order by key collate "C"`.execute(db);
  return rows;
}
