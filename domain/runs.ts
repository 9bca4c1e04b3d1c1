/**
 * Runs that process rows: each is started with ids, reads its rows, and reads them again on the
 * signal `changed`. Starting or signalling one twice is harmless.
 */
export interface RunInputs {
  campaignSend: { projectId: string; campaignId: string };
  contactImport: { projectId: string; jobId: string };
  bulkContacts: { projectId: string; jobId: string };
  /** The mail provider identifies the domain by its name, even when its row is gone. */
  domainPoller: { projectId: string; domainId: string; name: string };
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

/** The workflow id of a run, made from its row. */
export const runIds = {
  campaignSend: ({ campaignId }) => `campaign-${campaignId}`,
  contactImport: ({ jobId }) => jobId,
  bulkContacts: ({ jobId }) => jobId,
  domainPoller: ({ domainId }) => `domain-${domainId}`,
  projectReset: ({ projectId }) => `project-reset-${projectId}`,
  projectDelete: ({ projectId }) => `project-delete-${projectId}`,
  systemMail: ({ kind, mailId }) => `${kind}-${mailId}`,
} satisfies { [K in RunKind]: (input: RunInputs[K]) => string };

/** A run that must be started or signalled. */
export interface OutboxEntry {
  runId: string;
  projectId: string | null;
  kind: RunKind;
  input: RunInputs[RunKind];
  /** For operators, in product words; no personal data. */
  summary: string;
  /** Changes with every further request. */
  requests: number;
}

/** Ids of committed rows to dispatch. */
export interface DueWork {
  /** Executions to start or to cancel. */
  executions?: readonly string[];
  /** Step executions whose wait was claimed by an event. */
  waits?: readonly string[];
  /** Projects with mail to deliver. */
  deliveries?: readonly string[];
  /** Runs to start, or to signal that their rows have changed. */
  runs?: readonly string[];
}

/**
 * Sends Temporal what was committed, without making the caller wait. What it cannot send (the
 * server is unavailable, this process dies) the sweep sends later: the rows say what is due.
 */
export interface Dispatcher {
  dispatch(due: DueWork): void;
  /** Starts one execution now. Returns its run's id, or null when Temporal does not respond. */
  startNow(executionId: string): Promise<string | null>;
  /** Resolves when everything dispatched so far was sent or given up. */
  close(): Promise<void>;
}
