import type { StepRef } from '../workflow/graph.ts';

/**
 * The input of an execution's run: ids, and the first step by name. The context, the contact's data
 * and the graph are not in it: steps read them when they run, and each result names the next step.
 * So a recorded history replays anywhere, however large the graph is, and holds no personal data.
 */
export interface ExecutionStart {
  executionId: string;
  projectId: string;
  contactId: string;
  workflowId: string;
  /** As of the start of the execution. */
  workflowName: string;
  version: number;
  /** To the microsecond. */
  startedAt: string;
  /** It was moved here from another version: it passes over steps that it has begun. */
  isMoved?: boolean;
  /** The step to resume at: after continue-as-new, or the failed step that is retried. */
  resume?: { stepId: string; since: string };
  /** The first step, or the one to resume at; null: there is none. */
  next: StepRef | null;
}

/** A start that Temporal does not have yet. */
export interface DueStart {
  start: ExecutionStart;
  projectName: string;
  /** Number of this start of the execution: each retry has a higher one. */
  generation: number;
  /** Its run ended before its start was recorded. */
  hasEnded: boolean;
  /** When the execution was last changed, to the microsecond. */
  updatedAt: string;
}

/** A start that Temporal was sent. While the execution is unchanged, no worker has begun it. */
export type OpenStart = Pick<DueStart, 'updatedAt'> & { executionId: string };

/** A run that belongs to a start of its execution. */
export interface StartedRun {
  executionId: string;
  generation: number;
  runId: string;
}

/** The workflow id of an execution's run. */
export function executionRunId(executionId: string): string {
  return `execution-${executionId}`;
}

/** The execution whose run has this workflow id, or null. */
export function executionOfRun(workflowId: string): string | null {
  return /^execution-([0-9a-f-]{36})$/.exec(workflowId)?.[1] ?? null;
}

/** The workflow id of the run that delivers a project's transactional and workflow mail. */
export function deliveryRunId(projectId: string): string {
  return `delivery-${projectId}`;
}

/** The project whose mail the run with this workflow id delivers, or null. */
export function projectOfDelivery(workflowId: string): string | null {
  return /^delivery-([0-9a-f-]{36})$/.exec(workflowId)?.[1] ?? null;
}
