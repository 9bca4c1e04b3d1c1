import { z } from 'zod';
import type { ExecutionListItem, ExecutionRow } from '../../db/workflows/executions.ts';
import type { StepExecutionRow } from '../../db/workflows/steps.ts';
import { executionRunId } from '../../domain/workflow/execution.ts';
import { findStep, type Graph } from '../../domain/workflow/graph.ts';
import { stepTypes } from '../../domain/workflow/step-types.ts';
import { named, Time, time } from '../http/schemas.ts';
import { stepExample, workflowExample } from './record.ts';

/** The records of executions and their steps as the API returns them. */

export const statuses = [
  'RUNNING',
  'WAITING',
  'COMPLETED',
  'EXITED',
  'FAILED',
  'CANCELLED',
] as const;
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
export const StepName = z.object({ id: z.uuid(), name: z.string(), type: z.enum(stepTypes) });
export const ContactName = z.object({ id: z.uuid(), email: z.string() });

export const Execution = named('Execution', {
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

export const StepExecution = named('StepExecution', {
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

/** For the documentation. */
export const executionExample: z.input<typeof Execution> = {
  id: 'dd000000-0000-4000-8000-000000000001',
  workflowId: workflowExample.id,
  workflowVersion: 2,
  contactId: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
  status: 'WAITING',
  currentStepId: stepExample.id,
  exitReason: null,
  error: null,
  context: { source: 'ad' },
  startedAt: '2026-11-21T08:30:00.000Z',
  completedAt: null,
  temporalWorkflowId: 'execution-dd000000-0000-4000-8000-000000000001',
  temporalRunId: '5a1f8e20-7c36-4b0e-9d1a-3e4f5a6b7c80',
  projectId: workflowExample.projectId,
  createdAt: '2026-11-21T08:30:00.000Z',
  updatedAt: '2026-11-21T08:30:00.000Z',
};
export const namedExample = {
  ...executionExample,
  contact: { id: executionExample.contactId, email: 'ada@shop.example' },
  currentStep: { id: stepExample.id, name: stepExample.name, type: stepExample.type },
};
export const cancelledExample = {
  ...executionExample,
  status: 'CANCELLED',
  currentStepId: null,
  exitReason: 'cancelled',
  completedAt: '2026-11-21T08:31:00.000Z',
};

export function presentExecution(row: ExecutionRow): z.input<typeof Execution> {
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

export function presentNamed(row: ExecutionListItem) {
  return {
    ...presentExecution(row),
    contact: { id: row.contact_id, email: row.contact_email },
    currentStep: row.current_step_id === null ? null : stepName(row.graph, row.current_step_id),
  };
}

export function presentStepExecution(row: StepExecutionRow, graph: Graph) {
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

/** The step as it was in the execution's version, even if it was changed or deleted since. */
export function stepName(graph: Graph, stepId: string): z.input<typeof StepName> {
  const step = findStep(graph, stepId);
  if (!step) throw new Error(`Step ${stepId} is not in the snapshot of its execution.`);
  return { id: step.id, name: step.name, type: step.type };
}
