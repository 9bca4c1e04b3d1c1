/**
 * Jobs: work on many rows that continues after the response. `import` and `bulk` are on contacts,
 * `replay` is on the events of a subscription, and the others on the executions of a workflow.
 */
export type JobKind = 'import' | 'bulk' | 'replay' | ExecutionJobKind;

export const executionJobKinds = ['migrate', 'move-waits', 'retry-all'] as const;

export type ExecutionJobKind = (typeof executionJobKinds)[number];

export type JobState = 'waiting' | 'active' | 'completed' | 'failed' | 'cancelled';

/** The progress of a job after a time slice of its work. */
export interface JobProgress {
  state: JobState;
  done: number;
  total: number;
  failedReason: string | null;
  /**
   * Milliseconds to wait before the next slice, because the job must not go faster. Absent: the next
   * slice begins at once.
   */
  pauseMs?: number;
}

/**
 * A job on executions, as the API shows it. `totalRequested` null: the request named no ids, and the
 * job has not ended.
 */
export interface ExecutionJobData {
  projectId: string;
  workflowId: string;
  operation: ExecutionJobKind;
  stepId: string | null;
  totalRequested: number | null;
}

/** A replay, as the API shows it. */
export interface ReplayData {
  projectId: string;
  subscriptionId: string;
  /** ISO 8601. The replay has the events that were created from `from` to `to`, both included. */
  from: string;
  to: string;
  eventName: string | null;
  /** Only events that the subscription has not delivered. */
  onlyFailed: boolean;
}

/** Counts of executions by outcome. */
export interface ExecutionJobResults {
  migrate: Record<'migrated' | 'unchanged' | 'unmappable' | 'cancelled' | 'finished', number>;
  'move-waits': Record<'moved' | 'skipped', number>;
  'retry-all': Record<'retried' | 'refused', number>;
}
