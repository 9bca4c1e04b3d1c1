import { z } from 'zod';
import { columnsFrom } from '../../db/columns.ts';
import { transact } from '../../db/database.ts';
import {
  findWorkflow,
  findWorkflowGraph,
  listWorkflows as listWorkflowRows,
  lockWorkflows,
  updateWorkflow as updateWorkflowRow,
  type WorkflowRow,
} from '../../db/workflows/workflows.ts';
import { pauseWorkflow, releaseExecutions } from '../../db/workflows/executions/pausing.ts';
import { found, together } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { actorOf } from '../access/caller.ts';
import { targetOf } from '../access/changes.ts';
import { endpoint } from '../http/endpoint.ts';
import {
  BulkUpdate,
  BulkUpdated,
  bulkUpdate,
  bulkUpdateExample,
  named,
  pageExample,
  pageOf,
  pageQuery,
  presentPage,
} from '../http/schemas.ts';
import {
  findBrokenInWorkflow,
  findBrokenTemplates,
  findWarnings,
  refuseBroken,
} from './graph/enabling.ts';
import {
  deleteIdleWorkflows,
  requireWorkflows,
  settleWorkflow,
  storeNewWorkflow,
} from './changes.ts';
import { NewWorkflow, WorkflowChange } from './input.ts';
import { duplicateWorkflow } from './duplicate.ts';
import { listWorkflowFields } from './fields.ts';
import { transitionEndpoints } from './graph/graph.ts';
import {
  Workflow,
  WorkflowById,
  presentWorkflow,
  presentWorkflows,
  withWarnings,
  workflowExample,
  workflowGraphExample,
} from './graph/record.ts';
import { graphEndpoints } from './portable/graph.ts';
import { refuseGraph } from './portable/storing.ts';
import { changedStart, newStart } from './graph/starts.ts';
import { stepEndpoints } from './graph/steps.ts';
import { changeExitRules, changeTrigger, refuseExitRules, refuseTrigger } from './graph/trigger.ts';
import { readWorkflow, WholeWorkflow } from './graph/whole.ts';
import { noteWorkflowChange, type WorkflowCall } from './graph/noting.ts';

const countedText = `At most ${limits.countedExecutions} are counted`;

const CountedWorkflow = named('CountedWorkflow', {
  ...Workflow.shape,
  _count: z.object({ steps: z.int(), executions: z.int() }),
  executionCounts: z.object({
    active: z.int().describe(countedText),
    failed: z.int().describe(countedText),
  }),
});

const listWorkflows = endpoint({
  id: 'listWorkflows',
  method: 'GET',
  path: '/workflows',
  summary: 'List the workflows',
  description:
    'A page list of at most 100 workflows a page, by default 20. `_count` counts the steps and ' +
    'executions of each, `executionCounts` its executions by their state.',
  access: 'secret',
  query: pageQuery(['createdAt', 'name', 'updatedAt', 'steps']).extend({
    search: z.string().optional().describe('Part of name or description, in any case'),
    status: z.enum(['active', 'disabled']).optional(),
  }),
  response: pageOf(CountedWorkflow),
  example: {
    response: pageExample({
      ...workflowExample,
      _count: { steps: 2, executions: 12 },
      executionCounts: { active: 3, failed: 0 },
    }),
  },
  async handle({ db, caller, query: { status, ...query } }) {
    const enabled = status === undefined ? undefined : status === 'active';
    const { rows, total } = await listWorkflowRows(db, caller.projectId, { ...query, enabled });
    const records = await presentWorkflows(db, rows, caller.project);
    const data = records.map((record, index) => {
      const { steps, executions, active, failed } = rows[index]!;
      return { ...record, _count: { steps, executions }, executionCounts: { active, failed } };
    });
    return presentPage(data, total, query);
  },
});

export const createWorkflow = endpoint({
  id: 'createWorkflow',
  method: 'POST',
  path: '/workflows',
  summary: 'Create a workflow, with its trigger or with its whole graph',
  description:
    '`eventName` is the event that starts it; it can also be set later. With `allowReentry` a ' +
    'contact may go through it more than once; `reentry` says when, `executionKey` once for each ' +
    'order or booking. With `graph` the whole workflow is created: its trigger replaces ' +
    '`eventName`, errors name a step by its key, and `enabled: true` enables it at once. ' +
    'WORKFLOW_INVALID: it cannot be enabled; `errors` lists all reasons. `warnings` are probable ' +
    'mistakes: unreachable steps, a wait without a timeout, a field that no contact has.',
  access: 'secret',
  status: 201,
  body: NewWorkflow,
  response: Workflow,
  problems: ['TEMPLATE_NOT_FOUND', 'TOPIC_NOT_FOUND', 'SEGMENT_NOT_FOUND', 'WORKFLOW_INVALID'],
  example: {
    body: { name: 'Onboarding', eventName: 'signed_up' },
    response: { ...workflowExample, version: 1 },
  },
  async check({ db, caller: { projectId }, body }) {
    const { graph } = body;
    await together(
      () => graph && refuseGraph(db, projectId, null, graph, ['graph']),
      () => changedStart(newStart, body, graph?.trigger?.type),
    );
  },
  async handle({ db, renderer, caller, body, note }) {
    const { projectId, project } = caller;
    const { graph } = body;
    const causedBy = actorOf(caller);
    const broken =
      graph && body.enabled
        ? await findBrokenTemplates({ db, renderer }, projectId, graph.steps)
        : undefined;
    return transact(db, async (tx) => {
      const { row, warnings } = await storeNewWorkflow(tx, projectId, body, { broken, causedBy });
      const target = { type: 'workflow', id: row.id };
      await note({ event: 'workflow.created', projectId, target }, tx);
      const shown = await presentWorkflow(tx, row, project);
      return graph ? { ...shown, ...withWarnings(warnings) } : shown;
    });
  },
});

const getWorkflow = endpoint({
  id: 'getWorkflow',
  method: 'GET',
  path: '/workflows/{id}',
  summary: 'Get one workflow with its graph',
  description:
    'Each step has its transitions; `transitions` lists all of them again. `warnings` are ' +
    'probable mistakes.',
  access: 'secret',
  params: WorkflowById,
  response: WholeWorkflow,
  problems: ['WORKFLOW_NOT_FOUND'],
  example: { response: workflowGraphExample },
  async handle({ db, caller, params: { id } }) {
    return readWorkflow(db, caller.project, id);
  },
});

const updateWorkflow = endpoint({
  id: 'updateWorkflow',
  method: 'PATCH',
  path: '/workflows/{id}',
  summary: 'Change, enable or disable a workflow',
  description:
    'Fields that are left out keep their value. Executions that have begun keep the graph ' +
    'and the `exitRules` they were started with. When an event is recorded, the first rule ' +
    'that matches ends an active execution of its contact as EXITED; a running step finishes ' +
    'first. The event that started the execution never ends it. WORKFLOW_INVALID: it cannot ' +
    'be enabled; `errors` lists all reasons. `warnings` are probable mistakes in the workflow. ' +
    'The trigger SCHEDULE has a `cron` of five fields and a `timeZone`; it starts ' +
    'an execution for every contact of `segmentId` that matches `filter`, or for every ' +
    'contact without both.',
  access: 'secret',
  params: WorkflowById,
  body: WorkflowChange,
  response: Workflow,
  problems: ['WORKFLOW_NOT_FOUND', 'SEGMENT_NOT_FOUND', 'WORKFLOW_INVALID'],
  example: { body: { enabled: true }, response: { ...workflowExample, enabled: true } },
  async check({ db, caller: { projectId }, params: { id }, body }) {
    const { exitRules } = body;
    const before = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    await together(
      () => refuseTrigger(db, before, body),
      () => exitRules && refuseExitRules(db, projectId, exitRules),
      () => changedStart(before, body, body.triggerType),
    );
  },
  async handle(call) {
    const { db, renderer, caller, body } = call;
    const { id } = call.params;
    const broken = body.enabled
      ? await findBrokenInWorkflow({ db, renderer }, caller.projectId, id)
      : undefined;
    const { name, description, enabled, exitRules, paused, goal } = body;
    const record = await transact(db, async (tx) => {
      const [row] = await lockWorkflows(tx, caller.projectId, [id], { for: 'edit' });
      const before = found('WORKFLOW', id, row);
      const changes = [
        await changeTrigger(tx, before, body, { enabled: body.enabled ?? before.enabled }),
        exitRules !== undefined && (await changeExitRules(tx, before, exitRules)),
      ];
      if (paused !== undefined) await pauseWorkflow(tx, before, paused);
      const after = await updateWorkflowRow(tx, id, {
        ...columnsFrom({ name, description, enabled }),
        ...(goal !== undefined && { goal: goal && JSON.stringify(goal) }),
        ...changedStart(before, body, body.triggerType),
      });
      const graph = await findWorkflowGraph(tx, id);
      if (body.enabled) await refuseBroken(tx, after, graph, broken);
      const warnings = await findWarnings(tx, after, graph);
      const shown = async (row: WorkflowRow) => ({
        ...(await presentWorkflow(tx, row, caller.project)),
        ...withWarnings(warnings),
      });
      const isEdit = changes.includes(true);
      const edited = await settleWorkflow(tx, { before, after, isEdit }, actorOf(caller));
      await noteWorkflowChange(call, tx, { before, after: edited });
      return shown(edited);
    });
    // If very many executions are held, the periodic sweep releases the last of them minutes after
    // the response.
    const end = Date.now() + releasingMs;
    if (paused === false) await releaseExecutions(db, id, () => Date.now() > end);
    return record;
  },
});

/**
 * Milliseconds for which `PATCH /workflows/{id}` releases held executions. The periodic sweep
 * releases the remaining executions.
 */
const releasingMs = 1_000;

export const deleteWorkflow = endpoint({
  id: 'deleteWorkflow',
  method: 'DELETE',
  path: '/workflows/{id}',
  summary: 'Delete a workflow with its ended executions; emails stay',
  description:
    'WORKFLOW_HAS_ACTIVE_EXECUTIONS: `details.count` is their number; cancel them first.',
  access: 'secret',
  status: 204,
  params: WorkflowById,
  response: z.void(),
  problems: ['WORKFLOW_NOT_FOUND', 'WORKFLOW_HAS_ACTIVE_EXECUTIONS'],
  async handle(call) {
    await removeWorkflows(call, [call.params.id]);
  },
});

/**
 * Deletes all of the workflows, or none.
 * @param options.delete false: only checks that all workflows exist.
 * @throws Problem WORKFLOW_NOT_FOUND, WORKFLOW_HAS_ACTIVE_EXECUTIONS
 */
async function removeWorkflows(
  { db, note, caller: { projectId } }: WorkflowCall,
  ids: readonly string[],
  options = { delete: true },
): Promise<void> {
  await transact(db, async (tx) => {
    await (options.delete ? deleteIdleWorkflows : requireWorkflows)(tx, projectId, ids);
    if (!options.delete) return;
    await note({ event: 'workflow.deleted', projectId, ...targetOf('workflow', ids) }, tx);
  });
}

export const bulkUpdateWorkflows = endpoint({
  id: 'bulkUpdateWorkflows',
  method: 'POST',
  path: '/workflows/bulk-update',
  summary: 'Delete many workflows: all of them or none',
  description:
    '1 to 1,000 ids. Without `delete: true` nothing is changed, and `updated` is 0. ' +
    'WORKFLOW_NOT_FOUND names the first unknown one; WORKFLOW_HAS_ACTIVE_EXECUTIONS: ' +
    '`details.count` executions are active, of the workflows in `details.workflowIds` if several ids were sent.',
  access: 'secret',
  body: BulkUpdate,
  response: BulkUpdated,
  problems: ['WORKFLOW_NOT_FOUND', 'WORKFLOW_HAS_ACTIVE_EXECUTIONS'],
  example: bulkUpdateExample,
  async handle(call) {
    return bulkUpdate(call.body, (ids, options) => removeWorkflows(call, ids, options));
  },
});

export const workflowEndpoints = [
  listWorkflows,
  listWorkflowFields,
  createWorkflow,
  getWorkflow,
  ...graphEndpoints,
  updateWorkflow,
  deleteWorkflow,
  duplicateWorkflow,
  bulkUpdateWorkflows,
  ...stepEndpoints,
  ...transitionEndpoints,
];
