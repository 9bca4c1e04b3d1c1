import { limits } from '../../domain/limits.ts';

/**
 * All metrics that Everpost itself declares. Names begin with `everpost_`, which is left out here.
 */

interface Declared {
  type: 'counter' | 'gauge' | 'histogram';
  /**
   * The processes that have the metric. `all`: each process returns the same value, which is about
   * the whole installation.
   */
  of: 'api' | 'worker' | 'each' | 'all';
  /** The description, on one line. */
  help: string;
  labels?: readonly string[];
}

const counted = (what: string) => `${what}; counted up to ${limits.countedForMetrics}.`;

const counters = {
  http_requests_total: {
    type: 'counter',
    of: 'api',
    help: 'Requests, by route and status.',
    labels: ['method', 'route', 'status'],
  },
  request_log_dropped_total: {
    type: 'counter',
    of: 'api',
    help: 'Requests that are missing in the request log, because the database was too slow or not available.',
  },
  email_outcomes_total: {
    type: 'counter',
    of: 'worker',
    help: 'Attempts to send a message, by provider and outcome.',
    labels: ['provider', 'outcome'],
  },
  email_returned_total: {
    type: 'counter',
    of: 'worker',
    help: 'Messages that a dead worker had claimed and not begun to send, and that are due again.',
  },
  activities_total: {
    type: 'counter',
    of: 'worker',
    help: 'Attempts of activities that have ended, by task queue and result.',
    labels: ['queue', 'result'],
  },
  executions_failed_total: {
    type: 'counter',
    of: 'worker',
    help: 'Executions that failed because a step failed for good.',
  },
  workflow_task_failures_total: {
    type: 'counter',
    of: 'worker',
    help: 'Workflow tasks that failed: an error in the workflow code, or a change that open runs cannot replay.',
  },
  sweep_runs_total: {
    type: 'counter',
    of: 'worker',
    help: 'Sweeps that began in this process.',
  },
  sweep_task_failures_total: {
    type: 'counter',
    of: 'worker',
    help: 'Failed attempts of the tasks of the sweep, by task.',
    labels: ['task'],
  },
  journal_failures_total: {
    type: 'counter',
    of: 'worker',
    help: 'Lines of the journal that could not be written.',
  },
} as const satisfies Record<string, Declared>;

const gauges = {
  build_info: {
    type: 'gauge',
    of: 'each',
    help: '1; the labels are the versions of Everpost and Node.js.',
    labels: ['version', 'node'],
  },
  config_deprecated: {
    type: 'gauge',
    of: 'each',
    help: 'Settings in use that a later version will not read.',
  },
  email_due: {
    type: 'gauge',
    of: 'all',
    help: counted('Messages that are due and not sent yet'),
  },
  email_due_age_seconds: {
    type: 'gauge',
    of: 'all',
    help: 'How long the oldest message of email_due has been due, in seconds.',
  },
  email_held: {
    type: 'gauge',
    of: 'all',
    help: counted('Messages that a rule holds back, by its reason'),
    labels: ['reason'],
  },
  email_unknown: {
    type: 'gauge',
    of: 'all',
    help: counted('Messages that may have been sent: their outcome is unknown'),
  },
  provider_circuits_open: {
    type: 'gauge',
    of: 'all',
    help: 'Mail providers to which no mail is sent now, because they fail (circuit breaker).',
  },
  outbox_entries: {
    type: 'gauge',
    of: 'all',
    help: counted('Signals and starts still to be sent to Temporal'),
  },
  outbox_age_seconds: {
    type: 'gauge',
    of: 'all',
    help: 'How long the oldest of outbox_entries has waited, in seconds.',
  },
  executions_stuck: {
    type: 'gauge',
    of: 'all',
    help: counted('Executions whose run in Temporal cannot continue'),
  },
  executions_stuck_age_seconds: {
    type: 'gauge',
    of: 'all',
    help: 'How long the oldest of executions_stuck has been stuck, in seconds.',
  },
  workers_live: {
    type: 'gauge',
    of: 'all',
    help: 'Worker processes that were seen within the last 20 seconds.',
  },
  sweep_age_seconds: {
    type: 'gauge',
    of: 'all',
    help: 'Seconds since the newest sweep began; missing before the first one.',
  },
  restores_open: {
    type: 'gauge',
    of: 'all',
    help: 'Restores of PostgreSQL or Temporal whose repair is at work, or for which an operator must decide.',
  },
  database_bytes: {
    type: 'gauge',
    of: 'all',
    help: 'Size of the database on its disk, read once an hour.',
  },
  table_bytes: {
    type: 'gauge',
    of: 'all',
    help: 'Sizes of the 30 largest tables with their indexes, read once an hour.',
    labels: ['table'],
  },
  queue_tasks: {
    type: 'gauge',
    of: 'all',
    help: 'Approximate number of tasks that wait for a worker.',
    labels: ['queue', 'kind'],
  },
  queue_age_seconds: {
    type: 'gauge',
    of: 'all',
    help: 'How long the oldest task has waited for a worker, in seconds.',
    labels: ['queue', 'kind'],
  },
  queue_workers: {
    type: 'gauge',
    of: 'all',
    help: 'Workers that poll for tasks.',
    labels: ['queue', 'kind'],
  },
  temporal_retention_seconds: {
    type: 'gauge',
    of: 'all',
    help: 'How long Temporal keeps the histories of ended runs, in seconds.',
  },
  database_connections: {
    type: 'gauge',
    of: 'each',
    help: 'Database connections of the process, by state: used, idle; waiting: requests without one.',
    labels: ['state'],
  },
  database_connections_max: {
    type: 'gauge',
    of: 'each',
    help: 'Maximum number of database connections of the process: DATABASE_POOL_MAX.',
  },
  disk_free_bytes: {
    type: 'gauge',
    of: 'each',
    help: 'Free space on the disk of a folder: data, uploads or journal. Missing without the folder.',
    labels: ['for'],
  },
  disk_total_bytes: {
    type: 'gauge',
    of: 'each',
    help: 'Size of the disk of a folder: data, uploads or journal. Missing without the folder.',
    labels: ['for'],
  },
  clock_offset_seconds: {
    type: 'gauge',
    of: 'each',
    help: 'How far the clock of this machine is ahead of the clock of a server: database or temporal.',
    labels: ['to'],
  },
  database_up: {
    type: 'gauge',
    of: 'each',
    help: '1 if the database could be read just now; otherwise its metrics are missing.',
  },
  temporal_up: {
    type: 'gauge',
    of: 'each',
    help: '1 if Temporal could be read just now; otherwise its metrics are missing.',
  },
} as const satisfies Record<string, Declared>;

const histograms = {
  http_request_duration_seconds: {
    type: 'histogram',
    of: 'api',
    help: 'Time from the headers of a request to its response.',
    labels: ['method', 'route'],
  },
} as const satisfies Record<string, Declared>;

export const declaredMetrics: Readonly<Record<string, Declared>> = {
  ...counters,
  ...gauges,
  ...histograms,
};

export type CounterName = keyof typeof counters;
export type GaugeName = keyof typeof gauges;
