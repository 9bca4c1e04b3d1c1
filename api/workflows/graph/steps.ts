import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Change } from '../../../db/accounts/security-events.ts';
import type { Database } from '../../../db/database.ts';
import { holdTemplates } from '../../../db/templates/templates.ts';
import {
  deleteSteps,
  findWorkflow,
  insertStep as insertStepRow,
  insertTransition,
  listSteps,
  type StepRow,
  updateStep as updateStepRow,
  updateTransitionTarget,
  type WorkflowRow,
} from '../../../db/workflows/workflows.ts';
import { found, foundAll, invalidField, Problem, together } from '../../../domain/errors.ts';
import {
  autoConnectLeaf,
  pruning,
  splicing,
  branchesOf,
} from '../../../domain/workflow/graph-rules.ts';
import { findStep } from '../../../domain/workflow/graph.ts';
import { stepTypes, type StepType, stepModules } from '../../../domain/workflow/steps/registry.ts';
import { newKey } from '../../../domain/workflow/portable/step-keys.ts';
import { changesBetween } from '../../access/changes.ts';
import { endpoint } from '../../http/endpoint.ts';
import { JsonObject, Name, Uuid } from '../../http/schemas.ts';
import { checkRequest } from '../../http/validation.ts';
import { editGraph, TransitionById } from './graph.ts';
import { presentStep, Step, stepExample, WorkflowById } from './record.ts';
import { stepExamples } from './step-examples.ts';
import { ofTypes, Position, type Typed } from './step-input.ts';
import { requireTopics } from '../../topics/references.ts';
import { lockNamedSegments, refuseForeignSecrets, refuseUnknownNames } from './trigger.ts';
import {
  settledConfig,
  templateOfConfig,
  topicOfConfig,
  withKept,
  withTemplate,
} from './step-config.ts';

const NewStep = z.object({
  name: Name,
  position: Position.optional(),
  templateId: Uuid.nullable().optional(),
});

const AppendedStep = NewStep.extend({
  autoConnect: z
    .boolean()
    .default(true)
    .describe('true: the newest end of the graph leads to the step'),
});

export const createStep = endpoint({
  id: 'createStep',
  method: 'POST',
  path: '/workflows/{id}/steps',
  summary: 'Add a step; by default it follows the newest end of the graph',
  description:
    'The `config` depends on the type. Steps and transitions of a workflow are at most 1 MB ' +
    'as JSON. TRIGGER_STEP_EXISTS: every workflow has one TRIGGER from the start.',
  access: 'secret',
  status: 201,
  params: WorkflowById,
  body: ofTypes('New', stepTypes, AppendedStep),
  response: Step,
  problems: ['WORKFLOW_NOT_FOUND', 'TEMPLATE_NOT_FOUND', 'TOPIC_NOT_FOUND', 'TRIGGER_STEP_EXISTS'],
  example: {
    body: stepExamples.DELAY,
    bodies: stepExamples,
    response: stepExample,
  },
  checkBeside: checkNewStep,
  async handle(call) {
    const { body } = call;
    return editGraph(call, async ({ tx, workflow, graph }) => {
      const step = await addStep(tx, workflow, {
        ...body,
        position: body.position ?? { x: 100, y: 100 + 120 * graph.steps.length },
      });
      const leaf = body.autoConnect ? autoConnectLeaf(graph) : undefined;
      if (leaf) await link(tx, workflow, leaf.id, step.id, null);
      return { changed: true, answer: presentStep(step), noted: { details: { stepId: step.id } } };
    });
  },
});

async function checkNewStep({
  db,
  caller,
  body: { type, config },
}: {
  db: Database;
  caller: { projectId: string };
  body: Partial<Typed<typeof NewStep>>;
}): Promise<void> {
  if (type && config) await settle(db, caller.projectId, { type, config }, null);
}

/**
 * Returns the config of a step in its stored form.
 * @param before the stored config; null: the step is new
 * @throws Problem VALIDATION_ERROR for a field without a prefix that no contact has, an unknown
 * segment, a masked value without a stored value, or a secret that must not be sent to the host of
 * the step
 */
async function settle(
  db: Database,
  projectId: string,
  given: { type: StepType; config: Record<string, unknown> },
  before: Record<string, unknown> | null,
): Promise<Record<string, unknown>> {
  let config = settledConfig(given);
  await together(
    () => refuseUnknownNames(db, projectId, [{ ...given, path: 'config' }]),
    () => (config = withKept(config, before ?? {})),
    () => refuseForeignSecrets(db, projectId, { type: given.type, config, before }, 'config'),
  );
  return config;
}

/**
 * Adds a step.
 * @throws Problem VALIDATION_ERROR, TEMPLATE_NOT_FOUND, TOPIC_NOT_FOUND, TRIGGER_STEP_EXISTS.
 */
async function addStep(
  tx: Database,
  workflow: WorkflowRow,
  given: Typed<typeof NewStep> & { position: z.output<typeof Position> },
): Promise<StepRow> {
  await lockNamedSegments(tx, workflow.project_id, [given]);
  const config = await settle(tx, workflow.project_id, given, null);
  const templateId = given.templateId ?? templateOfConfig(given.config) ?? null;
  await requireTemplates(tx, workflow.project_id, [templateId]);
  await requireTopics(tx, workflow.project_id, [topicOfConfig(given.config)]);
  if (given.type === 'TRIGGER') throw new Problem('TRIGGER_STEP_EXISTS');
  return insertStepRow(tx, {
    key: newKey(given, await listSteps(tx, workflow.id)),
    project_id: workflow.project_id,
    workflow_id: workflow.id,
    type: given.type,
    name: given.name,
    position_x: given.position.x,
    position_y: given.position.y,
    config: JSON.stringify(withTemplate(config, templateId)),
    template_id: templateId,
  });
}

async function link(
  tx: Database,
  workflow: WorkflowRow,
  fromStepId: string,
  toStepId: string,
  branch: string | null,
): Promise<void> {
  await insertTransition(tx, {
    project_id: workflow.project_id,
    workflow_id: workflow.id,
    from_step_id: fromStepId,
    to_step_id: toStepId,
    branch,
  });
}

/**
 * Prevents the deletion of templates until the transaction ends.
 * @throws Problem TEMPLATE_NOT_FOUND
 */
export async function requireTemplates(
  tx: Database,
  projectId: string,
  ids: readonly (string | null)[],
): Promise<void> {
  const named = [...new Set(ids.filter((id) => id !== null))];
  if (named.length === 0) return;
  foundAll('TEMPLATE', named, await holdTemplates(tx, projectId, named));
}

const StepById = WorkflowById.extend({ stepId: Uuid });

export const updateStep = endpoint({
  id: 'updateStep',
  method: 'PATCH',
  path: '/workflows/{id}/steps/{stepId}',
  summary: 'Change a step; its type cannot change',
  description:
    'Fields that are left out keep their value; `config` is replaced as a whole. The TRIGGER ' +
    'is set by `triggerConfig` of the workflow.',
  access: 'secret',
  params: StepById,
  body: z.object({
    name: Name.optional(),
    position: Position.optional(),
    config: JsonObject.optional().meta({
      type: 'object',
      description: 'The whole new config, which depends on the type of the step',
    }),
    templateId: Uuid.nullable().optional(),
  }),
  response: Step,
  problems: ['WORKFLOW_NOT_FOUND', 'STEP_NOT_FOUND', 'TEMPLATE_NOT_FOUND', 'TOPIC_NOT_FOUND'],
  example: {
    body: { config: { amount: 3, unit: 'days' } },
    response: { ...stepExample, config: { amount: 3, unit: 'days' } },
  },
  async checkBeside(call) {
    const { db, caller, body, params } = call;
    found('WORKFLOW', params.id, await findWorkflow(db, caller.projectId, params.id));
    const { type, config: stored } = foundStep(await listSteps(db, params.id), params.stepId);
    if (!body.config) return;
    const config = checkConfig(call, type, body.config);
    await settle(db, caller.projectId, { type, config }, stored);
  },
  async handle(call) {
    const { body } = call;
    const { id, stepId } = call.params;
    return editGraph(call, async ({ tx, workflow }) => {
      const steps = await listSteps(tx, id);
      const before = foundStep(steps, stepId);
      const { type, config: stored } = before;
      const { project_id: projectId } = workflow;
      const given = body.config && { type, config: checkConfig(call, type, body.config) };
      if (given) await lockNamedSegments(tx, projectId, [given]);
      const config = given && (await settle(tx, projectId, given, stored));
      const fromConfig = config && templateOfConfig(config);
      const templateId = [body.templateId, fromConfig, before.template_id].find(
        (given) => given !== undefined,
      ) as string | null;
      if (templateId !== before.template_id) await requireTemplates(tx, projectId, [templateId]);
      const topicId = config && topicOfConfig(config);
      if (topicId !== topicOfConfig(stored)) await requireTopics(tx, projectId, [topicId]);
      const after = {
        name: body.name ?? before.name,
        position_x: body.position?.x ?? before.position_x,
        position_y: body.position?.y ?? before.position_y,
        config: withTemplate(config ?? before.config, templateId),
        template_id: templateId,
      };
      if (isDeepStrictEqual({ ...before, ...after }, before)) {
        return { changed: false, answer: presentStep(before) };
      }
      const row = await updateStepRow(tx, stepId, {
        ...after,
        config: JSON.stringify(after.config),
      });
      const answer = presentStep(row);
      const noted = { changes: stepChanges(presentStep(before), answer), details: { stepId } };
      return { changed: true, answer, noted };
    });
  },
});

/**
 * Returns the changed fields. The config is kept secret, because its headers and conditions may
 * contain credentials and addresses.
 */
function stepChanges(before: z.input<typeof Step>, after: z.input<typeof Step>): Change[] {
  const fields = ['name', 'position', 'config', 'templateId'];
  return changesBetween(before, after, { fields, secret: ['config'] });
}

function foundStep(steps: readonly StepRow[], id: string): StepRow & { type: StepType } {
  const step = found(
    'STEP',
    id,
    steps.find((row) => row.id === id),
  );
  return { ...step, type: step.type as StepType };
}

/**
 * Refuses invalid settings of a step.
 * @throws Problem VALIDATION_ERROR with all invalid settings
 */
function checkConfig(
  call: { refuseUnknown: (schema: z.ZodType, value: unknown) => void },
  type: StepType,
  config: Record<string, unknown>,
): Record<string, unknown> {
  if (type === 'TRIGGER') {
    const message = 'For a TRIGGER, send `triggerConfig` to PATCH /workflows/{id} instead.';
    throw invalidField('config', 'not_allowed', message);
  }
  const schema = z.object({ config: stepModules[type].config });
  call.refuseUnknown(schema, { config });
  const { body } = checkRequest(
    { body: schema },
    { params: undefined, query: undefined, body: { config } },
  );
  return (body as { config: Record<string, unknown> }).config;
}

export const deleteStep = endpoint({
  id: 'deleteStep',
  method: 'DELETE',
  path: '/workflows/{id}/steps/{stepId}',
  summary: 'Remove a step with the steps reachable only through it, or alone with splice=true',
  description:
    'TRIGGER_STEP_REQUIRED: the trigger stays. STEP_NOT_SPLICEABLE: the step has no single ' +
    'successor.',
  access: 'secret',
  status: 204,
  params: StepById,
  query: z.object({
    splice: z
      .enum(['true', 'false'])
      .default('false')
      .describe('true: its incoming transitions lead to its successor'),
  }),
  response: z.void(),
  problems: [
    'WORKFLOW_NOT_FOUND',
    'STEP_NOT_FOUND',
    'TRIGGER_STEP_REQUIRED',
    'STEP_NOT_SPLICEABLE',
  ],
  async handle(call) {
    const { query } = call;
    const { stepId } = call.params;
    await editGraph(call, async ({ tx, graph }) => {
      const step = found('STEP', stepId, findStep(graph, stepId));
      if (step.type === 'TRIGGER') throw new Problem('TRIGGER_STEP_REQUIRED');
      const removal = query.splice === 'true' ? splicing(graph, step) : pruning(graph, stepId);
      if (!removal) throw new Problem('STEP_NOT_SPLICEABLE');
      for (const { transitionId, toStepId } of removal.relinked) {
        await updateTransitionTarget(tx, transitionId, toStepId);
      }
      await deleteSteps(tx, removal.stepIds);
      return { changed: true, answer: undefined, noted: { details: { stepId } } };
    });
  },
});

const insertable = stepTypes.filter((type) => {
  const { play, ways } = stepModules[type];
  return play && ways !== 'none';
});

export const insertStep = endpoint({
  id: 'insertStep',
  method: 'POST',
  path: '/workflows/{id}/transitions/{transitionId}/insert-step',
  summary: 'Put a new step into the middle of a transition',
  description:
    'The transition then leads to the new step, and the new step to where the transition led, ' +
    'by its first branch if it is a CONDITION or a SPLIT. TRIGGER and EXIT cannot be inserted.',
  access: 'secret',
  status: 201,
  params: TransitionById,
  body: ofTypes('Inserted', insertable, NewStep),
  response: Step,
  problems: ['WORKFLOW_NOT_FOUND', 'TRANSITION_NOT_FOUND', 'TEMPLATE_NOT_FOUND', 'TOPIC_NOT_FOUND'],
  example: {
    body: { type: 'DELAY', name: 'One hour', config: { amount: 1, unit: 'hours' } },
    response: { ...stepExample, name: 'One hour', config: { amount: 1, unit: 'hours' } },
  },
  checkBeside: checkNewStep,
  async handle(call) {
    const { body } = call;
    const { id, transitionId } = call.params;
    return editGraph(call, async ({ tx, workflow, graph }) => {
      const way = graph.transitions.find((transition) => transition.id === transitionId);
      const { fromStepId, toStepId } = found('TRANSITION', transitionId, way);
      const ends = (await listSteps(tx, id)).filter(
        (row) => row.id === fromStepId || row.id === toStepId,
      );
      const middle = (column: 'position_x' | 'position_y') =>
        ends.reduce((sum, row) => sum + row[column] / ends.length, 0);
      const step = await addStep(tx, workflow, {
        ...body,
        position: body.position ?? { x: middle('position_x'), y: middle('position_y') },
      });
      const hasBranches = stepModules[body.type].ways === 'branches';
      const [firstBranch] = hasBranches ? branchesOf(body) : [];
      await updateTransitionTarget(tx, transitionId, step.id);
      await link(tx, workflow, step.id, toStepId, firstBranch ?? null);
      return { changed: true, answer: presentStep(step), noted: { details: { stepId: step.id } } };
    });
  },
});

export const stepEndpoints = [createStep, updateStep, deleteStep, insertStep];
