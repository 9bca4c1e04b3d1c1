import type { MoveWaits } from '../../db/transactions/execution-jobs/move-waits.ts';
import { findActiveStep } from '../../db/workflows/executions/positions.ts';
import { findWorkflow, findWorkflowGraph } from '../../db/workflows/workflows.ts';
import { found, invalidField, together } from '../../domain/errors.ts';
import { findStep } from '../../domain/workflow/graph.ts';
import { selection } from '../../domain/filter/selection.ts';
import { endpoint } from '../http/endpoint.ts';
import { Uuid } from '../http/schemas.ts';
import { ConditionInput } from '../segments/condition-input.ts';
import { refuseBadReferences } from '../segments/conditions.ts';
import { oneMove, waitMoveFields, waitMoveOf } from './acts.ts';
import { WorkflowById } from '../workflows/graph/record.ts';
import { refuseUnknownVersions, Versions } from '../workflows/graph/versions.ts';
import { acceptExecutionJob } from './accept.ts';
import { exampleProjectId, exampleRunId, JobAccepted } from '../jobs/record.ts';
import { stepModules, type StepType } from '../../domain/workflow/steps/registry.ts';

export const moveWaitsOfStep = endpoint({
  id: 'moveWaits',
  method: 'POST',
  path: '/workflows/{id}/steps/{stepId}/move-waits',
  summary: 'Move the ends of the waits of all executions at a step',
  description:
    'A job does the work after the response; GET /workflows/{id}/jobs/{jobId} shows its ' +
    'progress. The step is a DELAY, a WAIT_FOR_EVENT or a DIGEST of the current workflow, or of any ' +
    'version with active executions. `versions` and `filter`, a condition on their contacts, ' +
    'select some executions. Exactly one of `until`, `shiftBySeconds` and `forever` is ' +
    'required, as in PATCH …/wait. The result counts `moved` ones, and `skipped` ones: a ' +
    'wait without end cannot be shifted, and some may have ended meanwhile.',
  access: 'secret',
  status: 202,
  params: WorkflowById.extend({ stepId: Uuid }),
  body: selection({
    ...waitMoveFields,
    versions: Versions.optional(),
    filter: ConditionInput.optional().describe(
      'Only executions whose contact meets this condition',
    ),
  }).superRefine(...oneMove),
  response: JobAccepted,
  problems: ['WORKFLOW_NOT_FOUND', 'STEP_NOT_FOUND'],
  example: {
    body: { shiftBySeconds: -86400 },
    response: {
      message: 'The moves have been queued.',
      jobId: `move-waits-${exampleProjectId}-${exampleRunId}`,
    },
  },
  async check({ db, caller: { projectId }, params, body: { forever, versions, filter } }) {
    const workflow = found('WORKFLOW', params.id, await findWorkflow(db, projectId, params.id));
    const drawn = findStep(await findWorkflowGraph(db, params.id), params.stepId);
    const step = drawn ?? (await findActiveStep(db, params.id, params.stepId));
    const { type } = found('STEP', params.stepId, step);
    await together(
      () => refuseStep(type, forever),
      () => refuseUnknownVersions(workflow, versions, 'versions'),
      () => refuseBadReferences(db, projectId, filter ? { ...filter, field: 'filter' } : null),
    );
  },
  async handle({ db, caller, keyUse, note, params: { id: workflowId, stepId }, body }) {
    const move = waitMoveOf(body);
    const { filter } = body;
    const asked: MoveWaits = {
      stepId,
      move: 'until' in move ? { until: move.until.toISOString() } : move,
      versions: body.versions ?? null,
      filter: filter?.condition ?? null,
    };
    return acceptExecutionJob({ db, caller, keyUse, note }, 'The moves have been queued.', {
      workflowId,
      operation: 'move-waits',
      stepId,
      asked,
    });
  },
});

/**
 * Refuses a step at which executions cannot wait. With `forever`, also refuses a step at which
 * executions cannot wait without end.
 * @throws Problem VALIDATION_ERROR
 */
function refuseStep(type: StepType, forever: true | undefined): void {
  const rests = stepModules[type]?.rests;
  if (rests === undefined) {
    throw invalidField(
      'stepId',
      'not_allowed',
      'Must be a step in which executions wait: DELAY, WAIT_FOR_EVENT or DIGEST.',
    );
  }
  if (forever && rests !== 'wait')
    throw invalidField(
      'forever',
      'not_allowed',
      'A delay or digest cannot last for ever. Send `until` or `shiftBySeconds`.',
    );
}
