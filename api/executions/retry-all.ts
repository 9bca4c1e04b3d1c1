import { z } from 'zod';
import type { RetryAll } from '../../db/transactions/execution-jobs/retry-all.ts';
import { findWorkflow } from '../../db/workflows/workflows.ts';
import { found } from '../../domain/errors.ts';
import { selection } from '../../domain/filter/selection.ts';
import { limits } from '../../domain/limits.ts';
import { endpoint } from '../http/endpoint.ts';
import { Moment, Uuid } from '../http/schemas.ts';
import { WorkflowById } from '../workflows/graph/record.ts';
import { requireVersion } from '../workflows/graph/versions.ts';
import { acceptExecutionJob } from './accept.ts';
import { exampleProjectId, exampleRunId, JobAccepted } from '../jobs/record.ts';

export const retryAllExecutions = endpoint({
  id: 'retryAllExecutions',
  method: 'POST',
  path: '/workflows/{id}/executions/retry-all',
  summary: 'Retry the failed executions of a workflow, each from its failed step',
  description:
    'A job does the work after the response, at most 100 a second; GET ' +
    '/workflows/{id}/jobs/{jobId} shows its progress. It retries executions that have failed ' +
    'before the request, each as POST …/retry does. `stepId`, `failedAfter` (inclusive), ' +
    '`failedBefore` (exclusive), `errorContains` (in any case) and `errorEquals` select some of them. The ' +
    'result counts `retried` ones, and `refused` ones: the contact has another active ' +
    'execution, or `version` does not have the step.',
  access: 'secret',
  status: 202,
  params: WorkflowById,
  body: selection({
    stepId: Uuid.optional(),
    version: z
      .int()
      .min(1)
      .optional()
      .describe('The version on which they continue; by default their own'),
    failedAfter: Moment.optional(),
    failedBefore: Moment.optional(),
    errorContains: z.string().max(200).optional(),
    errorEquals: z
      .string()
      .max(limits.executionErrorChars)
      .optional()
      .describe('The whole error, as GET /executions/groups shows it'),
  }),
  response: JobAccepted,
  problems: ['WORKFLOW_NOT_FOUND', 'WORKFLOW_INVALID'],
  example: {
    body: { errorContains: '503' },
    response: {
      message: 'The retries have been queued.',
      jobId: `retry-all-${exampleProjectId}-${exampleRunId}`,
    },
  },
  async check({ db, caller: { projectId }, params: { id }, body: { version } }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    if (version !== undefined) await requireVersion(db, workflow, version, 'version');
  },
  async handle({ db, caller, keyUse, note, params: { id: workflowId }, body }) {
    const { version } = body;
    const asked: RetryAll = {
      stepId: body.stepId ?? null,
      version: version ?? null,
      failedAfter: body.failedAfter?.toISOString() ?? null,
      failedBefore: body.failedBefore?.toISOString() ?? null,
      errorContains: body.errorContains ?? null,
      errorEquals: body.errorEquals ?? null,
    };
    const { stepId } = asked;
    return acceptExecutionJob({ db, caller, keyUse, note }, 'The retries have been queued.', {
      workflowId,
      operation: 'retry-all',
      stepId,
      asked,
    });
  },
});
