import { z } from 'zod';
import type { Config } from '../../config.ts';
import type { Database } from '../../db/database.ts';
import type { Fleet } from '../../db/delivery/workers.ts';
import {
  type ExecutionListItem,
  type ExecutionRow,
  isActive,
  isAtWork,
} from '../../db/workflows/executions/executions.ts';
import type { StepExecutionRow } from '../../db/workflows/executions/steps.ts';
import { noSweepReason, noWorkerReason } from '../../domain/runs/reconcile.ts';
import { executionRunId } from '../../domain/runs/execution.ts';
import type { GraphStep } from '../../domain/workflow/graph.ts';
import { Actor, readActors } from '../actors/actor.ts';
import { Contact } from '../contacts/record.ts';
import { exampleOf, present } from '../http/record.ts';
import { named, ofProject, Time, times } from '../http/schemas.ts';
import type { OwnerProject } from '../access/caller.ts';
import { Step, stepExample, Workflow } from '../workflows/graph/record.ts';

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
export const StepName = named('StepName', {
  id: Step.shape.id,
  name: Step.shape.name,
  type: Step.shape.type,
});
export const ContactName = named('ContactName', {
  id: Contact.shape.id,
  email: Contact.shape.email,
});

export const Execution = named('Execution', {
  id: z.uuid().meta({ examples: ['dd000000-0000-4000-8000-000000000001'] }),
  workflowId: Workflow.shape.id,
  workflowVersion: z.int().meta({ examples: [2] }),
  contactId: Contact.shape.id,
  key: z
    .string()
    .nullable()
    .describe('Distinguishes the execution from others of the contact; null: it has no key'),
  status: z.enum(statuses),
  currentStepId: z.uuid().nullable(),
  exitReason: z.string().nullable(),
  error: z.string().nullable(),
  context: AnyObject.nullable(),
  warnings: z.int().describe('Steps that completed with `success: false`'),
  stuck: named('Stuck', { since: Time, reason: z.string() })
    .nullable()
    .meta({
      description:
        'Why it is stuck, for example: no worker or no sweep runs, Temporal refuses to start it, ' +
        'or its step is retried again and again',
    }),
  causedBy: Actor.nullable().describe(
    'Who recorded the event that started it, or started it by hand; null: not known',
  ),
  startedAt: Time,
  completedAt: Time.nullable(),
  pausedAt: Time.nullable().describe('Paused individually; its workflow may be paused, too'),
  pauseReason: z.string().nullable(),
  temporalWorkflowId: z
    .string()
    .meta({ examples: [executionRunId('dd000000-0000-4000-8000-000000000001')] }),
  temporalRunId: z
    .string()
    .nullable()
    .meta({ examples: ['5a1f8e20-7c36-4b0e-9d1a-3e4f5a6b7c80'] }),
  ...ofProject,
});

export const StepExecution = named('StepExecution', {
  id: z.uuid().meta({ examples: ['ee000000-0000-4000-8000-000000000001'] }),
  executionId: Execution.shape.id,
  stepId: Step.shape.id,
  status: z.enum(stepStatuses),
  scheduledFor: Time.nullable(),
  executeAfter: Time.nullable(),
  output: AnyObject.nullable().describe(
    'Its result. For a WEBHOOK that is retried: that of the last attempt, with `nextAttemptAt`',
  ),
  error: z.string().nullable(),
  startedAt: Time.nullable(),
  completedAt: Time.nullable(),
  ...times,
  step: StepName,
});

export const executionExample = exampleOf(Execution);
export const namedExample = {
  ...executionExample,
  contact: exampleOf(ContactName),
  currentStepId: stepExample.id,
  currentStep: { id: stepExample.id, name: stepExample.name, type: stepExample.type },
};
export const cancelledExample = {
  ...executionExample,
  status: 'CANCELLED',
  exitReason: 'cancelled',
  completedAt: '2026-11-21T08:31:00.000Z',
};

/** The server state that decides if an execution is stuck. */
type Outage = Pick<Fleet, 'downSince' | 'isSweepLate'>;
const noOutage: Outage = { downSince: null, isSweepLate: false };

/** Returns a function that presents stored actors. */
export type PresentActor = Awaited<ReturnType<typeof readActors>>;

/** Reads the current names of the actors of these executions. */
export async function actorsOf(
  db: Database,
  rows: readonly Pick<ExecutionRow, 'caused_by'>[],
): Promise<PresentActor> {
  return readActors(
    db,
    rows.map((row) => row.caused_by),
  );
}

export async function presentExecution(db: Database, row: ExecutionRow, project: OwnerProject) {
  return recordOf(row, project, await actorsOf(db, [row]));
}

function recordOf(
  row: ExecutionRow,
  { publicId: projectId }: OwnerProject,
  presentActor: PresentActor,
  outage = noOutage,
) {
  return present(Execution, row, {
    projectId,
    context: row.context as Record<string, unknown> | null,
    stuck: stuckOf(row, outage),
    causedBy: presentActor(row.caused_by),
    temporalWorkflowId: executionRunId(row.id),
  });
}

function stuckOf(
  row: ExecutionRow,
  { downSince, isSweepLate }: Outage,
): z.input<typeof Execution>['stuck'] {
  if (!isActive(row)) return null;
  if (row.stuck_since && row.stuck_reason !== null) {
    return { since: row.stuck_since.toISOString(), reason: row.stuck_reason };
  }
  // Without workers or the sweep, no process records that an execution is stuck. So the rest of
  // this function decides.
  if (downSince) {
    if (!isAtWork(row)) return null;
    const since = row.updated_at > downSince ? row.updated_at : downSince;
    return { since: since.toISOString(), reason: noWorkerReason };
  }
  const { next_reconcile_at: dueAt, paused_at: pausedAt, held_at: heldAt } = row;
  if (!isSweepLate || pausedAt || heldAt || !dueAt || dueAt.getTime() >= Date.now()) return null;
  return { since: dueAt.toISOString(), reason: noSweepReason };
}

export function presentNamed(
  row: ExecutionListItem,
  project: OwnerProject,
  { actors, outage }: { actors: PresentActor; outage: Outage },
) {
  return {
    ...recordOf(row, project, actors, outage),
    contact: { id: row.contact_id, email: row.contact_email },
    currentStep: row.current_step,
  };
}

export function presentStepExecution(row: StepExecutionRow, steps: readonly GraphStep[]) {
  return present(StepExecution, row, {
    output: row.output as Record<string, unknown> | null,
    step: stepName(steps, row.step_id),
  });
}

/**
 * Returns the step as it was in the execution's version, even if the step was changed or deleted
 * later.
 * @param steps the steps of this version, and of earlier versions of the execution
 */
export function stepName(steps: readonly GraphStep[], stepId: string): z.input<typeof StepName> {
  const step = steps.find(({ id }) => id === stepId);
  if (!step) throw new Error(`No version of the execution has the step ${stepId}.`);
  return { id: step.id, name: step.name, type: step.type };
}

/**
 * Returns the URL of an execution's run in the Temporal UI; null: the settings have no URL of this
 * UI.
 */
export function runUrlOf(
  { temporalUiUrl, temporal }: Pick<Config, 'temporalUiUrl' | 'temporal'>,
  executionId: string,
): string | null {
  if (temporalUiUrl === null) return null;
  const namespace = encodeURIComponent(temporal.namespace);
  return `${temporalUiUrl}/namespaces/${namespace}/workflows/${executionRunId(executionId)}`;
}
