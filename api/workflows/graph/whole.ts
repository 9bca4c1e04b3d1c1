import { z } from 'zod';
import type { Database } from '../../../db/database.ts';
import { findWorkflow, listSteps, listTransitions } from '../../../db/workflows/workflows.ts';
import { found } from '../../../domain/errors.ts';
import type { StepType } from '../../../domain/workflow/steps/registry.ts';
import { named } from '../../http/schemas.ts';
import { findWarnings } from './enabling.ts';
import type { Project } from '../../access/caller.ts';
import {
  presentStep,
  presentTransition,
  presentWorkflow,
  Step,
  Transition,
  withWarnings,
  Workflow,
} from './record.ts';

export const WholeWorkflow = named('WorkflowGraph', {
  ...Workflow.shape,
  steps: z.array(
    Step.extend({
      template: z.object({ id: z.uuid(), name: z.string() }).nullable(),
      outgoingTransitions: z.array(Transition),
      incomingTransitions: z.array(Transition),
    }),
  ),
  transitions: z.array(Transition),
});

/**
 * Reads a workflow.
 * @throws Problem WORKFLOW_NOT_FOUND
 */
export async function readWorkflow(
  db: Database,
  project: Project,
  id: string,
): Promise<z.input<typeof WholeWorkflow>> {
  const { id: projectId } = project;
  const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
  const transitions = (await listTransitions(db, id)).map(presentTransition);
  const rows = await listSteps(db, id);
  const steps = rows.map((row) => ({
    ...presentStep(row),
    template:
      row.template_id === null || row.template_name === null
        ? null
        : { id: row.template_id, name: row.template_name },
    outgoingTransitions: transitions.filter(({ fromStepId }) => fromStepId === row.id),
    incomingTransitions: transitions.filter(({ toStepId }) => toStepId === row.id),
  }));
  const graph = {
    steps: rows.map(({ type, template_id: templateId, ...row }) => ({
      ...row,
      type: type as StepType,
      templateId,
    })),
    transitions,
  };
  const warnings = await findWarnings(db, workflow, graph);
  const record = await presentWorkflow(db, workflow, project);
  return { ...record, ...withWarnings(warnings), steps, transitions };
}
