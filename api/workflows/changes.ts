import type { z } from 'zod';
import { columnsFrom } from '../../db/columns.ts';
import type { Database } from '../../db/database.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { changeSchedule } from '../../db/schedules/schedules.ts';
import { deleteWorkflows } from '../../db/transactions/executions/delete-workflows.ts';
import { recordWorkflowEdit, storeVersion } from '../../db/workflows/versions.ts';
import {
  countActiveExecutions,
  exitRulesOf,
  insertExitEvents,
  insertGraph,
  insertWorkflow,
  lockWorkflows,
  updateWorkflow,
  type WorkflowRow,
} from '../../db/workflows/workflows.ts';
import { foundAll, Problem } from '../../domain/errors.ts';
import type { GraphWarning } from '../../domain/workflow/graph-rules.ts';
import { triggerKey } from '../../domain/workflow/portable/step-keys.ts';
import { refuseBroken } from './graph/enabling.ts';
import { refuseTooLarge } from './graph/graph.ts';
import { startOfNew } from './graph/starts.ts';
import { settledWhere } from './graph/trigger-input.ts';
import { triggerStep } from './graph/trigger.ts';
import type { NewWorkflow } from './input.ts';
import { fillWorkflow, replaceGraph } from './portable/storing.ts';
import { type GivenGraph } from './portable/input.ts';
import { keyedGraph } from './portable/keyed-graph.ts';

/** Changes of workflows, in the transaction of the caller. */

interface Options {
  /** The result of `findBrokenTemplates`, for a workflow that is enabled. */
  broken?: ReadonlyMap<string, string> | undefined;
  /** The result of `actorOf`. */
  causedBy: string;
}

/**
 * Creates a workflow with its trigger or its whole graph.
 * @param options.id its id, by default a new one
 * @param options.path the fields that contain the graph in errors, the outermost first
 * @throws Problem VALIDATION_ERROR, TEMPLATE_NOT_FOUND, TOPIC_NOT_FOUND, SEGMENT_NOT_FOUND,
 * WORKFLOW_INVALID
 */
export async function storeNewWorkflow(
  tx: Database,
  projectId: string,
  body: z.output<typeof NewWorkflow>,
  { id, path = ['graph'], broken, causedBy }: Options & { id?: string; path?: readonly string[] },
): Promise<{ row: WorkflowRow; warnings: GraphWarning[] }> {
  const { graph } = body;
  const where = settledWhere(body.triggerConfig?.where);
  await holdProject(tx, projectId);
  const workflow = await insertWorkflow(tx, {
    ...(id !== undefined && { id }),
    project_id: projectId,
    ...columnsFrom({
      name: body.name,
      description: body.description ?? graph?.description,
      triggerEventName: body.eventName ?? body.triggerConfig?.eventName ?? null,
    }),
    ...startOfNew(body),
    trigger_where: where && JSON.stringify(where),
  });
  const trigger = {
    project_id: projectId,
    workflow_id: workflow.id,
    type: 'TRIGGER',
    position_x: 100,
    position_y: 100,
    key: triggerKey,
    ...triggerStep(workflow),
  };
  await insertGraph(tx, [trigger], []);
  if (!graph) {
    await storeVersion(tx, workflow, { causedBy });
    return { row: workflow, warnings: [] };
  }
  const enabled = body.enabled ?? false;
  const made = await fillWorkflow(tx, workflow, graph, { path, enabled, broken, causedBy });
  return { row: made.filled, warnings: made.warnings };
}

/**
 * Replaces the settings and the graph of a workflow that the caller has locked for editing, and
 * enables or disables it. Makes at most one new version.
 * @throws Problem as `storeNewWorkflow`
 */
export async function replaceWorkflow(
  tx: Database,
  locked: WorkflowRow,
  { graph, enabled }: { graph: z.output<typeof GivenGraph>; enabled: boolean },
  { broken, causedBy }: Options,
): Promise<WorkflowRow> {
  const before =
    enabled === locked.enabled ? locked : await updateWorkflow(tx, locked.id, { enabled });
  const { settled = before, changed } = await replaceGraph(tx, before, graph);
  if (changed) await refuseTooLarge(tx, locked.id);
  const edit = { before: locked, after: settled, isEdit: changed };
  const after = await settleWorkflow(tx, edit, causedBy);
  if (enabled) await refuseBroken(tx, after, keyedGraph(graph, []), broken);
  return after;
}

/**
 * Completes a change of a workflow: starts or stops its schedule if it was enabled or disabled, and
 * makes a new version if its graph has changed.
 */
export async function settleWorkflow(
  tx: Database,
  { before, after, isEdit }: { before: WorkflowRow; after: WorkflowRow; isEdit: boolean },
  causedBy: string,
): Promise<WorkflowRow> {
  const isSwitched = after.enabled !== before.enabled;
  const row = isEdit ? await recordWorkflowEdit(tx, after, { causedBy }) : after;
  if (isSwitched) await changeSchedule(tx, row);
  if (isSwitched && row.enabled && !isEdit) await insertExitEvents(tx, row.id, exitRulesOf(row));
  return row;
}

/** Locks workflows for deletion. @throws Problem WORKFLOW_NOT_FOUND */
export async function requireWorkflows(
  tx: Database,
  projectId: string,
  ids: readonly string[],
): Promise<void> {
  foundAll('WORKFLOW', ids, await lockWorkflows(tx, projectId, ids, { for: 'delete' }));
}

/**
 * Deletes workflows without active executions: all of them, or none.
 * @throws Problem WORKFLOW_NOT_FOUND, WORKFLOW_HAS_ACTIVE_EXECUTIONS
 */
export async function deleteIdleWorkflows(
  tx: Database,
  projectId: string,
  ids: readonly string[],
): Promise<void> {
  await requireWorkflows(tx, projectId, ids);
  const active = await countActiveExecutions(tx, ids);
  if (active.length > 0) throw hasActiveExecutions(active, ids.length);
  await deleteWorkflows(tx, ids);
}

/** Maximum number of workflows in the text of an error. */
const namedMax = 10;

function hasActiveExecutions(active: { id: string; count: number }[], asked: number): Problem {
  const count = active.reduce((sum, workflow) => sum + workflow.count, 0);
  const ofThem = active.slice(0, namedMax).map((workflow) => `${workflow.id} (${workflow.count})`);
  const more = active.length > namedMax ? ` and ${active.length - namedMax} more` : '';
  const message =
    asked === 1
      ? `The workflow has ${count} active ${count === 1 ? 'execution' : 'executions'}.`
      : `These workflows have active executions: ${ofThem.join(', ')}${more}.`;
  const details = { count, ...(asked > 1 && { workflowIds: active.map(({ id }) => id) }) };
  return new Problem('WORKFLOW_HAS_ACTIVE_EXECUTIONS', { message, details });
}
