/**
 * Jobs: work on many rows that continues after the response. `import` and `bulk` work on contacts,
 * `replay` on the events of a subscription, and the others on executions of a workflow.
 */
export type JobKind = 'import' | 'bulk' | 'replay' | ExecutionJobKind;

export const executionJobKinds = ['migrate', 'move-waits', 'retry-all'] as const;

export type ExecutionJobKind = (typeof executionJobKinds)[number];

export type JobState = 'waiting' | 'active' | 'completed' | 'failed' | 'cancelled';

/** The result of a slice: how far a job got in the time of one activity. */
export interface JobProgress {
  state: JobState;
  done: number;
  total: number;
  failedReason: string | null;
  /**
   * Milliseconds to wait before the next slice, for a job with a limited pace. Absent: the next
   * slice begins at once.
   */
  pauseMs?: number;
}

/**
 * A job on executions, as the API shows it. `totalRequested` is null until the job has ended,
 * unless the request listed the executions.
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
  /** The replay covers the events created from `from` to `to`, both in ISO 8601. */
  from: string;
  to: string;
  eventName: string | null;
  /**
   * True: the replay covers only events that were not delivered to the subscription; false: all.
   */
  onlyFailed: boolean;
}

export interface ExecutionJobResults {
  migrate: Record<'migrated' | 'unchanged' | 'unmappable' | 'cancelled' | 'finished', number>;
  'move-waits': Record<'moved' | 'skipped', number>;
  'retry-all': Record<'retried' | 'refused', number>;
}
