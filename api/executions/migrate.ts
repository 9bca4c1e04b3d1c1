import { z } from 'zod';
import type { Migrate } from '../../db/transactions/execution-jobs/migrate.ts';
import { findWorkflow } from '../../db/workflows/workflows.ts';
import { found, together } from '../../domain/errors.ts';
import { selection } from '../../domain/filter/selection.ts';
import { endpoint } from '../http/endpoint.ts';
import { Uuid } from '../http/schemas.ts';
import { requireSteps } from '../workflows/dry-run.ts';
import { WorkflowById } from '../workflows/graph/record.ts';
import { refuseUnknownVersions, requireVersion, Versions } from '../workflows/graph/versions.ts';
import { acceptExecutionJob } from './accept.ts';
import { exampleProjectId, exampleRunId, JobAccepted } from '../jobs/record.ts';

export const migrateExecutions = endpoint({
  id: 'migrateExecutions',
  method: 'POST',
  path: '/workflows/{id}/migrate',
  summary: 'Move the active executions of a workflow to another version',
  description:
    'A job does the work after the response; GET /workflows/{id}/jobs/{jobId} shows its ' +
    'progress. Each execution continues at the step with the same id, or at the one in ' +
    '`mapping`. No step is begun twice, and a running step ends first. POST …/dry-run ' +
    'previews the changes. The result counts executions that were `migrated`; `unchanged`: ' +
    'on the version already; `unmappable`: their step has no counterpart of its type, so ' +
    'they stay, or are `cancelled`; `finished`: they ended meanwhile.',
  access: 'secret',
  status: 202,
  params: WorkflowById,
  body: selection({
    from: Versions.optional().describe('Versions; by default all with active executions'),
    to: z.int().min(1).optional().describe('A version; by default the newest'),
    mapping: z
      .record(z.string(), z.string())
      .default({})
      .describe('Steps of the target version by those of the old versions, if their ids differ'),
    onUnmappable: z.enum(['stay', 'cancel']).default('stay'),
    executionIds: z
      .array(Uuid)
      .min(1)
      .max(1000)
      .optional()
      .describe('Only these executions; unknown ones are ignored'),
  }),
  response: JobAccepted,
  problems: ['WORKFLOW_NOT_FOUND', 'WORKFLOW_INVALID'],
  example: {
    body: { from: [1], onUnmappable: 'stay' },
    response: {
      message: 'The migration has been queued.',
      jobId: `migration-${exampleProjectId}-${exampleRunId}`,
    },
  },
  async check({ db, caller: { projectId }, params: { id }, body }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    const { from, to = workflow.version, mapping = {} } = body;
    await together(
      () => refuseUnknownVersions(workflow, from, 'from'),
      async () => requireSteps(await requireVersion(db, workflow, to, 'to'), mapping),
    );
  },
  async handle({ db, caller, keyUse, note, params: { id: workflowId }, body }) {
    const workflow = found(
      'WORKFLOW',
      workflowId,
      await findWorkflow(db, caller.projectId, workflowId),
    );
    const { from, to = workflow.version, mapping, onUnmappable } = body;
    const executionIds = body.executionIds ? [...new Set(body.executionIds)] : null;
    const asked: Migrate = { from: from ?? null, to, mapping, onUnmappable, executionIds };
    return acceptExecutionJob({ db, caller, keyUse, note }, 'The migration has been queued.', {
      workflowId,
      operation: 'migrate',
      stepId: null,
      ...(executionIds && { totalRequested: executionIds.length }),
      asked,
    });
  },
});
