import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { ExecutionJobActivities } from '../activities/execution-jobs.ts';
import { sliceOptions, workInSlices } from './job.ts';

/**
 * Migrates executions of a workflow, moves the ends of their waits, or retries failed executions.
 */
export async function executionJob(job: { projectId: string; jobId: string }): Promise<void> {
  const { WORK_ON_EXECUTIONS } = proxyActivities<ExecutionJobActivities>(
    sliceOptions(job.projectId),
  );
  if (await workInSlices('executions', () => WORK_ON_EXECUTIONS(job))) {
    await continueAsNew<typeof executionJob>(job);
  }
}
