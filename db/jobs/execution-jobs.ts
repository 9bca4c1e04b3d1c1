import { sql } from 'kysely';
import {
  type ExecutionJobData,
  type ExecutionJobKind,
  type ExecutionJobResults,
  executionJobKinds,
} from '../../domain/job.ts';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { cancelJobs, insertJob, type JobRef, type JobRow, lockOpenJob } from './jobs.ts';

/** Jobs on the executions of a workflow. */

/** Request and progress of a job. */
export interface ExecutionJobState<Asked> {
  asked: Asked;
  /** Start of the next page; null: the first page. */
  cursor: unknown;
  /** Approximate number of executions to check, for the progress. */
  total: number;
  /** Minimum milliseconds between the end of a page and the next page. */
  pauseMs: number;
}

/** An open job. The caller's transaction has locked it. */
export interface LockedExecutionJob<Asked> {
  id: string;
  projectId: string;
  workflowId: string;
  createdAt: Date;
  asked: Asked;
  cursor: unknown;
}

export interface ExecutionPage<Kind extends ExecutionJobKind> {
  /** Number of executions that were checked. */
  checked: number;
  /** Counts to add to the job's result. */
  outcome: Partial<ExecutionJobResults[Kind]>;
  /** Start of the next page; null: this was the last one. */
  cursor: object | null;
  /** Minimum milliseconds until the next page. */
  pauseMs: number;
}

/**
 * Inserts a job, in the caller's transaction. The caller has locked the project and then the
 * workflow.
 */
export async function insertExecutionJob(
  tx: Database,
  { projectId, jobId }: JobRef,
  job: Omit<ExecutionJobData, 'projectId'> & { asked: object; causedBy: string },
): Promise<void> {
  const { asked, causedBy, ...shown } = job;
  const data: ExecutionJobData = { projectId, ...shown };
  const request: ExecutionJobState<object> = { asked, cursor: null, total: 0, pauseMs: 0 };
  const { workflowId, operation: kind } = shown;
  await insertJob(tx, { id: jobId, projectId, kind, workflowId, data, request, causedBy });
}

/** Finds a job on the executions of a workflow, of any of `executionJobKinds`. */
export async function findExecutionJob(
  db: Database,
  { projectId, workflowId, jobId }: JobRef & { workflowId: string },
): Promise<JobRow | undefined> {
  return db
    .selectFrom('job')
    .select(columnsOf('job'))
    .where('project_id', '=', projectId)
    .where('workflow_id', '=', workflowId)
    .where('kind', 'in', executionJobKinds)
    .where('id', '=', jobId)
    .executeTakeFirst();
}

/**
 * Locks a job for the caller's transaction and returns it; null when nothing is left to do, see
 * `lockOpenJob`. The workflow is locked before its job, as in a deletion. If the workflow is
 * deleted, the job is cancelled here.
 */
export async function lockOpenExecutionJob(tx: Database, ref: JobRef): Promise<JobRow | null> {
  const workflow = await tx
    .selectFrom('workflow')
    .select('id')
    .where('id', '=', (eb) =>
      eb.selectFrom('job').select('workflow_id').where('id', '=', ref.jobId),
    )
    .forKeyShare()
    .executeTakeFirst();
  const job = await lockOpenJob(tx, ref);
  if (!job || workflow) return job;
  await cancelJobs(tx, { workflowIds: job.workflow_id === null ? [] : [job.workflow_id] });
  return null;
}

/** Returns the milliseconds for which a locked job must still pause before its next page. */
export async function findPause(tx: Database, job: JobRow): Promise<number> {
  const { pauseMs } = job.request as unknown as ExecutionJobState<unknown>;
  if (pauseMs === 0) return 0;
  const { rows } = await sql<{ left: number }>`
    select ceil(${pauseMs}::float8
        - extract(epoch from clock_timestamp() - touched_at) * 1000)::float8 as left
      from job where id = ${job.id}`.execute(tx);
  return Math.max(0, rows[0]?.left ?? 0);
}
