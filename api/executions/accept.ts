import { randomUUID } from 'node:crypto';
import { transact, type Database } from '../../db/database.ts';
import { insertExecutionJob } from '../../db/jobs/execution-jobs.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { holdWorkflow } from '../../db/workflows/workflows.ts';
import { found } from '../../domain/errors.ts';
import type { ExecutionJobData, ExecutionJobKind } from '../../domain/job.ts';
import type { SecurityEventName } from '../../db/accounts/security-events.ts';
import { actorOf, type ProjectCaller } from '../access/caller.ts';
import type { SecurityLog } from '../access/security-log.ts';

const kinds: Record<ExecutionJobKind, { prefix: string; event: SecurityEventName }> = {
  migrate: { prefix: 'migration', event: 'workflow.migrated' },
  'move-waits': { prefix: 'move-waits', event: 'workflow.waits_moved' },
  'retry-all': { prefix: 'retry-all', event: 'workflow.retried' },
};

type AcceptedJob = Pick<ExecutionJobData, 'workflowId' | 'operation' | 'stepId'> & {
  totalRequested?: number;
  /** The input of the job. */
  asked: object;
};

/**
 * Accepts a job on the executions of a workflow. A request that is repeated with its
 * `Idempotency-Key` accepts no second job, also after an interruption. This is necessary because
 * some jobs must not run twice, for example a job that extends waits.
 * @returns the response
 * @throws Problem WORKFLOW_NOT_FOUND when the workflow was deleted in the meantime
 */
export async function acceptExecutionJob(
  { db, caller, keyUse, note }: Accepting,
  message: string,
  job: AcceptedJob,
): Promise<{ message: string; jobId: string }> {
  const { project } = caller;
  const jobId = newJobId(caller, job.operation);
  const answer = { message, jobId };
  await transact(db, async (tx) => {
    await holdProject(tx, project.id);
    found('WORKFLOW', job.workflowId, await holdWorkflow(tx, project.id, job.workflowId));
    await storeExecutionJob(tx, caller, jobId, job);
    const target = { type: 'workflow', id: job.workflowId };
    const { event } = kinds[job.operation];
    await note({ event, projectId: project.id, target, details: { jobId } }, tx);
    await keyUse?.completeIn(tx, answer);
  });
  return answer;
}

export function newJobId({ project }: ProjectCaller, operation: ExecutionJobKind): string {
  return `${kinds[operation].prefix}-${project.publicId}-${randomUUID()}`;
}

/**
 * Stores a job on the executions of a workflow. The caller's transaction has locked the project and
 * then the workflow.
 */
export async function storeExecutionJob(
  tx: Database,
  caller: ProjectCaller,
  jobId: string,
  job: AcceptedJob,
): Promise<void> {
  const given = { totalRequested: null, causedBy: actorOf(caller), ...job };
  await insertExecutionJob(tx, { projectId: caller.projectId, jobId }, given);
}

/** The parts of a call that accepting a job needs. */
interface Accepting {
  db: Database;
  caller: ProjectCaller;
  note: SecurityLog['note'];
  keyUse: { completeIn(tx: Database, data: unknown): Promise<void> } | null;
}
