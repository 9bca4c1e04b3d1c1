import type { StepRef } from '../workflow/graph.ts';

/**
 * The input of an execution's run: ids, and a reference to the first step. Steps read the context,
 * the contact's data and the graph when they run, and the result of each step names the next step.
 * So the history of a run in Temporal is small for graphs of any size, can be replayed anywhere,
 * and has no personal data.
 */
export interface ExecutionStart {
  executionId: string;
  projectId: string;
  contactId: string;
  workflowId: string;
  /** The workflow's name when the execution started. */
  workflowName: string;
  version: number;
  /** In ISO 8601, with microseconds. */
  startedAt: string;
  /**
   * True if the execution was moved to this version from another one, so that it skips steps that
   * it has already begun.
   */
  isMoved?: boolean;
  /**
   * The step at which to resume, for example after continue-as-new or when a failed step is
   * retried.
   */
  resume?: { stepId: string; since: string };
  /** The first step, or the step at which to resume; null: there is none. */
  next: StepRef | null;
}

/** A start of an execution that was not sent to Temporal yet. */
export interface DueStart {
  start: ExecutionStart;
  projectName: string;
  /** The key of the execution, which may be personal; null: it has none. */
  key: string | null;
  /** The actor that caused the execution; null: unknown. */
  causedBy: string | null;
  /** Number of this start. Each retry of the execution has a higher number. */
  generation: number;
  /** True if the execution ended before this start was recorded as sent. */
  hasEnded: boolean;
  /** Time of the execution's last change, with microseconds. */
  updatedAt: string;
}

/**
 * A start that was sent to Temporal. As long as `updatedAt` is unchanged, no worker has begun the
 * run.
 */
export type OpenStart = Pick<DueStart, 'updatedAt'> & { executionId: string };

/** A run, with the start of the execution that it belongs to. */
export interface StartedRun {
  executionId: string;
  generation: number;
  runId: string;
}

export function executionRunId(executionId: string): string {
  return `execution-${executionId}`;
}

/**
 * Returns the execution's id from the workflow id of its run; null: the run is not one of an
 * execution.
 */
export function executionOfRun(workflowId: string): string | null {
  return /^execution-([0-9a-f-]{36})$/.exec(workflowId)?.[1] ?? null;
}

/** Returns the workflow id of the run that delivers a project's transactional and workflow mail. */
export function deliveryRunId(projectId: string): string {
  return `delivery-${projectId}`;
}

/**
 * Returns the project's id from the workflow id of its delivery run; null: it is not a delivery
 * run.
 */
export function projectOfDelivery(workflowId: string): string | null {
  return /^delivery-([0-9a-f-]{36})$/.exec(workflowId)?.[1] ?? null;
}
