import { sql } from 'kysely';
import type { GraphTransition } from '../../domain/workflow/graph.ts';
import { keysOf } from '../../domain/workflow/portable/step-keys.ts';
import type { DrawnStep, Drawing, Redrawing } from '../../domain/workflow/portable/redrawing.ts';
import { type Database, transact } from '../database.ts';
import { anyOf } from '../expressions.ts';
import {
  deleteSteps,
  insertGraph,
  listSteps,
  listTransitions,
  lockWorkflows,
  type StepRow,
} from './workflows.ts';

/** The graph of a workflow as it is being drawn, with the keys of its steps. */

type KeyedStep = StepRow & { key: string; template_name: string | null };

/**
 * The steps of a workflow with their keys, oldest first. A key that was made is stored, so that it
 * outlives the name it was made from.
 */
export async function listKeyedSteps(
  db: Database,
  projectId: string,
  workflowId: string,
): Promise<KeyedStep[]> {
  const steps = await listSteps(db, workflowId);
  if (steps.every(hasKey)) return steps;
  return transact(db, async (tx) => {
    await lockWorkflows(tx, projectId, [workflowId], { for: 'edit' });
    await storeStepKeys(tx, workflowId);
    return (await listSteps(tx, workflowId)).filter(hasKey);
  });
}

function hasKey<Step extends StepRow>(step: Step): step is Step & { key: string } {
  return step.key !== null;
}

/** Makes the keys of steps without one, of a workflow that the caller has locked for editing. */
export async function storeStepKeys(tx: Database, workflowId: string): Promise<void> {
  const steps = await tx
    .selectFrom('workflow_step')
    .select(['id', 'key', 'type', 'name'])
    .where('workflow_id', '=', workflowId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const keys = keysOf(steps);
  const made = steps.flatMap(({ id, key }, index) =>
    key === null ? { id, key: keys[index] } : [],
  );
  if (made.length === 0) return;
  await sql`update workflow_step set key = given.key
    from jsonb_to_recordset(${JSON.stringify(made)}::jsonb) as given(id uuid, key text)
    where workflow_step.id = given.id`.execute(tx);
}

/** Returns the drawn graph of a workflow that the caller has locked for editing. */
export async function findDrawing(tx: Database, workflowId: string): Promise<Drawing> {
  await storeStepKeys(tx, workflowId);
  const steps = (await listSteps(tx, workflowId)).filter(hasKey);
  const transitions = await listTransitions(tx, workflowId);
  return {
    steps: steps.map((row) => ({
      id: row.id,
      key: row.key,
      type: row.type as DrawnStep['type'],
      name: row.name,
      config: row.config,
      templateId: row.template_id,
      position: { x: row.position_x, y: row.position_y },
    })),
    transitions: transitions.map((row) => ({
      id: row.id,
      fromStepId: row.from_step_id,
      toStepId: row.to_step_id,
      branch: row.branch,
    })),
  };
}

/** Stores what makes another drawing of the one that is stored. The caller has locked the workflow. */
export async function redraw(
  tx: Database,
  { id: workflow_id, project_id }: { id: string; project_id: string },
  made: Redrawing,
  outcomeOf: (way: GraphTransition) => string | null,
): Promise<void> {
  // A way may go from one step to another: what is there before would be in its way.
  await tx
    .deleteFrom('workflow_transition')
    .where('id', '=', anyOf(made.removedTransitions))
    .execute();
  await deleteSteps(tx, made.removedSteps);
  if (made.changedSteps.length > 0) {
    await sql`update workflow_step
      set name = given.name, config = given.config, template_id = given."templateId",
        position_x = (given.position ->> 'x')::float8, position_y = (given.position ->> 'y')::float8,
        updated_at = now()
      from jsonb_to_recordset(${JSON.stringify(made.changedSteps)}::jsonb)
        as given(id uuid, name text, config jsonb, "templateId" uuid, position jsonb)
      where workflow_step.id = given.id`.execute(tx);
  }
  await insertGraph(
    tx,
    made.addedSteps.map((step) => ({
      id: step.id,
      key: step.key,
      project_id,
      workflow_id,
      type: step.type,
      name: step.name,
      position_x: step.position.x,
      position_y: step.position.y,
      config: JSON.stringify(step.config),
      template_id: step.templateId,
    })),
    made.addedTransitions.map((way) => ({
      id: way.id,
      project_id,
      workflow_id,
      from_step_id: way.fromStepId,
      to_step_id: way.toStepId,
      branch: way.branch,
      wait_outcome: outcomeOf(way),
    })),
  );
}
