import { sql } from 'kysely';
import { type GraphTransition, withExitRules } from '../../domain/workflow/graph.ts';
import type { DrawnStep, Redrawing } from '../../domain/workflow/portable/redrawing.ts';
import type { DrawnVersion, TriggerType } from '../../domain/workflow/versions/version.ts';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';
import {
  deleteSteps,
  exitRulesOf,
  insertGraph,
  listSteps,
  listTransitions,
  type WorkflowRow,
} from './workflows.ts';

/** Returns a workflow as currently edited, with everything that a version stores. */
export async function findDrawing(
  db: Database,
  workflow: Pick<WorkflowRow, 'id' | 'trigger_type' | 'exit_rules'>,
): Promise<DrawnVersion> {
  const steps = await listSteps(db, workflow.id);
  const transitions = await listTransitions(db, workflow.id);
  const drawing = {
    triggerType: workflow.trigger_type as TriggerType,
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
  return withExitRules(drawing, exitRulesOf(workflow));
}

/**
 * Stores the changes that turn the stored graph into another graph. The caller has locked the
 * workflow.
 */
export async function redraw(
  tx: Database,
  { id: workflow_id, project_id }: { id: string; project_id: string },
  made: Redrawing,
  outcomeOf: (transition: GraphTransition) => string | null,
): Promise<void> {
  // Delete first: a transition may move to another step, where an old transition would conflict.
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
    made.addedTransitions.map((transition) => ({
      id: transition.id,
      project_id,
      workflow_id,
      from_step_id: transition.fromStepId,
      to_step_id: transition.toStepId,
      branch: transition.branch,
      wait_outcome: outcomeOf(transition),
    })),
  );
}
