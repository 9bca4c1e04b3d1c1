import { once } from 'node:events';
import { createServer } from 'node:http';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { listen } from './listening.ts';

/** Bucket bounds of request durations, in seconds. */
const requestBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** Milliseconds for which later scrapes reuse a reading. */
const readAgainMs = 5_000;
/** Maximum number of milliseconds that a scrape waits for a reading. */
const readingMs = 4_000;
/** Milliseconds between two measurements of the event loop's delay, while metrics are served. */
const eventLoopMs = 100;

/** A gauge whose value is read when Prometheus scrapes. */
export interface Reading {
  name: string;
  /** The description of the gauge, on one line. */
  help: string;
  labels?: Record<string, string>;
  value: number;
}

/**
 * The counters of a process, for Prometheus. Names begin with `everpost_`, units are seconds and
 * bytes, and counters end in `_total`. Label values never contain data of tenants. Counting costs
 * about a microsecond and always happens; all other work happens only during a scrape.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #refreshers: (() => Promise<void>)[] = [];
  readonly #requests = this.#counter('http_requests_total', 'Requests, by route and status.', [
    'method',
    'route',
    'status',
  ]);
  readonly #durations = new Histogram({
    name: 'everpost_http_request_duration_seconds',
    help: 'Time from the headers of a request to its response.',
    labelNames: ['method', 'route'],
    buckets: requestBounds,
    registers: [this.#registry],
  });
  readonly #outcomes = this.#counter(
    'email_outcomes_total',
    'Attempts to send a message, by provider and outcome.',
    ['provider', 'outcome'],
  );
  readonly #activities = this.#counter(
    'activities_total',
    'Attempts of activities that have ended, by task queue and result.',
    ['queue', 'result'],
  );
  readonly #executionFailures = this.#counter(
    'executions_failed_total',
    'Executions that failed because a step failed for good.',
    [],
  );
  readonly #workflowTaskFailures = this.#counter(
    'workflow_task_failures_total',
    'Workflow tasks that failed: an error in the workflow code, or a change that open runs cannot replay.',
    [],
  );
  readonly #sweeps = this.#counter('sweep_runs_total', 'Sweeps that began in this process.', []);
  readonly #sweepFailures = this.#counter(
    'sweep_task_failures_total',
    'Failed attempts of the tasks of the sweep, by task.',
    ['task'],
  );

  readonly #journalFailures = this.#counter(
    'journal_failures_total',
    'Lines of the journal that could not be written.',
    [],
  );

  readonly #unloggedRequests = this.#counter(
    'request_log_dropped_total',
    'Requests that are missing in the request log, because the database was too slow or not available.',
    [],
  );

  #counter<T extends string>(name: string, help: string, labelNames: T[]): Counter<T> {
    return new Counter({ name: `everpost_${name}`, help, labelNames, registers: [this.#registry] });
  }

  /** `route`: the declared pattern, such as `/contacts/{id}`. */
  countRequest(request: { method: string; route: string; status: number; seconds: number }): void {
    const { method, route, status, seconds } = request;
    this.#requests.inc({ method, route, status: String(status) });
    this.#durations.observe({ method, route }, seconds);
  }

  /** `provider`: the name that the mailer has, which begins with its kind. */
  countOutcomes(provider: string, outcomes: readonly { kind: string }[]): void {
    const [kind = ''] = provider.split(' ');
    for (const outcome of outcomes) this.#outcomes.inc({ provider: kind, outcome: outcome.kind });
  }

  countActivity(queue: string, result: 'completed' | 'failed' | 'cancelled'): void {
    this.#activities.inc({ queue, result });
  }

  countExecutionFailure(): void {
    this.#executionFailures.inc();
  }

  countWorkflowTaskFailure(): void {
    this.#workflowTaskFailures.inc();
  }

  countJournalFailure(): void {
    this.#journalFailures.inc();
  }

  countUnloggedRequests(count: number): void {
    this.#unloggedRequests.inc(count);
  }

  countSweep(): void {
    this.#sweeps.inc();
  }

  countSweepFailure(task: string): void {
    this.#sweepFailures.inc({ task });
  }

  /**
   * Adds gauges that `read` returns for a scrape, at most every 5 seconds. If `read` fails, the
   * gauges are missing, and `everpost_<source>_up` is 0.
   */
  addReadings(source: string, read: () => readonly Reading[] | Promise<readonly Reading[]>): void {
    const known = new Set<string>();
    const up = new Gauge({
      name: `everpost_${source}_up`,
      help: '1 if the source could be read just now; otherwise its metrics are missing.',
      registers: [this.#registry],
    });
    let readAt = -Infinity;
    let refreshed = Promise.resolve();
    const refresh = async () => {
      const readings = await withinTime(Promise.resolve().then(read)).catch(() => null);
      up.set(readings ? 1 : 0);
      for (const name of known) this.#registry.removeSingleMetric(name);
      for (const { name, help, labels = {}, value } of readings ?? []) {
        const full = `everpost_${name}`;
        known.add(full);
        const labelNames = Object.keys(labels);
        const gauge =
          (this.#registry.getSingleMetric(full) as Gauge | undefined) ??
          new Gauge({ name: full, help, labelNames, registers: [this.#registry] });
        gauge.set(labels, value);
      }
    };
    this.#refreshers.push(() => {
      if (performance.now() - readAt < readAgainMs) return refreshed;
      readAt = performance.now();
      return (refreshed = refresh());
    });
  }

  /**
   * Serves `GET /metrics` on this port of 127.0.0.1, with the metrics of Node.js.
   * @param more returns the metrics of another source, which are appended
   * @throws Error with a sentence for the operator when the port is not available
   */
  async serve(port: number, more?: () => Promise<string>): Promise<{ close(): Promise<void> }> {
    collectDefaultMetrics({
      register: this.#registry,
      prefix: 'everpost_',
      eventLoopMonitoringPrecision: eventLoopMs,
    });
    const answer = async () => {
      const others = more ? withinTime(more()).catch(() => '') : '';
      await Promise.all(this.#refreshers.map((refresh) => refresh()));
      return `${await this.#registry.metrics()}${await others}`;
    };
    const server = createServer((request, response) => {
      if (request.method !== 'GET' || request.url !== '/metrics') {
        response.writeHead(404).end();
        return;
      }
      answer().then(
        (text) => response.writeHead(200, { 'Content-Type': this.#registry.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
    });
    await listen(server, { name: 'METRICS_PORT', port, host: '127.0.0.1' });
    return {
      async close() {
        const closed = once(server, 'close');
        server.close();
        server.closeAllConnections();
        await closed;
      },
    };
  }
}

async function withinTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('Reading the source took too long.')), readingMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
