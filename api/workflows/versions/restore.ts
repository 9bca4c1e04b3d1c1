import { listSegmentReferences, lockSegmentReferences } from '../../../db/segments/segments.ts';
import { type Database, transact } from '../../../db/database.ts';
import { findDrawing } from '../../../db/workflows/drawing.ts';
import { findVersion, recordWorkflowEdit } from '../../../db/workflows/versions.ts';
import { findWorkflow, lockWorkflows, type WorkflowRow } from '../../../db/workflows/workflows.ts';
import { found, foundAll } from '../../../domain/errors.ts';
import { segmentsOfStep } from '../../../domain/workflow/field-uses.ts';
import { type Condition, segmentIdsOf } from '../../../domain/filter/filter.ts';
import { ExitRules } from '../../../domain/workflow/steps/schemas.ts';
import type { DrawnVersion } from '../../../domain/workflow/versions/version.ts';
import { actorOf } from '../../access/caller.ts';
import { endpoint } from '../../http/endpoint.ts';
import { findBrokenTemplates, refuseBroken } from '../graph/enabling.ts';
import { workflowGraphExample } from '../graph/record.ts';
import { changeExitRules, changeTrigger } from '../graph/trigger.ts';
import { readWorkflow, WholeWorkflow } from '../graph/whole.ts';
import { noteWorkflowChange } from '../graph/noting.ts';
import { storeDrawing } from '../portable/storing.ts';
import { VersionByNumber } from './record.ts';
import { TriggerConfig } from '../graph/trigger-input.ts';

export const restoreVersion = endpoint({
  id: 'restoreVersion',
  method: 'POST',
  path: '/workflows/{id}/versions/{version}/restore',
  summary: 'Restore a version of a workflow, as its newest version',
  description:
    'Restores steps, transitions, trigger and exit rules, all or none of them. Steps that still ' +
    'exist keep their id, and removed ones get theirs back, so that waits, statistics and ' +
    'migrations know them. If nothing differs, nothing changes. Open executions stay on their version. ' +
    'WORKFLOW_INVALID: the workflow is enabled, and the graph cannot run.',
  access: 'secret',
  params: VersionByNumber,
  response: WholeWorkflow,
  problems: [
    'WORKFLOW_NOT_FOUND',
    'VERSION_NOT_FOUND',
    'TEMPLATE_NOT_FOUND',
    'TOPIC_NOT_FOUND',
    'SEGMENT_NOT_FOUND',
    'WORKFLOW_INVALID',
  ],
  example: { response: workflowGraphExample },
  async handle(call) {
    const { db, renderer, caller } = call;
    const { id, version } = call.params;
    const { projectId, project } = caller;
    found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    // A version never changes, so it can be read before the lock.
    const { drawn } = found('VERSION', String(version), await findVersion(db, id, version));
    const broken = await findBrokenTemplates({ db, renderer }, projectId, drawn.steps);
    return transact(db, async (tx) => {
      const [row] = await lockWorkflows(tx, projectId, [id], { for: 'edit' });
      const before = found('WORKFLOW', id, row);
      if (await redrawAs(tx, before, drawn)) {
        const edit = { causedBy: actorOf(caller), restoredFrom: version };
        const after = await recordWorkflowEdit(tx, before, edit);
        if (after.enabled) await refuseBroken(tx, after, drawn, broken);
        const details = { restoredFrom: version };
        await noteWorkflowChange(call, tx, { before, after }, { details });
      }
      return readWorkflow(tx, project, id);
    });
  },
});

/**
 * Restores a version as the current graph of a workflow that the caller has locked for editing.
 * Returns true if anything has changed.
 * @throws Problem TEMPLATE_NOT_FOUND, TOPIC_NOT_FOUND, SEGMENT_NOT_FOUND, WORKFLOW_INVALID
 */
async function redrawAs(
  tx: Database,
  workflow: WorkflowRow,
  drawn: DrawnVersion,
): Promise<boolean> {
  await requireSegments(tx, workflow.project_id, drawn);
  const triggerChanged = await changeTrigger(
    tx,
    workflow,
    { triggerType: drawn.triggerType, triggerConfig: TriggerConfig.parse(triggerOf(drawn)) },
    workflow,
  );
  const rulesChanged = await changeExitRules(tx, workflow, ExitRules.parse(drawn.exitRules ?? []));
  // The steps are read after the trigger was stored, because storing the trigger renames the
  // TRIGGER step.
  const before = await findDrawing(tx, workflow);
  const redrawn = await storeDrawing(tx, workflow, before, drawn);
  return triggerChanged || rulesChanged || redrawn;
}

function triggerOf({ steps }: DrawnVersion): Record<string, unknown> {
  return steps.find(({ type }) => type === 'TRIGGER')?.config ?? {};
}

/**
 * Requires the segments to which the version refers.
 * @throws Problem SEGMENT_NOT_FOUND for a deleted segment
 */
async function requireSegments(
  tx: Database,
  projectId: string,
  drawn: DrawnVersion,
): Promise<void> {
  const { segmentId, filter } = triggerOf(drawn) as { segmentId?: string; filter?: Condition };
  const ids = [
    ...(segmentId ? [segmentId] : []),
    ...(filter ? segmentIdsOf(filter) : []),
    ...drawn.steps.flatMap(segmentsOfStep),
  ];
  if (ids.length === 0) return;
  await lockSegmentReferences(tx, projectId);
  const known = await listSegmentReferences(tx, projectId, ids);
  foundAll(
    'SEGMENT',
    ids,
    [...known.keys()].map((id) => ({ id })),
  );
}
