import type { StartedRun } from './execution.ts';

/**
 * Runs that process rows: each is started with ids, reads its rows, and reads them again on the
 * signal `changed`. Starting or signalling one twice is harmless.
 */
export interface RunInputs {
  campaignSend: { projectId: string; campaignId: string };
  contactImport: { projectId: string; jobId: string };
  bulkContacts: { projectId: string; jobId: string };
  executionJob: { projectId: string; jobId: string };
  eventReplay: { projectId: string; jobId: string };
  /** Its row outlives the workflow and the project, so it is of the platform. */
  workflowSchedule: { projectId: null; workflowId: string };
  firing: {
    projectId: string;
    workflowId: string;
    /** The planned time. */
    at: string;
  };
  /** The mail provider identifies the domain by its name, even when its row is gone. */
  domainPoller: { projectId: string; domainId: string; name: string };
  /** Open as long as the subscription exists. A reset of the project changes neither id. */
  eventSubscription: { projectId: string; subscriptionId: string };
  contactErasure: { projectId: string; erasureId: string };
  optInRequest: { projectId: string; requestId: string };
  /** The public id: the run removes all rows that had it. */
  projectReset: { projectId: string };
  projectDelete: { projectId: string };
  /** One mail without an `email` row; no project: mail of the platform to a user. */
  systemMail: {
    projectId: string | null;
    mailId: string;
    kind: 'campaign-test' | 'platform-mail';
  };
}

export type RunKind = keyof RunInputs;

/**
 * Priorities in a task queue with a backlog (Temporal's `priorityKey`); with equal priority the
 * projects take turns, by `fairnessKey`.
 */
export const priorities = {
  /** The sweep, on which all left-behind work depends. */
  upkeep: 1,
  /** One mail that a user waits for. */
  attended: 1,
  /** A run whose start a request waits for. */
  requested: 2,
  /** Temporal's own default. */
  usual: 3,
  /** Bulk mail: after all other mail. */
  bulk: 4,
} as const;

/** The fairness key of work without a project. */
export const platformFairness = 'platform';

/** The default task queue. */
export const defaultTaskQueue = 'everpost';

/** The id of the schedule, and prefix of its runs, of a task queue's sweep. */
export function sweepIdOf(taskQueue: string): string {
  return taskQueue === defaultTaskQueue ? 'sweep' : `sweep-${taskQueue}`;
}

/** When a sweep was planned, by the id of its run; null: it was not started by the schedule. */
export function sweepTimeOf(runId: string): Date | null {
  const [, at] = /-(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$/.exec(runId) ?? [];
  return at === undefined ? null : new Date(at);
}

/** How old the newest sweep may be before it is late, in milliseconds: one begins every half minute. */
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
  /** Only runs of executions are started and cancelled: other runs are signalled with start. */
  kind: RunKind | 'customerWorkflow';
  action: 'start' | 'signal' | 'cancel';
  /**
   * The input of the run. With `signal` to an execution's run: the step whose event has come, if
   * any.
   */
  input: RunInputs[RunKind] | { stepId?: string };
  /** For operators, in product words; no personal data. */
  summary: string;
  /** Changes with every further request. */
  generation: number;
}

/** An entry that Temporal was sent. */
export interface SentEntry {
  entry: OutboxEntry;
  /** The run that was started for it, if it is of an execution. */
  started?: StartedRun;
}

/** A Temporal workflow that must be notified of a change, and its project (null: the platform). */
export interface RunNotice {
  runId: string;
  projectId: string | null;
  /** An execution is to be started. In a burst, such runs wait for the workers. */
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
 * Sends Temporal what was committed, without making the caller wait. What it cannot send (the
 * server is unavailable, this process dies) is sent later, by any process: the rows say what is due.
 */
export interface Dispatcher {
  /** Sends what is due for these runs. */
  dispatch(runs: readonly RunNotice[]): void;
  /** Begins to send what other processes should have sent by now. */
  dispatchOverdue(): Promise<void>;
  /** Does that every ten seconds, until it is closed. */
  watch(): void;
  /** Starts one execution now. Returns its run's id, or null when Temporal does not respond. */
  startNow(executionId: string): Promise<string | null>;
  /** Resolves when everything handed on so far was sent, or left in the outbox. */
  close(): Promise<void>;
}
