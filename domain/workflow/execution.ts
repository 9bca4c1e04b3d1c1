import type { Graph } from './graph.ts';

/**
 * What the run of an execution starts with: the whole graph it walks, so that a recorded history
 * replays anywhere. The context and the contact's data are not in it: steps read them when they
 * run, and personal data stays out of the histories.
 */
export interface ExecutionStart {
  executionId: string;
  projectId: string;
  contactId: string;
  workflowId: string;
  /** As it was when the execution began. */
  workflowName: string;
  version: number;
  /** To the microsecond, as the database writes it. */
  startedAt: string;
  graph: Graph;
  /**
   * How the run behaves where it was changed for new runs: 2 shows its status when it ends, not
   * at each wait. Runs that were started before have none.
   */
  format?: 2;
  /** Where to go on: after continue-as-new, or at the step whose failure is tried again. */
  resume?: { stepId: string; since: string };
}

/** A start that Temporal has not been told of. */
export interface DueStart {
  start: ExecutionStart;
  /** Which start of the execution this is: each retry has a higher one. */
  generation: number;
  /** The run that failed, when the execution is tried again. */
  failedRunId: string | null;
  /** Its run came to the end before anybody could note that it had started. */
  hasEnded: boolean;
}

/** A run that serves a start of its execution. */
export interface StartedRun {
  executionId: string;
  generation: number;
  runId: string;
}

/** A cancel that Temporal has not been told of; without a generation its execution is deleted. */
export interface DueCancel {
  executionId: string;
  generation: number | null;
}

/** The address of an execution's run in Temporal. */
export function executionRunId(executionId: string): string {
  return `execution-${executionId}`;
}

/** The execution whose run has this address, or null. */
export function executionOfRun(workflowId: string): string | null {
  return /^execution-([0-9a-f-]{36})$/.exec(workflowId)?.[1] ?? null;
}

/** The address of the run that delivers a project's transactional and workflow mail. */
export function deliveryRunId(projectId: string): string {
  return `delivery-${projectId}`;
}
