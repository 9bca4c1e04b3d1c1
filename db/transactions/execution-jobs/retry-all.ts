import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { countRows } from '../../expressions.ts';
import type { ExecutionPage, LockedExecutionJob } from '../../jobs/execution-jobs.ts';
import { retryExecution } from '../executions/retry-execution.ts';
import { graphReader } from '../../workflows/graphs.ts';
import { Problem, type ProblemCode } from '../../../domain/errors.ts';

/** Retries failed executions of a workflow, newest start first. */

/**
 * Conditions on the executions to retry, and the version to use; null: no condition, or the current
 * version of each. Times are in ISO 8601.
 */
export interface RetryAll {
  stepId: string | null;
  version: number | null;
  failedAfter: string | null;
  failedBefore: string | null;
  errorContains: string | null;
  errorEquals: string | null;
}

type RetryJob = LockedExecutionJob<RetryAll>;

/** Maximum number of executions retried in one transaction, which locks their contacts. */
const batchSize = 50;

/** Maximum number of failed executions read to find `batchSize` matching ones. */
const scanSize = 1_000;

/**
 * Maximum number of retries per second, because the services that the steps call have just had
 * trouble.
 */
const perSecond = 100;

interface Cursor {
  /** Timestamp as text, to the microsecond. */
  startedAt: string;
  id: string;
}

interface Match {
  id: string;
  projectId: string;
  workflowId: string;
  contactId: string;
}

/** Reasons why one execution cannot be retried. The others are still retried. */
const refusals: readonly ProblemCode[] = [
  'EXECUTION_NOT_FOUND',
  'EXECUTION_NOT_FAILED',
  'EXECUTION_EXISTS',
  'VALIDATION_ERROR',
];

export const retryAll = {
  nothing: { retried: 0, refused: 0 },

  count: (tx: Database, { workflowId }: RetryJob): Promise<number> =>
    countRows(
      tx
        .selectFrom('execution')
        .where('workflow_id', '=', workflowId)
        .where('status', '=', 'FAILED'),
    ),

  async page(tx: Database, job: RetryJob): Promise<ExecutionPage<'retry-all'>> {
    const { matches, checked, cursor } = await nextFailed(tx, job);
    const { version } = job.asked;
    const graphs = graphReader(tx);
    let retried = 0;
    // By id, because all transactions lock contacts in this order.
    for (const match of matches.toSorted((a, b) => (a.contactId < b.contactId ? -1 : 1))) {
      try {
        await retryExecution(
          tx,
          { id: match.id, project_id: match.projectId, workflow_id: match.workflowId },
          version === null ? {} : { version, graphs },
        );
        retried += 1;
      } catch (error) {
        if (!(error instanceof Problem && refusals.includes(error.code))) throw error;
      }
    }
    return {
      checked,
      outcome: { retried, refused: matches.length - retried },
      cursor,
      pauseMs: (matches.length * 1000) / perSecond,
    };
  },
};

/** Returns the next matching executions, of those that had failed when the job was accepted. */
async function nextFailed(
  tx: Database,
  { workflowId, createdAt, asked, cursor }: RetryJob,
): Promise<{ matches: Match[]; checked: number; cursor: Cursor | null }> {
  const { stepId, failedAfter, failedBefore, errorContains, errorEquals } = asked;
  const after = cursor as Cursor | null;
  const conditions = [
    // An execution that was retried and failed again has a later `completed_at`.
    sql`completed_at <= ${createdAt}`,
    ...(stepId === null ? [] : [sql`current_step_id = ${stepId}`]),
    ...(failedAfter === null ? [] : [sql`completed_at >= ${failedAfter}::timestamptz`]),
    ...(failedBefore === null ? [] : [sql`completed_at < ${failedBefore}::timestamptz`]),
    ...(errorContains === null ? [] : [sql`strpos(lower(error), lower(${errorContains})) > 0`]),
    ...(errorEquals === null ? [] : [sql`error = ${errorEquals}`]),
  ];
  type Row = Match & Cursor & { place: number; isMatch: boolean };
  const { rows } = await sql<Row>`
    with seen as materialized (
      select id, project_id, workflow_id, contact_id, started_at, current_step_id, error,
          completed_at, row_number() over (order by started_at desc, id desc)::int as place
        from execution
        where workflow_id = ${workflowId} and status = 'FAILED'
          ${after ? sql`and (started_at, id) < (${after.startedAt}::timestamptz, ${after.id}::uuid)` : sql``}
        order by started_at desc, id desc limit ${scanSize}
    ), found as (
      (select id, true as is_match from seen where ${sql.join(conditions, sql` and `)}
        order by place limit ${batchSize})
      union all
      (select id, false as is_match from seen order by place desc limit 1)
    )
    select seen.id, project_id as "projectId", workflow_id as "workflowId",
        contact_id as "contactId", started_at::text as "startedAt", place, is_match as "isMatch"
      from found join seen on seen.id = found.id
      order by is_match desc, place`.execute(tx);
  const matches = rows.filter(({ isMatch }) => isMatch);
  // After a full batch, executions behind its last match are still unread. After any other batch,
  // all rows that were read are done.
  const isFull = matches.length === batchSize;
  const last = (isFull ? matches : rows).at(-1);
  const checked = last?.place ?? 0;
  const isOver = !last || (!isFull && checked < scanSize);
  const next = last && { startedAt: last.startedAt, id: last.id };
  return { matches, checked, cursor: isOver ? null : (next ?? null) };
}
