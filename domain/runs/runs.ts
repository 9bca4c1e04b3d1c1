import type { StartedRun } from './execution.ts';

/**
 * Runs that process rows. Each starts with ids, reads its rows, and reads them again on the signal
 * `changed`. Starting or signalling one twice is harmless.
 */
export interface RunInputs {
  campaignSend: { projectId: string; campaignId: string };
  contactImport: { projectId: string; jobId: string };
  bulkContacts: { projectId: string; jobId: string };
  executionJob: { projectId: string; jobId: string };
  eventReplay: { projectId: string; jobId: string };
  /** It has no project, because its row outlives the workflow and the project. */
  workflowSchedule: { projectId: null; workflowId: string };
  firing: {
    projectId: string;
    workflowId: string;
    /** The planned time. */
    at: string;
  };
  /** `name`: the mail provider identifies the domain by it, even when the row is gone. */
  domainPoller: { projectId: string; domainId: string; name: string };
  /** Open until the ramp is done or deleted. */
  ramp: { projectId: string; rampId: string };
  /**
   * Open as long as the subscription exists. A reset of its project changes the id of the project's
   * row, but an open run keeps the former `projectId`: it is only the fairness key.
   */
  eventSubscription: { projectId: string; subscriptionId: string };
  contactErasure: { projectId: string; erasureId: string };
  optInRequest: { projectId: string; requestId: string };
  /** `projectId` is the public id: the run removes all rows that had this id. */
  projectReset: { projectId: string };
  projectDelete: { projectId: string };
  /** One mail without an `email` row. `projectId` null: mail of the platform to a user. */
  systemMail: {
    projectId: string | null;
    mailId: string;
    kind: 'campaign-test' | 'platform-mail';
  };
}

export type RunKind = keyof RunInputs;

/**
 * Priorities in a task queue with a backlog (Temporal's `priorityKey`). With equal priority the
 * projects take turns, by `fairnessKey`.
 */
export const priorities = {
  /** The sweep, because all work left behind depends on it. */
  upkeep: 1,
  /** One mail that a user waits for. */
  attended: 1,
  /** A run whose start a request waits for. */
  requested: 2,
  /** Temporal's own default. */
  usual: 3,
  /** Bulk mail comes after all other mail. */
  bulk: 4,
} as const;

/** The fairness key of work without a project. */
export const platformFairness = 'platform';

export const defaultTaskQueue = 'everpost';

/** Returns the id of the schedule of a task queue's sweep. The ids of its runs begin with it. */
export function sweepIdOf(taskQueue: string): string {
  return taskQueue === defaultTaskQueue ? 'sweep' : `sweep-${taskQueue}`;
}

/** Returns the id of the run that reads the mailbox of reports, one for each task queue. */
export function feedbackMailboxIdOf(taskQueue: string): string {
  return taskQueue === defaultTaskQueue ? 'feedback-mailbox' : `feedback-mailbox-${taskQueue}`;
}

/**
 * Returns the planned time of a sweep, from the id of its run; null: the schedule did not start it.
 */
export function sweepTimeOf(runId: string): Date | null {
  const [, at] = /-(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$/.exec(runId) ?? [];
  return at === undefined ? null : new Date(at);
}

/** Age in milliseconds at which the newest sweep counts as late: one begins every half minute. */
export const sweepAgeMax = 120_000;

const subscriptionPrefix = 'subscription-';

/** The workflow id of a run, made from its row. */
export const runIds = {
  campaignSend: ({ campaignId }) => `campaign-${campaignId}`,
  contactImport: ({ jobId }) => jobId,
  bulkContacts: ({ jobId }) => jobId,
  executionJob: ({ jobId }) => jobId,
  eventReplay: ({ jobId }) => jobId,
  workflowSchedule: ({ workflowId }) => `keep-schedule-${workflowId}`,
  firing: ({ workflowId, at }) => `firing-${workflowId}-${at.replace('.000Z', 'Z')}`,
  domainPoller: ({ domainId }) => `domain-${domainId}`,
  ramp: ({ rampId }) => `ramp-${rampId}`,
  eventSubscription: ({ subscriptionId }) => `${subscriptionPrefix}${subscriptionId}`,
  contactErasure: ({ erasureId }) => `erase-${erasureId}`,
  optInRequest: ({ requestId }) => `consent-${requestId}`,
  projectReset: ({ projectId }) => `project-reset-${projectId}`,
  projectDelete: ({ projectId }) => `project-delete-${projectId}`,
  systemMail: ({ kind, mailId }) => `${kind}-${mailId}`,
} satisfies { [K in RunKind]: (input: RunInputs[K]) => string };

/** A run that must be started, signalled or cancelled. */
export interface OutboxEntry {
  runId: string;
  projectId: string | null;
  /**
   * Only runs of executions are started and cancelled. Other runs are signalled, and started if none
   * is open (SignalWithStart).
   */
  kind: RunKind | 'customerWorkflow';
  action: 'start' | 'signal' | 'cancel';
  /**
   * The input of the run. For `signal` to an execution's run: the step whose event has arrived, if
   * any.
   */
  input: RunInputs[RunKind] | { stepId?: string };
  /** For operators, in product terms and without personal data. */
  summary: string;
  /** The actor that caused the run, for its memo; null: none. */
  causedBy: string | null;
  /** Increases with every further request. */
  generation: number;
}

export interface SentEntry {
  entry: OutboxEntry;
  /** The run that was started for it, if it belongs to an execution. */
  started?: StartedRun;
}

/** A Temporal workflow that must be notified of a change, and its project (null: the platform). */
export interface RunNotice {
  runId: string;
  projectId: string | null;
  /** True if an execution must be started. In a burst, such runs wait for the workers. */
  isStart?: boolean;
  /**
   * The subscription whose log has grown. Its run is signalled at most once a second, and the
   * outbox holds no entry for it. The sweep finds missed signals.
   */
  subscriptionId?: string;
}

/** The summary of a subscription's run, shown to operators. */
export const subscriptionSummary = 'Event subscription';

/** Returns the notice that events were recorded for a subscription. */
export function notedSubscription(projectId: string, subscriptionId: string): RunNotice {
  const runId = runIds.eventSubscription({ projectId, subscriptionId });
  return { runId, projectId, subscriptionId };
}

/**
 * Sends committed entries to Temporal, while the caller continues. Entries that it cannot send
 * (Temporal is unavailable, this process dies) stay in the outbox, and any process sends them later.
 */
export interface Dispatcher {
  /** Sends the entries that are due for these runs. */
  dispatch(runs: readonly RunNotice[]): void;
  /** Begins to send entries that other processes should have sent by now. */
  dispatchOverdue(): Promise<void>;
  /** Calls `dispatchOverdue` every ten seconds, until it is closed. */
  watch(): void;
  /** Starts one execution now. Returns its run's id, or null when Temporal does not respond. */
  startNow(executionId: string): Promise<string | null>;
  /** Resolves when all entries passed so far were sent, or remain in the outbox. */
  close(): Promise<void>;
}
