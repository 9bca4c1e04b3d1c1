import { v7 as uuidV7 } from 'uuid';
import { z } from 'zod';
import { columnsFrom } from '../../db/columns.ts';
import { type Database, transact } from '../../db/database.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { findTemplateSenders } from '../../db/templates/templates.ts';
import {
  type WorkflowRow,
  countActiveExecutions,
  deleteWorkflows,
  findWorkflow,
  findWorkflowGraph,
  insertGraph,
  insertWorkflow,
  listSteps,
  listTransitions,
  listWorkflows as listWorkflowRows,
  lockWorkflows,
  recordWorkflowEdit,
  snapshotWorkflow,
  updateStep,
  updateWorkflow as updateWorkflowRow,
} from '../../db/workflows/workflows.ts';
import { Problem, found, foundAll, invalidField } from '../../domain/errors.ts';
import { enablingProblems } from '../../domain/workflow/graph.ts';
import { EventName } from '../../domain/workflow/steps.ts';
import { endpoint } from '../http/endpoint.ts';
import {
  BulkUpdate,
  BulkUpdated,
  Description,
  Name,
  bulkUpdate,
  bulkUpdateExample,
  copyName,
  cutName,
  fault,
  named,
  pageExample,
  pageOf,
  pageQuery,
  presentPage,
} from '../http/schemas.ts';
import { listWorkflowFields } from './fields.ts';
import { transitionEndpoints } from './graph.ts';
import {
  Step,
  Transition,
  Workflow,
  WorkflowById,
  presentStep,
  presentTransition,
  presentWorkflow,
  tag,
  triggerConfig,
  workflowExample,
  workflowGraphExample,
} from './record.ts';
import { stepEndpoints } from './steps.ts';

const TriggerEvent = z
  .string()
  .transform((name) => name.trim())
  .pipe(EventName);

const TriggerConfig = z.object({ eventName: TriggerEvent.nullish() });

const notYet = fault('not_allowed', 'Workflows cannot be started by a schedule.');

const CountedWorkflow = named('CountedWorkflow', {
  ...Workflow.shape,
  _count: z.object({ steps: z.int(), executions: z.int() }),
});

export const listWorkflows = endpoint({
  id: 'listWorkflows',
  method: 'GET',
  path: '/workflows',
  tag,
  summary: 'List the workflows',
  description:
    'A page list of at most 100 workflows a page, by default 20. `_count` counts the steps ' +
    'and executions of each.',
  access: 'secret',
  query: pageQuery(['createdAt', 'name', 'updatedAt', 'steps']).extend({
    search: z.string().optional().describe('Part of name or description, in any case'),
    status: z.enum(['active', 'disabled']).optional(),
  }),
  response: pageOf(CountedWorkflow),
  example: { response: pageExample({ ...workflowExample, _count: { steps: 2, executions: 12 } }) },
  async handle({ db, caller, query: { status, ...query } }) {
    const enabled = status === undefined ? undefined : status === 'active';
    const { rows, total } = await listWorkflowRows(db, caller.projectId, { ...query, enabled });
    const data = rows.map(({ steps, executions, ...row }) => ({
      ...presentWorkflow(row),
      _count: { steps, executions },
    }));
    return presentPage(data, total, query);
  },
});

export const createWorkflow = endpoint({
  id: 'createWorkflow',
  method: 'POST',
  path: '/workflows',
  tag,
  summary: 'Create a workflow, not yet enabled, with its trigger',
  description:
    '`eventName` is the event that starts it; it can also be set later. With `allowReentry` a ' +
    'contact may go through it more than once.',
  access: 'secret',
  status: 201,
  body: z.object({
    name: Name,
    description: Description.optional(),
    eventName: TriggerEvent.nullish(),
    triggerConfig: TriggerConfig.nullish().describe('`{eventName}`, instead of eventName'),
    triggerType: z
      .enum(['EVENT', 'MANUAL', 'SCHEDULE'])
      .refine(
        (type) => type === 'EVENT',
        fault('not_allowed', 'A new workflow is started by an event.'),
      )
      .optional(),
    allowReentry: z.boolean().default(false),
  }),
  response: Workflow,
  example: {
    body: { name: 'Onboarding', eventName: 'signed_up' },
    response: { ...workflowExample, version: 1 },
  },
  async handle({ db, caller: { projectId }, body }) {
    const { eventName: named, triggerConfig: config, triggerType: _, ...fields } = body;
    const eventName = named ?? config?.eventName ?? null;
    return transact(db, async (tx) => {
      await holdProject(tx, projectId);
      const workflow = await insertWorkflow(tx, {
        project_id: projectId,
        ...columnsFrom({ ...fields, triggerEventName: eventName }),
      });
      const trigger = {
        project_id: projectId,
        workflow_id: workflow.id,
        type: 'TRIGGER',
        position_x: 100,
        position_y: 100,
        ...triggerStep(eventName),
      };
      await insertGraph(tx, [trigger], []);
      return presentWorkflow(workflow);
    });
  },
});

/** The trigger as the TRIGGER step shows it. */
function triggerStep(eventName: string | null) {
  return {
    name: eventName === null ? 'Trigger' : cutName(`Trigger: ${eventName}`),
    config: JSON.stringify(triggerConfig(eventName)),
  };
}

export const getWorkflow = endpoint({
  id: 'getWorkflow',
  method: 'GET',
  path: '/workflows/{id}',
  tag,
  summary: 'Get one workflow with its graph',
  description: 'Each step names its transitions; `transitions` lists them once more, all together.',
  access: 'secret',
  params: WorkflowById,
  response: named('WorkflowGraph', {
    ...Workflow.shape,
    steps: z.array(
      Step.extend({
        template: z.object({ id: z.uuid(), name: z.string() }).nullable(),
        outgoingTransitions: z.array(Transition),
        incomingTransitions: z.array(Transition),
      }),
    ),
    transitions: z.array(Transition),
  }),
  problems: ['WORKFLOW_NOT_FOUND'],
  example: { response: workflowGraphExample },
  async handle({ db, caller, params: { id } }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    const transitions = (await listTransitions(db, id)).map(presentTransition);
    const steps = (await listSteps(db, id)).map((row) => ({
      ...presentStep(row),
      template:
        row.template_id === null || row.template_name === null
          ? null
          : { id: row.template_id, name: row.template_name },
      outgoingTransitions: transitions.filter(({ fromStepId }) => fromStepId === row.id),
      incomingTransitions: transitions.filter(({ toStepId }) => toStepId === row.id),
    }));
    return { ...presentWorkflow(workflow), steps, transitions };
  },
});

const WorkflowChange = z.object({
  name: Name.optional(),
  description: Description.optional(),
  triggerType: z
    .enum(['EVENT', 'MANUAL', 'SCHEDULE'])
    .refine((type) => type !== 'SCHEDULE', notYet)
    .optional(),
  triggerConfig: TriggerConfig.optional(),
  enabled: z.boolean().optional(),
  allowReentry: z.boolean().optional(),
});

export const updateWorkflow = endpoint({
  id: 'updateWorkflow',
  method: 'PATCH',
  path: '/workflows/{id}',
  tag,
  summary: 'Change, enable or disable a workflow',
  description:
    'Fields that are left out keep their value. Executions that have begun go on with the ' +
    'graph they were started with. WORKFLOW_INVALID: it cannot be enabled, and `errors` lists ' +
    'everything that is in the way.',
  access: 'secret',
  params: WorkflowById,
  body: WorkflowChange,
  response: Workflow,
  problems: ['WORKFLOW_NOT_FOUND', 'WORKFLOW_INVALID'],
  example: { body: { enabled: true }, response: { ...workflowExample, enabled: true } },
  async handle({ db, caller, params: { id }, body }) {
    const { triggerType: _, triggerConfig: _c, ...fields } = body;
    return transact(db, async (tx) => {
      const [row] = await lockWorkflows(tx, caller.projectId, [id], { for: 'edit' });
      const before = found('WORKFLOW', id, row);
      const edited = await changeTrigger(tx, before, body);
      const after = await updateWorkflowRow(tx, id, columnsFrom(fields));
      if (body.enabled) await refuseBroken(tx, after);
      if (edited) return presentWorkflow(await recordWorkflowEdit(tx, after));
      if (after.enabled) await snapshotWorkflow(tx, id);
      return presentWorkflow(after);
    });
  },
});

/** Stores a changed trigger in the workflow and its TRIGGER step. Returns whether it changed. */
async function changeTrigger(
  tx: Database,
  before: WorkflowRow,
  change: z.output<typeof WorkflowChange>,
): Promise<boolean> {
  const type = change.triggerType ?? before.trigger_type;
  const given = change.triggerConfig && (change.triggerConfig.eventName ?? null);
  if (type === 'MANUAL' && given) {
    throw invalidField('triggerConfig.eventName', 'not_allowed', 'MANUAL has no event.');
  }
  const eventName =
    type === 'MANUAL' ? null : given === undefined ? before.trigger_event_name : given;
  const sameEvent = eventName === before.trigger_event_name;
  if (type === before.trigger_type && sameEvent) return false;
  await updateWorkflowRow(tx, before.id, { trigger_type: type, trigger_event_name: eventName });
  if (!sameEvent) {
    const steps = await listSteps(tx, before.id);
    const trigger = steps.find((step) => step.type === 'TRIGGER');
    if (trigger) await updateStep(tx, trigger.id, triggerStep(eventName));
  }
  return true;
}

/** @throws Problem WORKFLOW_INVALID with everything that prevents the workflow from running. */
async function refuseBroken(tx: Database, workflow: WorkflowRow): Promise<void> {
  const graph = await findWorkflowGraph(tx, workflow.id);
  const templateIds = graph.steps.flatMap((step) => step.templateId ?? []);
  const errors = enablingProblems(
    graph,
    { type: workflow.trigger_type, eventName: workflow.trigger_event_name },
    await findTemplateSenders(tx, workflow.project_id, templateIds),
  );
  if (errors.length > 0) throw new Problem('WORKFLOW_INVALID', { errors });
}

export const deleteWorkflow = endpoint({
  id: 'deleteWorkflow',
  method: 'DELETE',
  path: '/workflows/{id}',
  tag,
  summary: 'Delete a workflow with its ended executions; emails stay',
  description: 'WORKFLOW_HAS_ACTIVE_EXECUTIONS: `details.count` says how many; cancel them first.',
  access: 'secret',
  status: 204,
  params: WorkflowById,
  response: z.void(),
  problems: ['WORKFLOW_NOT_FOUND', 'WORKFLOW_HAS_ACTIVE_EXECUTIONS'],
  async handle({ db, caller, params: { id } }) {
    await removeWorkflows(db, caller.projectId, [id]);
  },
});

/**
 * Deletes workflows, or none.
 * @param options.delete false: only checks that all exist.
 * @throws Problem WORKFLOW_NOT_FOUND, WORKFLOW_HAS_ACTIVE_EXECUTIONS
 */
async function removeWorkflows(
  db: Database,
  projectId: string,
  ids: readonly string[],
  options = { delete: true },
): Promise<void> {
  await transact(db, async (tx) => {
    foundAll('WORKFLOW', ids, await lockWorkflows(tx, projectId, ids, { for: 'delete' }));
    if (!options.delete) return;
    const count = await countActiveExecutions(tx, ids);
    if (count > 0) throw new Problem('WORKFLOW_HAS_ACTIVE_EXECUTIONS', { details: { count } });
    await deleteWorkflows(tx, ids);
  });
}

export const duplicateWorkflow = endpoint({
  id: 'duplicateWorkflow',
  method: 'POST',
  path: '/workflows/{id}/duplicate',
  tag,
  summary: 'Copy a workflow with its graph, not enabled',
  description: 'The copy has `(Copy)` after its name, version 1 and no executions.',
  access: 'secret',
  status: 201,
  params: WorkflowById,
  response: Workflow,
  problems: ['WORKFLOW_NOT_FOUND'],
  example: { response: { ...workflowExample, name: copyName(workflowExample.name), version: 1 } },
  async handle({ db, caller: { projectId }, params: { id } }) {
    return transact(db, async (tx) => {
      const [row] = await lockWorkflows(tx, projectId, [id], { for: 'edit' });
      const original = found('WORKFLOW', id, row);
      const {
        id: _,
        enabled: _e,
        version: _v,
        created_at: _c,
        updated_at: _u,
        ...values
      } = original;
      const copy = await insertWorkflow(tx, { ...values, name: copyName(original.name) });
      await copyGraph(tx, id, copy.id);
      return presentWorkflow(copy);
    });
  },
});

async function copyGraph(tx: Database, fromId: string, toId: string): Promise<void> {
  const steps = await listSteps(tx, fromId);
  const transitions = await listTransitions(tx, fromId);
  // Created in order: the ids order steps that are created at the same moment.
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

export const bulkUpdateWorkflows = endpoint({
  id: 'bulkUpdateWorkflows',
  method: 'POST',
  path: '/workflows/bulk-update',
  tag,
  summary: 'Delete many workflows: all of them or none',
  description:
    '1 to 1,000 ids. Without `delete: true` nothing is changed, and `updated` is 0. ' +
    'WORKFLOW_NOT_FOUND names the first unknown one; WORKFLOW_HAS_ACTIVE_EXECUTIONS says how ' +
    'many executions are in the way.',
  access: 'secret',
  body: BulkUpdate,
  response: BulkUpdated,
  problems: ['WORKFLOW_NOT_FOUND', 'WORKFLOW_HAS_ACTIVE_EXECUTIONS'],
  example: bulkUpdateExample,
  async handle({ db, caller, body }) {
    return bulkUpdate(body, (ids, options) => removeWorkflows(db, caller.projectId, ids, options));
  },
});

export const workflowEndpoints = [
  listWorkflows,
  listWorkflowFields,
  createWorkflow,
  getWorkflow,
  updateWorkflow,
  deleteWorkflow,
  duplicateWorkflow,
  bulkUpdateWorkflows,
  ...stepEndpoints,
  ...transitionEndpoints,
];
