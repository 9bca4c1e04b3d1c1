import { type Database, transact } from '../../database.ts';
import {
  type ExecutionJobState,
  type ExecutionPage,
  findPause,
  type LockedExecutionJob,
  lockOpenExecutionJob,
} from '../../jobs/execution-jobs.ts';
import { endJob, type JobRef, type JobRow, updateJobProgress } from '../../jobs/jobs.ts';
import { migrate } from './migrate.ts';
import { moveAllWaits } from './move-waits.ts';
import { retryAll } from './retry-all.ts';
import type {
  ExecutionJobData,
  ExecutionJobKind,
  ExecutionJobResults,
} from '../../../domain/job.ts';

interface Operation<Kind extends ExecutionJobKind> {
  nothing: ExecutionJobResults[Kind];
  /** Estimates from an index how many executions the job must check. */
  count(tx: Database, job: LockedExecutionJob<never>): Promise<number>;
  page(tx: Database, job: LockedExecutionJob<never>): Promise<ExecutionPage<Kind>>;
}

const operations: { [Kind in ExecutionJobKind]: Operation<Kind> } = {
  migrate,
  'move-waits': moveAllWaits,
  'retry-all': retryAll,
};

/**
 * Processes the next page of a job and counts it, in one transaction.
 * @returns null when the job has ended, otherwise the milliseconds until the next page. A page that
 *   comes too early does nothing, so a second run does not make the job faster.
 */
export async function recordExecutionPage(
  db: Database,
  ref: JobRef,
): Promise<{ pauseMs: number } | null> {
  return transact(db, async (tx) => {
    const job = await lockOpenExecutionJob(tx, ref);
    if (!job) return null;
    const early = await findPause(tx, job);
    if (early > 0) return { pauseMs: early };
    return workOn(tx, job, operations[job.kind as ExecutionJobKind]);
  });
}

async function workOn(
  tx: Database,
  row: JobRow,
  operation: Operation<ExecutionJobKind>,
): Promise<{ pauseMs: number } | null> {
  const state = row.request as unknown as ExecutionJobState<never>;
  const shown = row.data as unknown as ExecutionJobData;
  const job: LockedExecutionJob<never> = {
    id: row.id,
    projectId: row.project_id,
    workflowId: shown.workflowId,
    createdAt: row.created_at,
    asked: state.asked,
    cursor: state.cursor,
  };
  const total = row.state === 'waiting' ? await operation.count(tx, job) : state.total;
  const { checked, outcome, cursor, pauseMs } = await operation.page(tx, job);
  const result = sum({ ...operation.nothing, ...(row.result as object | null) }, outcome);
  const done = row.position + checked;
  const isOver = cursor === null;
  const treated = Object.values(result).reduce((all, count) => all + count, 0);
  await updateJobProgress(tx, row.id, {
    done,
    total: Math.max(done, total),
    result,
    request: { ...state, cursor, total, pauseMs } satisfies ExecutionJobState<never>,
    ...(isOver && { data: { ...shown, totalRequested: shown.totalRequested ?? treated } }),
  });
  if (!isOver) return { pauseMs };
  await endJob(tx, row.id, { state: 'completed' });
  return null;
}

function sum(before: Record<string, number>, more: Record<string, number>): Record<string, number> {
  const all = { ...before };
  for (const [name, count] of Object.entries(more)) all[name] = (all[name] ?? 0) + count;
  return all;
}
