/**
 * Runs that are a function of rows: each is started with ids, looks at its rows, and is told to
 * look again by the signal `changed`. Starting or telling one twice is harmless.
 */
export interface RunInputs {
  campaignSend: { projectId: string; campaignId: string };
  contactImport: { projectId: string; jobId: string };
  bulkContacts: { projectId: string; jobId: string };
  /** By its name the mail provider knows the domain, also when its row is gone. */
  domainPoller: { projectId: string; domainId: string; name: string };
  /** The id the outside knows: they remove all that was taken out of its reach. */
  projectReset: { projectId: string };
  projectDelete: { projectId: string };
  /** One mail outside the ledger; no project: mail of the platform to a user. */
  systemMail: {
    projectId: string | null;
    mailId: string;
    kind: 'campaign-test' | 'platform-mail';
  };
}

export type RunKind = keyof RunInputs;

/**
 * What goes first where a task queue has a backlog (Temporal's `priorityKey`); among equals the
 * projects take turns, each by its `fairnessKey`.
 */
export const priorities = {
  /** The sweep: what everybody's forgotten work waits for. */
  upkeep: 1,
  /** One mail that somebody sits and waits for. */
  attended: 1,
  /** A run whose start a request waits for. */
  requested: 2,
  /** Temporal's own default. */
  usual: 3,
  /** Mail in bulk: after all other mail. */
  bulk: 4,
} as const;

/** The fairness key of what belongs to no project. */
export const platformFairness = 'platform';

/** The task queue of an installation that has set no other. */
export const defaultTaskQueue = 'everpost';

/** The schedule and its runs that look after the rows behind a task queue. */
export function sweepIdOf(taskQueue: string): string {
  return taskQueue === defaultTaskQueue ? 'sweep' : `sweep-${taskQueue}`;
}

/** The address of a run in Temporal, made from the row that it serves. */
export const runIds = {
  campaignSend: ({ campaignId }) => `campaign-${campaignId}`,
  contactImport: ({ jobId }) => jobId,
  bulkContacts: ({ jobId }) => jobId,
  domainPoller: ({ domainId }) => `domain-${domainId}`,
  projectReset: ({ projectId }) => `project-reset-${projectId}`,
  projectDelete: ({ projectId }) => `project-delete-${projectId}`,
  systemMail: ({ kind, mailId }) => `${kind}-${mailId}`,
} satisfies { [K in RunKind]: (input: RunInputs[K]) => string };

/** A run that Temporal has to hear of. */
export interface OutboxEntry {
  runId: string;
  projectId: string | null;
  kind: RunKind;
  input: RunInputs[RunKind];
  /** For operators, in product words; no personal data. */
  summary: string;
  /** Another number whenever it is asked for again. */
  requests: number;
}

/** Ids of committed rows that Temporal must hear about. */
export interface DueWork {
  /** Executions to start or to cancel. */
  executions?: readonly string[];
  /** Step executions whose wait was claimed by an event. */
  waits?: readonly string[];
  /** Projects with mail to deliver. */
  deliveries?: readonly string[];
  /** Runs to start, or to tell that their rows have changed. */
  runs?: readonly string[];
}

/**
 * Tells Temporal what was committed, without making the caller wait. What it cannot tell (the
 * server is away, this process dies) the sweep tells later: the rows say what is due.
 */
export interface Dispatcher {
  dispatch(due: DueWork): void;
  /** Starts one execution now. Returns the id of its run, or null when Temporal does not answer. */
  startNow(executionId: string): Promise<string | null>;
  /** Ends when everything handed over so far was told or given up. */
  close(): Promise<void>;
}
