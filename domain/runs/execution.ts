import type { StepRef } from '../workflow/graph.ts';

/**
 * The input of an execution's run: ids, and a reference to the first step. Steps read the context, the
 * contact's data and the graph when they run, and each result names the next step. So a recorded
 * history is small however large the graph is, can be replayed anywhere, and has no personal data.
 */
export interface ExecutionStart {
  executionId: string;
  projectId: string;
  contactId: string;
  workflowId: string;
  /** The name when the execution started. */
  workflowName: string;
  version: number;
  /** To the microsecond. */
  startedAt: string;
  /** True if it was moved to this version from another one: it skips steps that it has begun. */
  isMoved?: boolean;
  /** The step to resume at, for example after continue-as-new, or when a failed step is retried. */
  resume?: { stepId: string; since: string };
  /** The first step, or the one to resume at; null: there is none. */
  next: StepRef | null;
}

/** A start that was not sent to Temporal yet. */
export interface DueStart {
  start: ExecutionStart;
  projectName: string;
  /** The key of the execution, which may be personal; null: it has none. */
  key: string | null;
  /** The actor that caused the execution; null: not known. */
  causedBy: string | null;
  /** Number of this start of the execution: each retry has a higher one. */
  generation: number;
  /** True if the execution has ended before this start was recorded as sent. */
  hasEnded: boolean;
  /** Last change of the execution, to the microsecond. */
  updatedAt: string;
}

/** A start that was sent to Temporal. While `updatedAt` is unchanged, no worker has begun it. */
export type OpenStart = Pick<DueStart, 'updatedAt'> & { executionId: string };

/** A run that belongs to a start of its execution. */
export interface StartedRun {
  executionId: string;
  generation: number;
  runId: string;
}

export function executionRunId(executionId: string): string {
  return `execution-${executionId}`;
}

/**
 * Returns the id of an execution from the workflow id of its run; null: it is the id of another run.
 */
export function executionOfRun(workflowId: string): string | null {
  return /^execution-([0-9a-f-]{36})$/.exec(workflowId)?.[1] ?? null;
}

/** Returns the workflow id of the run that delivers a project's transactional and workflow mail. */
export function deliveryRunId(projectId: string): string {
  return `delivery-${projectId}`;
}

/**
 * Returns the id of a project from the workflow id of its delivery run; null: it is the id of another
 * run.
 */
export function projectOfDelivery(workflowId: string): string | null {
  return /^delivery-([0-9a-f-]{36})$/.exec(workflowId)?.[1] ?? null;
}
