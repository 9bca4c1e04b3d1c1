import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { ClockOffset } from './clock-offset.ts';
import { type CounterName, declaredMetrics, type GaugeName } from './declared.ts';

/** Bucket bounds of request durations, in seconds. */
const requestBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** Milliseconds for which later scrapes reuse a reading. */
const readAgainMs = 5_000;
/** Maximum number of milliseconds that a scrape waits for a reading. */
const readingMs = 4_000;

/** A gauge whose value is read when Prometheus scrapes. */
export interface Reading {
  name: GaugeName;
  labels?: Record<string, string>;
  value: number;
}

/**
 * The metrics of a process, for Prometheus. Units are seconds and bytes, and label values never
 * contain data of tenants. Counting costs about a microsecond and always happens; all other work
 * happens only during a scrape.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #refreshers: (() => Promise<void>)[] = [];
  readonly #counters = new Map<string, Counter>();
  readonly #durations: Histogram;
  /** Compares the clock of this machine with that of Temporal. */
  readonly temporalClock = new ClockOffset();

  constructor() {
    for (const [name, { type }] of Object.entries(declaredMetrics)) {
      if (type === 'counter') this.#counters.set(name, new Counter(this.#declaration(name)));
    }
    this.#durations = new Histogram({
      ...this.#declaration('http_request_duration_seconds'),
      buckets: requestBounds,
    });
  }

  #declaration(name: string) {
    const { help = '', labels = [] } = declaredMetrics[name] ?? {};
    return { name: `everpost_${name}`, help, labelNames: labels, registers: [this.registry] };
  }

  #gauge(name: GaugeName): Gauge {
    const declaration = this.#declaration(name);
    const known = this.registry.getSingleMetric(declaration.name);
    return (known as Gauge | undefined) ?? new Gauge(declaration);
  }

  #count(name: CounterName, labels: Record<string, string> = {}, count = 1): void {
    this.#counters.get(name)?.inc(labels, count);
  }

  /** Counts a request. `route`: the declared pattern, such as `/contacts/{id}`. */
  countRequest(request: { method: string; route: string; status: number; seconds: number }): void {
    const { method, route, status, seconds } = request;
    this.#count('http_requests_total', { method, route, status: String(status) });
    this.#durations.observe({ method, route }, seconds);
  }

  /**
   * Counts outcomes of messages. `provider`: the name that the mailer has, which begins with its
   * kind.
   */
  countOutcomes(provider: string, outcomes: readonly { kind: string }[]): void {
    const [kind = ''] = provider.split(' ');
    for (const outcome of outcomes) {
      this.#count('email_outcomes_total', { provider: kind, outcome: outcome.kind });
    }
  }

  /** Counts messages of a dead worker that are due again. */
  countReturned(count: number): void {
    this.#count('email_returned_total', {}, count);
  }

  countActivity(queue: string, result: 'completed' | 'failed' | 'cancelled'): void {
    this.#count('activities_total', { queue, result });
  }

  countExecutionFailure(): void {
    this.#count('executions_failed_total');
  }

  countWorkflowTaskFailure(): void {
    this.#count('workflow_task_failures_total');
  }

  countJournalFailure(): void {
    this.#count('journal_failures_total');
  }

  countUnloggedRequests(count: number): void {
    this.#count('request_log_dropped_total', {}, count);
  }

  countSweep(): void {
    this.#count('sweep_runs_total');
  }

  countSweepFailure(task: string): void {
    this.#count('sweep_task_failures_total', { task });
  }

  /**
   * Adds gauges that `read` returns for a scrape. If `read` fails, the gauges are missing.
   * @param options.up a gauge that is 1 when `read` succeeded, otherwise 0
   * @param options.everyMs milliseconds for which later scrapes reuse the values
   */
  addReadings(
    read: () => readonly Reading[] | Promise<readonly Reading[]>,
    { up, everyMs = readAgainMs }: { up?: GaugeName; everyMs?: number } = {},
  ): void {
    const isUp = up && this.#gauge(up);
    let known: { gauge: Gauge; labels: Record<string, string> }[] = [];
    let readAt = -Infinity;
    let refreshed = Promise.resolve();
    const refresh = async () => {
      const readings = await withinTime(Promise.resolve().then(read)).catch(() => null);
      isUp?.set(readings ? 1 : 0);
      if (!readings) readAt = performance.now() - everyMs + readAgainMs;
      for (const { gauge, labels } of known) gauge.remove(labels);
      known = (readings ?? []).map(({ name, labels = {}, value }) => {
        const gauge = this.#gauge(name);
        gauge.set(labels, value);
        return { gauge, labels };
      });
    };
    this.#refreshers.push(() => {
      if (performance.now() - readAt < everyMs) return refreshed;
      readAt = performance.now();
      return (refreshed = refresh());
    });
  }

  /**
   * Returns all metrics in Prometheus's text format.
   * @param more returns the metrics of another source, which are appended
   */
  async text(more?: () => Promise<string>): Promise<string> {
    const others = more ? withinTime(more()).catch(() => '') : '';
    await Promise.all(this.#refreshers.map((refresh) => refresh()));
    return `${await this.registry.metrics()}${await others}`;
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
