import type { StartedRun } from './execution.ts';

/**
 * The inputs of runs that process rows. Each run starts with ids, reads its rows, and reads them
 * again on the signal `changed`. Starting or signalling a run twice is harmless.
 */
export interface RunInputs {
  campaignSend: { projectId: string; campaignId: string };
  contactImport: { projectId: string; jobId: string };
  bulkContacts: { projectId: string; jobId: string };
  executionJob: { projectId: string; jobId: string };
  eventReplay: { projectId: string; jobId: string };
  /** No project, because the row of a schedule outlives its workflow and project. */
  workflowSchedule: { projectId: null; workflowId: string };
  firing: {
    projectId: string;
    workflowId: string;
    /** The planned time. */
    at: string;
  };
  /**
   * `name`: the name of the domain. The run needs the name after the domain's row is deleted, to
   * remove the domain at the mail provider.
   */
  domainPoller: { projectId: string; domainId: string; name: string };
  /** The run is open until the ramp is done or deleted. */
  ramp: { projectId: string; rampId: string };
  /**
   * The run is open as long as the subscription exists. A reset changes the id of the project's
   * row, but an open run keeps the former `projectId`, which it only uses as fairness key.
   */
  eventSubscription: { projectId: string; subscriptionId: string };
  contactErasure: { projectId: string; erasureId: string };
  optInRequest: { projectId: string; requestId: string };
  /** `projectId` is the public id. The run deletes all rows that had this id. */
  projectReset: { projectId: string };
  projectDelete: { projectId: string };
  /** A mail that has no row in `email`. `projectId` null: the platform sends it to a user. */
  systemMail: {
    projectId: string | null;
    mailId: string;
    kind: 'campaign-test' | 'platform-mail';
  };
}

export type RunKind = keyof RunInputs;

/**
 * Priorities in a task queue with a backlog (Temporal's `priorityKey`). At equal priority, projects
 * take turns by `fairnessKey`.
 */
export const priorities = {
  /** The sweep, which continues all work that was left behind. */
  upkeep: 1,
  /** A single mail that a user waits for. */
  attended: 1,
  /** A run whose start an API request waits for. */
  requested: 2,
  /** Temporal's own default. */
  usual: 3,
  /** Bulk mail comes after all other mail. */
  bulk: 4,
} as const;

/** The fairness key of work without a project. */
export const platformFairness = 'platform';

export const defaultTaskQueue = 'everpost';

/**
 * Returns the id of the schedule that starts the sweeps of a task queue. The workflow ids of its
 * runs begin with this id.
 */
export function sweepIdOf(taskQueue: string): string {
  return taskQueue === defaultTaskQueue ? 'sweep' : `sweep-${taskQueue}`;
}

/** Returns the id of the run that reads the mailbox with reports. Each task queue has one. */
export function feedbackMailboxIdOf(taskQueue: string): string {
  return taskQueue === defaultTaskQueue ? 'feedback-mailbox' : `feedback-mailbox-${taskQueue}`;
}

/**
 * Returns the planned time of a sweep, from the id of its run; null: the schedule did not start the
 * run.
 */
export function sweepTimeOf(runId: string): Date | null {
  const [, at] = /-(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$/.exec(runId) ?? [];
  return at === undefined ? null : new Date(at);
}

/** Age in milliseconds at which the newest sweep is late. A sweep begins every 30 seconds. */
export const sweepAgeMax = 120_000;

const subscriptionPrefix = 'subscription-';

/** Functions that make the workflow id of a run from the ids in its row. */
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

/** An entry of the outbox: a run that must be started, signalled or cancelled. */
export interface OutboxEntry {
  runId: string;
  projectId: string | null;
  /**
   * Only runs of executions are started and cancelled. Other runs are signalled, and started if
   * none is open (SignalWithStart).
   */
  kind: RunKind | 'customerWorkflow';
  action: 'start' | 'signal' | 'cancel';
  /**
   * The input of the run. For a signal to an execution's run, `stepId` is the waiting step whose
   * event has arrived.
   */
  input: RunInputs[RunKind] | { stepId?: string };
  /** A description for operators, in product terms and without personal data. */
  summary: string;
  /** The actor that caused the run, for its memo; null: unknown. */
  causedBy: string | null;
  /** Number that increases with every further request for this run. */
  generation: number;
}

export interface SentEntry {
  entry: OutboxEntry;
  /** The run that was started for this entry, if it belongs to an execution. */
  started?: StartedRun;
}

/**
 * A run to start or signal after the commit. `projectId` null: the run belongs to the platform.
 */
export interface RunNotice {
  runId: string;
  projectId: string | null;
  /** True if an execution must be started. In a burst, such starts wait for free workers. */
  isStart?: boolean;
  /**
   * The subscription with new deliveries. Signals to the run of this subscription are combined, and
   * have no entry in the outbox. The sweep repeats signals that were lost.
   */
  subscriptionId?: string;
}

/** The summary of a subscription's run, for operators. */
export const subscriptionSummary = 'Event subscription';

/** Returns the notice that a subscription has new events. */
export function notedSubscription(projectId: string, subscriptionId: string): RunNotice {
  const runId = runIds.eventSubscription({ projectId, subscriptionId });
  return { runId, projectId, subscriptionId };
}

/**
 * Sends committed entries of the outbox to Temporal in the background. An entry that cannot be
 * sent, because Temporal is unavailable or this process dies, stays in the outbox, and any process
 * sends it later.
 */
export interface Dispatcher {
  /** Sends the due entries of these runs. */
  dispatch(runs: readonly RunNotice[]): void;
  /** Starts sending entries that another process should have sent by now. */
  dispatchOverdue(): Promise<void>;
  /** Calls `dispatchOverdue` at regular intervals until `close`. */
  watch(): void;
  /** Starts one execution now. Returns the id of its run; null: Temporal does not respond. */
  startNow(executionId: string): Promise<string | null>;
  /** Resolves when each entry so far was either sent or left in the outbox. */
  close(): Promise<void>;
}
