import { actorOf } from '../access/caller.ts';
import { z } from 'zod';
import { findContact } from '../../db/contacts/contacts.ts';
import { refuseVersion, retryExecution } from '../../db/transactions/executions/retry-execution.ts';
import {
  cancelAllExecutions,
  cancelExecutions,
} from '../../db/transactions/executions/cancel-executions.ts';
import {
  type ExecutionInGraph,
  findExecution,
  listExecutions,
} from '../../db/workflows/executions/executions.ts';
import { givenKey, insertExecution } from '../../db/transactions/executions/start-execution.ts';
import { listStepExecutions, type StepExecutionRow } from '../../db/workflows/executions/steps.ts';
import { findWorkflow } from '../../db/workflows/workflows.ts';
import { Problem, found } from '../../domain/errors.ts';
import { explanationOf } from '../../domain/workflow/explanation.ts';
import type { GraphStep } from '../../domain/workflow/graph.ts';
import { stepTypes } from '../../domain/workflow/steps/registry.ts';
import { selection } from '../../domain/filter/selection.ts';
import { readFleet } from '../delivery/limits.ts';
import { Actor, presentActor } from '../actors/actor.ts';
import { endpoint } from '../http/endpoint.ts';
import { withinEventData } from '../public/event-data.ts';
import { exampleOf } from '../http/record.ts';
import {
  JsonObject,
  Time,
  Uuid,
  named,
  pagePosition,
  presentPage,
  queryBoolean,
  time,
} from '../http/schemas.ts';
import { Key, OfKey } from '../workflows/graph/starts.ts';
import {
  ContactName,
  Execution,
  StepExecution,
  StepName,
  cancelledExample,
  executionExample,
  namedExample,
  actorsOf,
  presentExecution,
  presentNamed,
  presentStepExecution,
  runUrlOf,
  statuses,
  stepName,
} from './record.ts';
import { findGraph, requireVersion } from '../workflows/graph/versions.ts';
import { WorkflowById, workflowExample } from '../workflows/graph/record.ts';
import { transact } from '../../db/database.ts';

const NamedExecution = named('NamedExecution', {
  ...Execution.shape,
  contact: ContactName,
  currentStep: StepName.nullable(),
});

export const ExecutionById = WorkflowById.extend({ executionId: Uuid });

const Context = JsonObject.refine(...withinEventData).meta({
  type: 'object',
  additionalProperties: true,
});

export const startExecution = endpoint({
  id: 'startExecution',
  method: 'POST',
  path: '/workflows/{id}/executions',
  summary: 'Start an execution for a contact',
  description:
    '`context` is at most 64 KB as JSON. WORKFLOW_NOT_ENABLED: enable the workflow first. ' +
    'EXECUTION_EXISTS: `reentry` does not allow another execution of the contact now (of the ' +
    'same key, if the workflow has an `executionKey`), or it has the maximum number of active ones.',
  access: 'secret',
  status: 201,
  params: WorkflowById,
  body: z.object({ contactId: Uuid, context: Context.optional(), key: Key.optional() }),
  response: Execution,
  problems: ['WORKFLOW_NOT_FOUND', 'CONTACT_NOT_FOUND', 'WORKFLOW_NOT_ENABLED', 'EXECUTION_EXISTS'],
  example: {
    body: { contactId: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11', context: { source: 'ad' } },
    response: { ...executionExample, temporalRunId: null },
  },
  async checkBeside(
    { db, caller: { projectId }, params: { id }, body: { key, context = null } },
    wrong,
  ) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    if (!wrong.has('key') && !wrong.has('context')) {
      givenKey(workflow.execution_key, { key, context });
    }
  },
  async handle({ db, caller, params: { id }, body }) {
    const { projectId, project } = caller;
    found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    found('CONTACT', body.contactId, await findContact(db, projectId, body.contactId));
    const execution = await transact(db, (tx) =>
      insertExecution(tx, {
        projectId,
        workflowId: id,
        contactId: body.contactId,
        context: body.context ?? null,
        key: body.key,
        causedBy: actorOf(caller),
      }),
    );
    return presentExecution(db, execution, project);
  },
});

export const getExecutions = endpoint({
  id: 'listExecutions',
  method: 'GET',
  path: '/workflows/{id}/executions',
  summary: 'List the executions of a workflow, newest start first',
  description:
    'A page list of at most 100 executions a page, by default 20, with the key `executions` ' +
    'instead of `data`.',
  access: 'secret',
  params: WorkflowById,
  query: z.object({
    ...pagePosition,
    status: z.enum(statuses).optional(),
    key: OfKey,
    paused: queryBoolean.optional().describe('Paused individually, not with their workflow'),
  }),
  response: named('NamedExecutionPage', {
    executions: z.array(NamedExecution),
    total: z.int(),
    page: z.int(),
    pageSize: z.int(),
    totalPages: z.int(),
  }),
  problems: ['WORKFLOW_NOT_FOUND'],
  example: {
    response: { executions: [namedExample], total: 1, page: 1, pageSize: 20, totalPages: 1 },
  },
  async handle({ db, recent, caller, params: { id }, query }) {
    found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    const { rows, total } = await listExecutions(db, id, query);
    const fleet = await readFleet({ db, recent });
    const names = { actors: await actorsOf(db, rows), outage: fleet };
    const shown = rows.map((row) => presentNamed(row, caller.project, names));
    const { data, ...page } = presentPage(shown, total, query);
    return { executions: data, ...page };
  },
});

const getExecution = endpoint({
  id: 'getExecution',
  method: 'GET',
  path: '/workflows/{id}/executions/{executionId}',
  summary: 'Get one execution with its steps',
  description: 'The steps it has reached, in order, each with its output or error.',
  access: 'secret',
  params: ExecutionById,
  response: named('ExecutionDetails', {
    ...NamedExecution.shape,
    workflow: z.object({ id: z.uuid(), name: z.string(), pausedAt: Time.nullable() }),
    stepExecutions: z.array(StepExecution),
  }),
  problems: ['WORKFLOW_NOT_FOUND', 'EXECUTION_NOT_FOUND'],
  example: {
    response: {
      ...namedExample,
      workflow: { id: workflowExample.id, name: workflowExample.name, pausedAt: null },
      stepExecutions: [
        {
          ...exampleOf(StepExecution),
          status: 'SCHEDULED',
          scheduledFor: '2026-11-22T10:00:00.000Z',
          step: namedExample.currentStep,
        },
      ],
    },
  },
  async handle({ db, recent, caller, params: { id, executionId } }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    const row = found('EXECUTION', executionId, await findExecution(db, id, executionId));
    const fleet = await readFleet({ db, recent });
    const steps = await listStepExecutions(db, executionId);
    return {
      ...presentNamed(row, caller.project, { actors: await actorsOf(db, [row]), outage: fleet }),
      workflow: { id, name: workflow.name, pausedAt: workflow.paused_at?.toISOString() ?? null },
      stepExecutions: steps.map((step) => presentStepExecution(step, stepsOf(row))),
    };
  },
});

export const cancelExecution = endpoint({
  id: 'cancelExecution',
  method: 'DELETE',
  path: '/workflows/{id}/executions/{executionId}',
  summary: 'Cancel an active execution',
  description: 'EXECUTION_NOT_ACTIVE: it has ended.',
  access: 'secret',
  params: ExecutionById,
  response: Execution,
  problems: ['WORKFLOW_NOT_FOUND', 'EXECUTION_NOT_FOUND', 'EXECUTION_NOT_ACTIVE'],
  example: { response: cancelledExample },
  async handle({ db, caller, params: { id, executionId } }) {
    found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    found('EXECUTION', executionId, await findExecution(db, id, executionId));
    const [cancelled] = await transact(db, (tx) =>
      cancelExecutions(tx, [executionId], 'cancelled'),
    );
    if (!cancelled) throw new Problem('EXECUTION_NOT_ACTIVE');
    return presentExecution(db, cancelled, caller.project);
  },
});

export const cancelExecutionsOfWorkflow = endpoint({
  id: 'cancelAllExecutions',
  method: 'POST',
  path: '/workflows/{id}/executions/cancel-all',
  summary: 'Cancel all active executions of a workflow',
  description:
    'Returns how many were active; 0 when none was. If there are very many, the last are ' +
    'cancelled within a minute after the response.',
  access: 'secret',
  params: WorkflowById,
  query: selection({}),
  body: selection({}),
  response: z.object({ cancelled: z.int() }),
  problems: ['WORKFLOW_NOT_FOUND'],
  example: { body: {}, response: { cancelled: 12 } },
  async handle({ db, caller: { projectId }, params: { id }, note }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    const target = { type: 'workflow', id };
    const cancelled = await cancelAllExecutions(db, workflow, (tx) =>
      note({ event: 'workflow.cancelled', projectId, target }, tx),
    );
    return { cancelled };
  },
});

const retryFailedExecution = endpoint({
  id: 'retryExecution',
  method: 'POST',
  path: '/workflows/{id}/executions/{executionId}/retry',
  summary: 'Retry a failed execution from its failed step',
  description:
    'It continues on its current version, or on `version`, which must have the failed step ' +
    'with the same id and type. Steps before the failed one are not repeated. ' +
    'EXECUTION_NOT_FAILED: only a FAILED one can be retried. EXECUTION_EXISTS: the contact ' +
    'has another active execution of this workflow. WORKFLOW_INVALID: the version cannot run.',
  access: 'secret',
  params: ExecutionById,
  body: z.object({ version: z.int().min(1).optional() }),
  response: Execution,
  problems: [
    'WORKFLOW_NOT_FOUND',
    'EXECUTION_NOT_FOUND',
    'EXECUTION_NOT_FAILED',
    'EXECUTION_EXISTS',
    'WORKFLOW_INVALID',
  ],
  example: { body: {}, response: executionExample },
  async checkBeside({ db, caller, params: { id, executionId }, body: { version } }) {
    if (version === undefined) return;
    const workflow = found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    await findGraph(db, workflow, version);
    const failed = found('EXECUTION', executionId, await findExecution(db, id, executionId));
    await refuseVersion(db, failed, version);
  },
  async handle({ db, caller, dispatcher, params: { id, executionId }, body: { version } }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    const failed = found('EXECUTION', executionId, await findExecution(db, id, executionId));
    if (version !== undefined) await requireVersion(db, workflow, version, 'version');
    const row = await transact(db, (tx) =>
      retryExecution(tx, failed, { isAwaited: true, ...(version !== undefined && { version }) }),
    );
    // The response contains the new run. If Temporal is unavailable, the run is started later.
    const runId = await dispatcher.startNow(executionId);
    return presentExecution(db, { ...row, temporal_run_id: runId }, caller.project);
  },
});

export const getExecutionHistory = endpoint({
  id: 'getExecutionHistory',
  method: 'GET',
  path: '/workflows/{id}/executions/{executionId}/history',
  summary: 'List every change of an execution and its steps, oldest first',
  description:
    'Each entry is a change of status, of the execution or of a step, or an action on it: ' +
    '`detail.moved` (the old and new end of a wait), `detail.paused`, `detail.jobId` (a move ' +
    'to another version). `detail.explanation` says in words what a step waits for, which arm it ' +
    'drew or why it took its branch.',
  access: 'secret',
  params: ExecutionById,
  response: z.object({
    executionId: z.uuid(),
    runUrl: z
      .url()
      .nullable()
      .describe('The run in the Temporal UI; null: `TEMPORAL_UI_URL` is not set'),
    entries: z.array(
      z.object({
        at: Time,
        stepId: z.uuid().nullable().describe('null: the execution itself'),
        stepName: z.string().nullable(),
        stepType: z.enum(stepTypes).nullable(),
        from: z.string().nullable(),
        to: z.string().nullable(),
        detail: z.union([z.string(), JsonObject]).nullable(),
        causedBy: Actor.optional().describe('Who caused it; only in the first entry'),
      }),
    ),
  }),
  problems: ['WORKFLOW_NOT_FOUND', 'EXECUTION_NOT_FOUND'],
  example: {
    response: {
      executionId: executionExample.id,
      runUrl: `http://127.0.0.1:8233/namespaces/default/workflows/${executionExample.temporalWorkflowId}`,
      entries: [
        {
          at: executionExample.startedAt,
          stepId: null,
          stepName: null,
          stepType: null,
          from: null,
          to: 'RUNNING',
          detail: null,
        },
      ],
    },
  },
  async handle({ db, config, caller, params: { id, executionId } }) {
    found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    const row = found('EXECUTION', executionId, await findExecution(db, id, executionId));
    const steps = await listStepExecutions(db, executionId);
    const causedBy = await presentActor(db, row.caused_by);
    const entries = [
      ...changesOf(row).map((change, index) => ({
        ...change,
        ...(index === 0 && causedBy && { causedBy }),
        stepId: null,
        stepName: null,
        stepType: null,
      })),
      ...steps.flatMap((step) => {
        const { name, type } = stepName(stepsOf(row), step.step_id);
        const named = { stepId: step.step_id, stepName: name, stepType: type };
        return explainedChanges(step, stepsOf(row)).map((change) => ({ ...change, ...named }));
      }),
    ];
    // Sorted by microseconds, and shown in milliseconds like all times.
    const ordered = entries.toSorted((a, b) => (a.at < b.at ? -1 : 1));
    return {
      executionId,
      runUrl: runUrlOf(config, executionId),
      entries: ordered.map((entry) => ({ ...entry, at: time(new Date(entry.at)) })),
    };
  },
});

export const executionEndpoints = [
  startExecution,
  getExecutions,
  getExecution,
  cancelExecution,
  cancelExecutionsOfWorkflow,
  retryFailedExecution,
  getExecutionHistory,
];

/**
 * Returns the steps of all versions on which an execution is or was. The steps of its current
 * version come first.
 */
export function stepsOf({ graph, formerSteps }: ExecutionInGraph): GraphStep[] {
  return [...graph.steps, ...formerSteps];
}

interface Change {
  at: string;
  from: string | null;
  to: string | null;
  detail: string | Record<string, unknown> | null;
}

/**
 * Returns the changes of a step. The newest change gets a `detail` that explains for what the step
 * waits, or why it took its branch.
 */
function explainedChanges(row: StepExecutionRow, graph: readonly GraphStep[]): Change[] {
  const changes = changesOf(row);
  const step = graph.find(({ id }) => id === row.step_id);
  const explanation = step && explanationOf(step, row.output as Record<string, unknown> | null);
  const last = changes.findLast(({ to }) => to === row.status);
  if (!explanation || last?.detail !== null) return changes;
  return changes.map((change) =>
    change === last ? { ...change, detail: { explanation } } : change,
  );
}

/** Returns the status changes and actions in the row's `history`. */
function changesOf(row: { history: unknown }): Change[] {
  return row.history as Change[];
}
