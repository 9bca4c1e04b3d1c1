import { type SelectQueryBuilder, type Selectable, sql } from 'kysely';
import { columnsOf } from '../../columns.ts';
import type { Database } from '../../database.ts';
import { countRows } from '../../expressions.ts';
import { isDelayOver, isOn } from '../../sql/execution-predicates.ts';
import type { DB, Execution } from '../../tables.ts';
import { closingSteps } from './closing.ts';
import { findVersionGraph } from '../graphs.ts';
import type { Graph, GraphStep } from '../../../domain/workflow/graph.ts';
import { graphAfter, type StoredGraph } from '../../../domain/workflow/versions/difference.ts';

export type ExecutionRow = Selectable<Execution>;

/**
 * The statuses of active executions, as SQL literals, because only then every plan uses the indexes
 * of active executions.
 */
export const activeStatuses = [sql.lit('RUNNING'), sql.lit('WAITING')];

export function isActive({ status }: Pick<ExecutionRow, 'status'>): boolean {
  return status === 'RUNNING' || status === 'WAITING';
}

/** Returns true if an execution is RUNNING, and neither it nor its workflow is paused. */
export function isAtWork(row: Pick<ExecutionRow, 'status' | 'paused_at' | 'held_at'>): boolean {
  return row.status === 'RUNNING' && row.paused_at === null && row.held_at === null;
}

/**
 * Completes a step with its output, and ends its execution, if still active, with all other open
 * steps and waits.
 */
export async function completeStepAndEnd(
  tx: Database,
  { execution, stepExecution }: { execution: { id: string }; stepExecution: { id: string } },
  output: Record<string, unknown>,
  end: { status: 'COMPLETED' } | { status: 'EXITED'; reason: string },
): Promise<void> {
  await sql`
    with completed as (
      update step_execution set status = 'COMPLETED', output = ${JSON.stringify(output)},
          completed_at = clock_timestamp(), updated_at = now()
        where id = ${stepExecution.id}
        returning id
    ), ended as (
      update execution set status = ${end.status},
          exit_reason = ${end.status === 'EXITED' ? end.reason : null},
          current_step_id = ${end.status === 'COMPLETED' ? null : sql.ref('current_step_id')},
          completed_at = clock_timestamp(), updated_at = now()
        -- Selects from completed, so that the execution ends after the step, also in the history.
        from completed
        where execution.id = ${execution.id} and status in ('RUNNING', 'WAITING')
        returning execution.id
    ), ${closingSteps({ except: stepExecution.id })}
    select from ended`.execute(tx);
}

/**
 * Completes an execution that has no further step in this version. Returns false if it does not
 * complete: it was moved to another version, the end of its last delay was moved, or it has already
 * ended, for example by an exit rule.
 */
export async function completeExecution(
  tx: Database,
  executionId: string,
  version: number,
): Promise<boolean> {
  // Lock the contact, because code that moves an execution has this lock while it changes several
  // rows.
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
  /** The current step, from the graph of the execution's version. */
  current_step: Pick<GraphStep, 'id' | 'name' | 'type'> | null;
}

/**
 * Returns one page of a workflow's executions, newest start first, and the number of all matches.
 */
export async function listExecutions(
  db: Database,
  workflowId: string,
  query: {
    status?: string | undefined;
    key?: string | undefined;
    /**
     * True: only executions that were paused individually, also ended ones. False: only other
     * executions.
     */
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
    .$if(query.key !== undefined, (builder) => builder.where('execution.key', '=', query.key ?? ''))
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
  // The tables are joined after paging, because an offset would also join all rows before the page.
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
  /** The steps of the versions on which the execution was before. */
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

/** Finds an execution in any workflow. The caller has checked that it belongs to the project. */
export async function findExecutionOf(
  db: Database,
  id: string,
): Promise<ExecutionInGraph | undefined> {
  const row = await withContactAndStep(db.selectFrom('execution').where('execution.id', '=', id))
    .select(['version.whole', 'version.difference'])
    .executeTakeFirst();
  if (!row) return undefined;
  const graphs: Awaited<ReturnType<typeof findVersionGraph>>[] = [];
  // One query after the other, because a transaction has one connection.
  for (const version of row.earlier_versions ?? []) {
    graphs.push(await findVersionGraph(db, row.workflow_id, version));
  }
  const formerSteps = graphs.flatMap((graph) => graph?.steps ?? []);
  const graph = graphAfter(row as unknown as StoredGraph<Graph>);
  return { ...(row as unknown as ExecutionListItem), graph, formerSteps };
}

/**
 * Adds the contact and the current step, not the whole graph: a graph may have a megabyte, and a
 * page has up to a hundred executions.
 */
export function withContactAndStep(query: SelectQueryBuilder<DB, 'execution', object>) {
  return query
    .innerJoin('contact', 'contact.id', 'execution.contact_id')
    .innerJoin('workflow_graph as version', (join) =>
      join
        .onRef('version.workflow_id', '=', 'execution.workflow_id')
        .onRef('version.version', '=', 'execution.workflow_version'),
    )
    .select(columnsOf('execution'))
    .select('contact.email as contact_email')
    .select(
      sql`(select jsonb_build_object('id', step -> 'id', 'name', step -> 'name',
            'type', step -> 'type')
          from graph_step(version.whole, version.difference, execution.current_step_id) as step
          where step is not null)`.as('current_step'),
    );
}
