import { type Selectable, sql } from 'kysely';
import type { Position } from '../../domain/cursor.ts';
import type { JobKind, JobProgress, JobState } from '../../domain/job.ts';
import type { RunKind } from '../../domain/runs/runs.ts';
import { columnsOf } from '../columns.ts';
import { type Database, transact } from '../database.ts';
import { enqueue } from '../outbox/outbox.ts';
import { anyOf, countRows } from '../expressions.ts';
import type { Job } from '../tables.ts';

export type JobRow = Selectable<Job>;

/** The ids of a job, as the input of its run has them. */
export interface JobRef {
  projectId: string;
  jobId: string;
}

/**
 * The states of open jobs, as SQL literals: with parameters, a plan might not use the partial
 * indexes of open jobs.
 */
const openStates = [sql.lit('waiting'), sql.lit('active')];

/** The run type of each kind of job, and the name that operators see. */
const runOf: Record<
  JobKind,
  {
    kind: RunKind & ('contactImport' | 'bulkContacts' | 'executionJob' | 'eventReplay');
    name: string;
  }
> = {
  import: { kind: 'contactImport', name: 'Contact import' },
  bulk: { kind: 'bulkContacts', name: 'Bulk action' },
  migrate: { kind: 'executionJob', name: 'Migrate executions' },
  'move-waits': { kind: 'executionJob', name: 'Move waits' },
  'retry-all': { kind: 'executionJob', name: 'Retry failed executions' },
  replay: { kind: 'eventReplay', name: 'Replay events' },
};

/**
 * Inserts a job and requests its run, in the caller's transaction.
 * @param job.summary for operators; by default the name of its kind
 * @param job.causedBy the actor who started it
 */
export async function insertJob(
  tx: Database,
  job: {
    id: string;
    projectId: string;
    kind: JobKind;
    workflowId?: string;
    subscriptionId?: string;
    data: object;
    request?: object;
    summary?: string;
    causedBy: string;
  },
): Promise<void> {
  await tx
    .insertInto('job')
    .values({
      id: job.id,
      project_id: job.projectId,
      kind: job.kind,
      workflow_id: job.workflowId ?? null,
      subscription_id: job.subscriptionId ?? null,
      data: JSON.stringify(job.data),
      caused_by: job.causedBy,
      request: job.request === undefined ? null : JSON.stringify(job.request),
    })
    .execute();
  const { kind, name } = runOf[job.kind];
  const input = { projectId: job.projectId, jobId: job.id };
  const summary = job.summary ?? name;
  await enqueue(tx, { kind, input, summary, causedBy: job.causedBy });
}

export async function findJob(
  db: Database,
  projectId: string,
  kind: JobKind,
  id: string,
): Promise<JobRow | undefined> {
  return db
    .selectFrom('job')
    .select(columnsOf('job'))
    .where('project_id', '=', projectId)
    .where('kind', '=', kind)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Lists the imports of a project, newest first, and counts them (0 on later pages). */
export async function listImports(
  db: Database,
  projectId: string,
  { after, limit }: { after?: Position | undefined; limit: number },
): Promise<{ rows: JobRow[]; total: number }> {
  // The kind is a literal, because the index `job_import_page` contains only this kind.
  const imports = db
    .selectFrom('job')
    .where('project_id', '=', projectId)
    .where('kind', '=', sql.lit('import'));
  const rows = await imports
    .select(columnsOf('job'))
    .$if(after !== undefined, (query) =>
      query.where(
        sql<boolean>`((created_at, id) < (${after?.value}::timestamptz, ${after?.id}::text))`,
      ),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
  return { rows, total: after ? 0 : await countRows(imports) };
}

/**
 * Locks a job for the caller's transaction and returns it; null when nothing is left to do, because
 * it has ended or is deleted. In a disabled project, the job is cancelled here. The project is
 * locked first, so that disabling, reset and deletion wait for this transaction, or this
 * transaction waits for them.
 */
export async function lockOpenJob(tx: Database, { projectId, jobId }: JobRef) {
  const project = await tx
    .selectFrom('project')
    .select('disabled_reason')
    .where('id', '=', projectId)
    .forShare()
    .executeTakeFirst();
  if (!project) return null;
  if (project.disabled_reason !== null) {
    await cancelJobs(tx, { projectId });
    return null;
  }
  const job = await tx
    .selectFrom('job')
    .select(columnsOf('job'))
    .where('id', '=', jobId)
    .where('project_id', '=', projectId)
    .where('state', 'in', openStates)
    .forUpdate()
    .executeTakeFirst();
  return job ?? null;
}

/** Stores the progress and results of a locked job; also its `data` and `request`, if given. */
export async function updateJobProgress(
  tx: Database,
  jobId: string,
  progress: { done: number; total: number; result: object; data?: object; request?: object },
): Promise<void> {
  const { done, total, result, data, request } = progress;
  await tx
    .updateTable('job')
    .set({
      state: 'active',
      started_at: sql<Date>`coalesce(started_at, clock_timestamp())`,
      touched_at: sql<Date>`clock_timestamp()`,
      position: done,
      // Only a completed job shows 100.
      progress: Math.min(99, Math.floor((100 * done) / Math.max(1, total))),
      result: JSON.stringify(result),
      ...(data ? { data: JSON.stringify(data) } : {}),
      ...(request ? { request: JSON.stringify(request) } : {}),
    })
    .where('id', '=', jobId)
    .execute();
}

/** Ends a locked job and deletes its input. */
export async function endJob(
  tx: Database,
  jobId: string,
  end: { state: 'completed' } | { state: 'failed'; reason: string },
): Promise<void> {
  const now = sql<Date>`clock_timestamp()`;
  await tx
    .updateTable('job')
    .set({
      state: end.state,
      finished_at: now,
      touched_at: now,
      ...(end.state === 'completed'
        ? { progress: 100 }
        : {
            failed_reason: end.reason,
            started_at: sql<Date>`coalesce(started_at, clock_timestamp())`,
          }),
    })
    .where('id', '=', jobId)
    .execute();
  await deleteJobInput(tx, [jobId]);
}

/**
 * Cancels the open jobs of a project, of workflows or of event subscriptions, in the transaction
 * that disables, resets or deletes them and has locked their rows. The runs of the jobs see this
 * before their next batch, without a signal. Returns the ids of the cancelled jobs.
 */
export async function cancelJobs(
  tx: Database,
  of:
    | { projectId: string }
    | { workflowIds: readonly string[] }
    | { subscriptionIds: readonly string[] },
): Promise<string[]> {
  const now = sql<Date>`clock_timestamp()`;
  const rows = await tx
    .updateTable('job')
    .set({ state: 'cancelled', finished_at: now, touched_at: now })
    .where((or) => {
      if ('projectId' in of) return or('project_id', '=', of.projectId);
      if ('workflowIds' in of) return or('workflow_id', '=', anyOf(of.workflowIds));
      return or('subscription_id', '=', anyOf(of.subscriptionIds));
    })
    .where('state', 'in', openStates)
    .returning('id')
    .execute();
  const ids = rows.map((row) => row.id);
  if (ids.length > 0) await deleteJobInput(tx, ids);
  return ids;
}

async function deleteJobInput(tx: Database, ids: readonly string[]): Promise<void> {
  await tx.deleteFrom('import_file').where('job_id', 'in', ids).execute();
  await tx.deleteFrom('job_batch').where('job_id', 'in', ids).execute();
}

/** Returns the progress of a job, for its run. A deleted job counts as cancelled. */
export async function findJobProgress(db: Database, { projectId, jobId }: JobRef) {
  const row = await db
    .selectFrom('job')
    .select(['state', 'position', 'data', 'request', 'failed_reason'])
    .where('id', '=', jobId)
    .where('project_id', '=', projectId)
    .executeTakeFirst();
  const data = (row?.data ?? {}) as { totalRows?: number; totalRequested?: number };
  const { total } = (row?.request ?? {}) as { total?: number };
  const progress: JobProgress = {
    state: (row?.state as JobState | undefined) ?? 'cancelled',
    done: row?.position ?? 0,
    total: data.totalRows ?? data.totalRequested ?? total ?? 0,
    failedReason: row?.failed_reason ?? null,
  };
  return progress;
}

/**
 * Requests the runs of open jobs without progress for ten minutes: they were ended in Temporal, or
 * Temporal lost them. Active runs are not affected.
 */
export async function signalStalledJobs(db: Database, max: number): Promise<void> {
  await transact(db, async (tx) => {
    const rows = await tx
      .updateTable('job')
      .set({ touched_at: sql<Date>`now()` })
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('job')
          .select('id')
          .where('state', 'in', openStates)
          .where('touched_at', '<', sql<Date>`now() - interval '10 minutes'`)
          .limit(max)
          .forUpdate()
          .skipLocked(),
      )
      .returning(['id', 'project_id', 'kind', 'caused_by'])
      .execute();
    for (const row of rows) {
      const { kind, name } = runOf[row.kind as JobKind];
      const input = { projectId: row.project_id, jobId: row.id };
      await enqueue(tx, { kind, input, summary: name, causedBy: row.caused_by });
    }
  });
}
