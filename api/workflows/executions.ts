import { z } from 'zod';
import { findContact } from '../../db/contacts.ts';
import {
  cancelExecutions,
  type ExecutionListItem,
  type ExecutionRow,
  findExecution,
  insertExecution,
  listExecutions,
  retryExecution,
} from '../../db/executions.ts';
import { listStepExecutions, type StepExecutionRow } from '../../db/step-executions.ts';
import { findWorkflow } from '../../db/workflows.ts';
import { jsonBytes } from '../../domain/contact-data.ts';
import { found, Problem } from '../../domain/errors.ts';
import { executionRunId } from '../../domain/execution.ts';
import { findStep, type Graph, stepTypes } from '../../domain/graph.ts';
import { limits } from '../../domain/limits.ts';
import { endpoint } from '../endpoint.ts';
import { fault, JsonObject, presentPage, queryInt, Time, time, Uuid } from '../schemas.ts';
import { tag, WorkflowById } from './present.ts';

const statuses = ['RUNNING', 'WAITING', 'COMPLETED', 'EXITED', 'FAILED', 'CANCELLED'] as const;
const stepStatuses = [
  'PENDING',
  'SCHEDULED',
  'RUNNING',
  'WAITING',
  'COMPLETED',
  'FAILED',
  'SKIPPED',
] as const;

const AnyObject = z.record(z.string(), z.unknown());
const StepName = z.object({ id: z.uuid(), name: z.string(), type: z.enum(stepTypes) });
const ContactName = z.object({ id: z.uuid(), email: z.string() });

const Execution = z.object({
  id: z.uuid(),
  workflowId: z.uuid(),
  workflowVersion: z.int(),
  contactId: z.uuid(),
  status: z.enum(statuses),
  currentStepId: z.uuid().nullable(),
  exitReason: z.string().nullable(),
  error: z.string().nullable(),
  context: AnyObject.nullable(),
  startedAt: Time,
  completedAt: Time.nullable(),
  temporalWorkflowId: z.string(),
  temporalRunId: z.string().nullable(),
  projectId: z.uuid(),
  createdAt: Time,
  updatedAt: Time,
});

const StepExecution = z.object({
  id: z.uuid(),
  executionId: z.uuid(),
  stepId: z.uuid(),
  status: z.enum(stepStatuses),
  scheduledFor: Time.nullable(),
  executeAfter: Time.nullable(),
  output: AnyObject.nullable(),
  error: z.string().nullable(),
  startedAt: Time.nullable(),
  completedAt: Time.nullable(),
  createdAt: Time,
  updatedAt: Time,
  step: StepName,
});

const ExecutionById = WorkflowById.extend({ executionId: Uuid });

const Context = JsonObject.refine(
  (context) => jsonBytes(context) <= limits.eventDataBytes,
  fault('too_big', `Must be at most ${limits.eventDataBytes} bytes as JSON.`),
).meta({ type: 'object', additionalProperties: true });

export const startExecution = endpoint({
  id: 'startExecution',
  method: 'POST',
  path: '/workflows/{id}/executions',
  tag,
  summary: 'Start an execution for a contact',
  access: 'secret',
  status: 201,
  params: WorkflowById,
  body: z.object({ contactId: Uuid, context: Context.optional() }),
  response: Execution,
  problems: ['WORKFLOW_NOT_FOUND', 'CONTACT_NOT_FOUND', 'WORKFLOW_NOT_ENABLED', 'EXECUTION_EXISTS'],
  example: {
    body: { contactId: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11', context: { source: 'ad' } },
  },
  async handle({ db, caller: { projectId }, dispatcher, params: { id }, body }) {
    found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    found('CONTACT', body.contactId, await findContact(db, projectId, body.contactId));
    const execution = await db.transaction().execute((tx) =>
      insertExecution(tx, {
        projectId,
        workflowId: id,
        contactId: body.contactId,
        context: body.context ?? null,
      }),
    );
    dispatcher.dispatch({ executions: [execution.id] });
    return presentExecution(execution);
  },
});

export const getExecutions = endpoint({
  id: 'listExecutions',
  method: 'GET',
  path: '/workflows/{id}/executions',
  tag,
  summary: 'List the executions of a workflow, newest start first',
  access: 'secret',
  params: WorkflowById,
  query: z.object({
    page: queryInt(1, Number.MAX_SAFE_INTEGER, 1),
    pageSize: queryInt(1, limits.pageSize, limits.pageSizeDefault),
    status: z.enum(statuses).optional(),
  }),
  response: z.object({
    executions: z.array(
      Execution.extend({ contact: ContactName, currentStep: StepName.nullable() }),
    ),
    total: z.int(),
    page: z.int(),
    pageSize: z.int(),
    totalPages: z.int(),
  }),
  problems: ['WORKFLOW_NOT_FOUND'],
  async handle({ db, caller, params: { id }, query }) {
    found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    const { rows, total } = await listExecutions(db, id, query);
    const { data, ...page } = presentPage(rows.map(presentNamed), total, query);
    return { executions: data, ...page };
  },
});

export const getExecution = endpoint({
  id: 'getExecution',
  method: 'GET',
  path: '/workflows/{id}/executions/{executionId}',
  tag,
  summary: 'Get one execution with its steps',
  access: 'secret',
  params: ExecutionById,
  response: Execution.extend({
    workflow: z.object({ id: z.uuid(), name: z.string() }),
    contact: ContactName,
    currentStep: StepName.nullable(),
    stepExecutions: z.array(StepExecution),
  }),
  problems: ['WORKFLOW_NOT_FOUND', 'EXECUTION_NOT_FOUND'],
  async handle({ db, caller, params: { id, executionId } }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    const row = found('EXECUTION', executionId, await findExecution(db, id, executionId));
    const steps = await listStepExecutions(db, executionId);
    return {
      ...presentNamed(row),
      workflow: { id, name: workflow.name },
      stepExecutions: steps.map((step) => presentStepExecution(step, row.graph)),
    };
  },
});

export const cancelExecution = endpoint({
  id: 'cancelExecution',
  method: 'DELETE',
  path: '/workflows/{id}/executions/{executionId}',
  tag,
  summary: 'Cancel an active execution',
  access: 'secret',
  params: ExecutionById,
  response: Execution,
  problems: ['WORKFLOW_NOT_FOUND', 'EXECUTION_NOT_FOUND', 'EXECUTION_NOT_ACTIVE'],
  async handle({ db, caller, dispatcher, params: { id, executionId } }) {
    found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    found('EXECUTION', executionId, await findExecution(db, id, executionId));
    const [cancelled] = await db
      .transaction()
      .execute((tx) => cancelExecutions(tx, { ids: [executionId] }, 'cancelled'));
    if (!cancelled) throw new Problem('EXECUTION_NOT_ACTIVE');
    dispatcher.dispatch({ executions: [executionId] });
    return presentExecution(cancelled);
  },
});

export const cancelExecutionsOfWorkflow = endpoint({
  id: 'cancelAllExecutions',
  method: 'POST',
  path: '/workflows/{id}/executions/cancel-all',
  tag,
  summary: 'Cancel all active executions of a workflow',
  access: 'secret',
  params: WorkflowById,
  response: z.object({ cancelled: z.int() }),
  problems: ['WORKFLOW_NOT_FOUND'],
  async handle({ db, caller, dispatcher, params: { id } }) {
    found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    const rows = await db
      .transaction()
      .execute((tx) => cancelExecutions(tx, { workflowId: id }, 'cancelled'));
    dispatcher.dispatch({ executions: rows.map((row) => row.id) });
    return { cancelled: rows.length };
  },
});

export const retryFailedExecution = endpoint({
  id: 'retryExecution',
  method: 'POST',
  path: '/workflows/{id}/executions/{executionId}/retry',
  tag,
  summary: 'Try a failed execution again, from its failed step on',
  access: 'secret',
  params: ExecutionById,
  response: Execution,
  problems: [
    'WORKFLOW_NOT_FOUND',
    'EXECUTION_NOT_FOUND',
    'EXECUTION_NOT_FAILED',
    'EXECUTION_EXISTS',
  ],
  async handle({ db, caller, dispatcher, params: { id, executionId } }) {
    found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    const failed = found('EXECUTION', executionId, await findExecution(db, id, executionId));
    const row = await db.transaction().execute((tx) => retryExecution(tx, failed));
    // The answer names the new run, unless Temporal is away: then the sweep starts it.
    const runId = await dispatcher.startNow(executionId);
    return presentExecution({ ...row, temporal_run_id: runId });
  },
});

export const getExecutionHistory = endpoint({
  id: 'getExecutionHistory',
  method: 'GET',
  path: '/workflows/{id}/executions/{executionId}/history',
  tag,
  summary: 'List every change of an execution and its steps, oldest first',
  access: 'secret',
  params: ExecutionById,
  response: z.object({
    executionId: z.uuid(),
    entries: z.array(
      z.object({
        at: Time,
        stepId: z.uuid().nullable().describe('null: the execution itself'),
        stepName: z.string().nullable(),
        stepType: z.enum(stepTypes).nullable(),
        from: z.string().nullable(),
        to: z.string(),
        detail: z.string().nullable(),
      }),
    ),
  }),
  problems: ['WORKFLOW_NOT_FOUND', 'EXECUTION_NOT_FOUND'],
  async handle({ db, caller, params: { id, executionId } }) {
    found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    const row = found('EXECUTION', executionId, await findExecution(db, id, executionId));
    const steps = await listStepExecutions(db, executionId);
    const entries = [
      ...changesOf(row).map((change) => ({
        ...change,
        stepId: null,
        stepName: null,
        stepType: null,
      })),
      ...steps.flatMap((step) => {
        const { name, type } = stepName(row.graph, step.step_id);
        const named = { stepId: step.step_id, stepName: name, stepType: type };
        return changesOf(step).map((change) => ({ ...change, ...named }));
      }),
    ];
    // Ordered by the microsecond, shown to the millisecond as every time.
    const ordered = entries.toSorted((a, b) => (a.at < b.at ? -1 : 1));
    return {
      executionId,
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

interface StatusChange {
  at: string;
  from: string | null;
  to: string;
  detail: string | null;
}

/** What the database has noted of a row's status. */
function changesOf(row: { history: unknown }): StatusChange[] {
  return row.history as StatusChange[];
}

function presentExecution(row: ExecutionRow): z.input<typeof Execution> {
  return {
    id: row.id,
    workflowId: row.workflow_id,
    workflowVersion: row.workflow_version,
    contactId: row.contact_id,
    status: row.status as (typeof statuses)[number],
    currentStepId: row.current_step_id,
    exitReason: row.exit_reason,
    error: row.error,
    context: row.context as Record<string, unknown> | null,
    startedAt: time(row.started_at),
    completedAt: time(row.completed_at),
    temporalWorkflowId: executionRunId(row.id),
    temporalRunId: row.temporal_run_id,
    projectId: row.project_id,
    createdAt: time(row.created_at),
    updatedAt: time(row.updated_at),
  };
}

function presentNamed(row: ExecutionListItem) {
  return {
    ...presentExecution(row),
    contact: { id: row.contact_id, email: row.contact_email },
    currentStep: row.current_step_id === null ? null : stepName(row.graph, row.current_step_id),
  };
}

function presentStepExecution(row: StepExecutionRow, graph: Graph) {
  return {
    id: row.id,
    executionId: row.execution_id,
    stepId: row.step_id,
    status: row.status as (typeof stepStatuses)[number],
    scheduledFor: time(row.scheduled_for),
    executeAfter: time(row.execute_after),
    output: row.output as Record<string, unknown> | null,
    error: row.error,
    startedAt: time(row.started_at),
    completedAt: time(row.completed_at),
    createdAt: time(row.created_at),
    updatedAt: time(row.updated_at),
    step: stepName(graph, row.step_id),
  };
}

/** The step as it was in the version that runs, whatever became of it since. */
function stepName(graph: Graph, stepId: string): z.input<typeof StepName> {
  const step = findStep(graph, stepId);
  if (!step) throw new Error(`Step ${stepId} is not in the snapshot of its execution.`);
  return { id: step.id, name: step.name, type: step.type };
}
