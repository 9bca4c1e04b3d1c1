import { z } from 'zod';
import { findExecutionJob } from '../../db/jobs/execution-jobs.ts';
import { findWorkflow } from '../../db/workflows/workflows.ts';
import { found } from '../../domain/errors.ts';
import { type ExecutionJobData, executionJobKinds } from '../../domain/job.ts';
import { endpoint } from '../http/endpoint.ts';
import { present } from '../http/record.ts';
import { named } from '../http/schemas.ts';
import { WorkflowById, workflowExample } from '../workflows/graph/record.ts';
import {
  readContents,
  exampleProjectId,
  exampleRunId,
  exampleTimes,
  jobOf,
} from '../jobs/record.ts';
import { migrateExecutions } from './migrate.ts';
import { moveWaitsOfStep } from './move-waits.ts';
import { retryAllExecutions } from './retry-all.ts';

const ExecutionJob = jobOf('ExecutionJob', {
  data: z.object({
    projectId: z.uuid(),
    workflowId: z.uuid(),
    operation: z.enum(executionJobKinds),
    stepId: z.uuid().nullable(),
    totalRequested: z.int().nullable(),
  }),
  result: z.union([
    named('MigrationResult', {
      migrated: z.int(),
      unchanged: z.int(),
      unmappable: z.int(),
      cancelled: z.int(),
      finished: z.int(),
    }),
    named('MoveResult', { moved: z.int(), skipped: z.int() }),
    named('RetryResult', { retried: z.int(), refused: z.int() }),
  ]),
});

type Result = z.output<typeof ExecutionJob>['result'];

const getExecutionJob = endpoint({
  id: 'getExecutionJob',
  method: 'GET',
  path: '/workflows/{id}/jobs/{jobId}',
  summary: 'Get the progress and result of a job on executions',
  description:
    '`progress` is in percent. `result` counts executions, and is set when the job has ' +
    'ended; its counts depend on `data.operation`. `cancelled`: the project was disabled, ' +
    'reset or deleted, or the workflow was deleted. A job can be read for 30 days after its ' +
    'end, then it is JOB_NOT_FOUND.',
  access: 'secret',
  params: WorkflowById.extend({ jobId: z.string() }),
  response: ExecutionJob,
  problems: ['WORKFLOW_NOT_FOUND', 'JOB_NOT_FOUND'],
  example: {
    response: {
      id: `retry-all-${exampleProjectId}-${exampleRunId}`,
      state: 'completed',
      progress: 100,
      data: {
        projectId: exampleProjectId,
        workflowId: workflowExample.id,
        operation: 'retry-all',
        stepId: null,
        totalRequested: 40,
      },
      result: { retried: 39, refused: 1 },
      failedReason: null,
      ...exampleTimes,
    },
  },
  async handle({ db, caller: { projectId, project }, params: { id, jobId } }) {
    found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    const key = { projectId, workflowId: id, jobId };
    const job = found('JOB', jobId, await findExecutionJob(db, key));
    const contentOf = await readContents<ExecutionJobData, Result>(db, [job], project);
    return present(ExecutionJob, job, contentOf(job));
  },
});

export const executionJobEndpoints = [
  getExecutionJob,
  migrateExecutions,
  retryAllExecutions,
  moveWaitsOfStep,
];
