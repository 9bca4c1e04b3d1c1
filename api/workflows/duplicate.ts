import { v7 as uuidV7 } from 'uuid';
import { type Database, transact } from '../../db/database.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { storeVersion } from '../../db/workflows/versions.ts';
import {
  insertGraph,
  insertWorkflow,
  listSteps,
  listTransitions,
  lockWorkflows,
} from '../../db/workflows/workflows.ts';
import { found } from '../../domain/errors.ts';
import { actorOf } from '../access/caller.ts';
import { endpoint } from '../http/endpoint.ts';
import { copyName } from '../http/schemas.ts';
import { presentWorkflow, Workflow, WorkflowById, workflowExample } from './graph/record.ts';

export const duplicateWorkflow = endpoint({
  id: 'duplicateWorkflow',
  method: 'POST',
  path: '/workflows/{id}/duplicate',
  summary: 'Copy a workflow with its graph, not enabled',
  description: 'The copy has `(Copy)` after its name, version 1 and no executions.',
  access: 'secret',
  status: 201,
  params: WorkflowById,
  response: Workflow,
  problems: ['WORKFLOW_NOT_FOUND'],
  example: { response: { ...workflowExample, name: copyName(workflowExample.name), version: 1 } },
  async handle({ db, caller, params: { id }, note }) {
    const { projectId, project } = caller;
    return transact(db, async (tx) => {
      await holdProject(tx, projectId);
      const [row] = await lockWorkflows(tx, projectId, [id], { for: 'edit' });
      const original = found('WORKFLOW', id, row);
      const {
        id: _,
        enabled: _e,
        version: _v,
        paused_at: _p,
        exit_rules: rules,
        trigger_where: where,
        goal,
        created_at: _c,
        updated_at: _u,
        file_key: _f,
        ...values
      } = original;
      const copy = await insertWorkflow(tx, {
        ...values,
        name: copyName(original.name),
        exit_rules: JSON.stringify(rules),
        trigger_where: where && JSON.stringify(where),
        goal: goal && JSON.stringify(goal),
      });
      await copyGraph(tx, id, copy.id);
      await storeVersion(tx, copy, { causedBy: actorOf(caller) });
      const target = { type: 'workflow', id: copy.id };
      await note({ event: 'workflow.created', projectId, target, details: { copyOf: id } }, tx);
      return presentWorkflow(tx, copy, project);
    });
  },
});

async function copyGraph(tx: Database, fromId: string, toId: string): Promise<void> {
  const steps = await listSteps(tx, fromId);
  const transitions = await listTransitions(tx, fromId);
  // The new ids increase in the order of the steps, because steps with the same `created_at` are
  // sorted by id.
  const newIds = new Map(steps.map((step) => [step.id, uuidV7()]));
  const newId = (id: string) => newIds.get(id) ?? id;
  await insertGraph(
    tx,
    steps.map(({ template_name: _t, created_at: _c, updated_at: _u, ...step }) => ({
      ...step,
      id: newId(step.id),
      workflow_id: toId,
      config: JSON.stringify(step.config),
    })),
    transitions.map(({ created_at: _c, updated_at: _u, ...transition }) => ({
      ...transition,
      id: uuidV7(),
      workflow_id: toId,
      from_step_id: newId(transition.from_step_id),
      to_step_id: newId(transition.to_step_id),
    })),
  );
}
