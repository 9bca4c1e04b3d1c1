/**
 * Jobs: work on many rows that continues after the response. `import` and `bulk` are on contacts,
 * `replay` is on the events of a subscription, and the others on the executions of a workflow.
 */
export type JobKind = 'import' | 'bulk' | 'replay' | ExecutionJobKind;

export const executionJobKinds = ['migrate', 'move-waits', 'retry-all'] as const;

export type ExecutionJobKind = (typeof executionJobKinds)[number];

export type JobState = 'waiting' | 'active' | 'completed' | 'failed' | 'cancelled';

/** The progress of a job after a time slice. */
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
 * A job on executions as shown. `totalRequested`: null until the job has ended, unless the request
 * named the executions.
 */
export interface ExecutionJobData {
  projectId: string;
  workflowId: string;
  operation: ExecutionJobKind;
  stepId: string | null;
  totalRequested: number | null;
}

export interface ReplayData {
  projectId: string;
  subscriptionId: string;
  /** In ISO 8601, as `to`. The replay covers the events created between the two. */
  from: string;
  to: string;
  eventName: string | null;
  /** Only events that the subscription has not delivered. */
  onlyFailed: boolean;
}

export interface ExecutionJobResults {
  migrate: Record<'migrated' | 'unchanged' | 'unmappable' | 'cancelled' | 'finished', number>;
  'move-waits': Record<'moved' | 'skipped', number>;
  'retry-all': Record<'retried' | 'refused', number>;
}
