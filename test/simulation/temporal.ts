import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  RetryState,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/common';
import type { Client } from '@temporalio/client';
import { context, type Process, type Scheduler } from './scheduler.ts';
import { seededUuid } from './globals.ts';

/**
 * Only the guarantees of Temporal: the state of a run survives every fault. An activity runs at
 * least once; it is retried if it fails or its worker dies, and its result may be lost. Signals and
 * starts are durable once they are answered, and may be durable if the answer was lost. Workflow
 * code runs unchanged, on the functions of `workflow-runtime.ts`.
 */

export type RunStatus = 'RUNNING' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'TERMINATED';

export interface Run {
  temporal: SimulatedTemporal;
  workflowId: string;
  runId: string;
  type: string;
  args: unknown[];
  taskQueue: string;
  memo: Record<string, unknown>;
  status: RunStatus;
  closedAt: number | null;
  cancelRequested: boolean;
  handlers: Map<string, (...args: unknown[]) => void>;
  /** Signals that came before their handler. */
  early: { name: string; args: unknown[] }[];
  waiters: Set<{ look(): void; cancel(): void }>;
  /** Functions that stop its activities. */
  stops: Set<() => void>;
  ended: Promise<void>;
}

/** Thrown by workflow code that continues as new. */
export class ContinuedAsNew extends Error {
  readonly args: unknown[];
  constructor(args: unknown[]) {
    super('Continues as new.');
    this.args = args;
  }
}

/** A worker process and what it can do. */
export interface SimulatedWorker {
  process: Process;
  activities: Record<string, (...args: never[]) => Promise<unknown>>;
}

export interface ActivityRules {
  retry?: { initialInterval?: unknown; maximumInterval?: unknown; maximumAttempts?: number };
  heartbeatTimeout?: unknown;
  startToCloseTimeout?: unknown;
  isLocal?: boolean;
}

type WorkflowCode = Record<string, (...args: never[]) => Promise<unknown>>;

/** How long until Temporal notices that a worker without heartbeats has died. */
const localTimeoutMs = 10_000;

export class SimulatedTemporal {
  readonly sim: Scheduler;
  readonly process: Process;
  readonly runs = new Map<string, Run>();
  readonly closed: Run[] = [];
  workers: SimulatedWorker[] = [];
  /** While true, every call fails. */
  isAway = false;
  readonly #code: WorkflowCode;

  constructor(sim: Scheduler, code: WorkflowCode) {
    this.sim = sim;
    this.process = sim.process('temporal');
    this.#code = code;
  }

  /** Starts a run at once. */
  start(given: Pick<Run, 'workflowId' | 'type' | 'args' | 'taskQueue' | 'memo'>): Run {
    const run: Run = {
      ...given,
      temporal: this,
      runId: seededUuid(this.sim.random),
      status: 'RUNNING',
      closedAt: null,
      cancelRequested: false,
      handlers: new Map(),
      early: [],
      waiters: new Set(),
      stops: new Set(),
      ended: Promise.resolve(),
    };
    this.runs.set(run.workflowId, run);
    run.ended = this.sim.in(this.process, () => this.#work(run), { run });
    return run;
  }

  async #work(run: Run): Promise<void> {
    const work = this.#code[run.type];
    if (!work) throw new Error(`No workflow ${run.type}.`);
    for (;;) {
      try {
        await this.sim.perform(`begins ${run.workflowId}`, () => {});
        await work(...(run.args as never[]));
        this.#close(run, 'COMPLETED');
      } catch (error) {
        if (error instanceof ContinuedAsNew) {
          run.args = error.args;
          run.handlers.clear();
          continue;
        }
        this.#close(run, isCancelled(error) ? 'CANCELLED' : 'FAILED');
      }
      return;
    }
  }

  #close(run: Run, status: RunStatus): void {
    if (run.status !== 'RUNNING') return;
    run.status = status;
    run.closedAt = this.sim.now;
    this.closed.push(run);
  }

  signal(run: Run, name: string, args: unknown[]): void {
    const handler = run.handlers.get(name);
    if (handler) handler(...args);
    else run.early.push({ name, args });
    for (const waiter of run.waiters) waiter.look();
  }

  cancel(run: Run): void {
    run.cancelRequested = true;
    for (const waiter of run.waiters) waiter.cancel();
    for (const stop of run.stops) stop();
  }

  /** Runs an activity of a run, and retries it until it ends. */
  async runActivity(run: Run, name: string, args: unknown[], rules: ActivityRules) {
    if (run.cancelRequested) throw new CancelledFailure('Cancelled.');
    const { initialInterval, maximumInterval, maximumAttempts = Infinity } = rules.retry ?? {};
    let pauseMs = durationMs(initialInterval) ?? 1_000;
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(run, name, args, rules);
      if ('value' in outcome) return outcome.value;
      const { error } = outcome;
      const isFinal = error instanceof ApplicationFailure && error.nonRetryable === true;
      if (isFinal || attempt >= maximumAttempts) {
        const cause = error as ApplicationFailure;
        throw new ActivityFailure(
          cause.message,
          name,
          name,
          RetryState.NON_RETRYABLE_FAILURE,
          'w',
          cause,
        );
      }
      if (run.cancelRequested) throw new CancelledFailure('Cancelled.');
      const asked = error instanceof ApplicationFailure ? durationMs(error.nextRetryDelay) : null;
      await this.sim.sleep(asked ?? pauseMs);
      pauseMs = Math.min(pauseMs * 2, durationMs(maximumInterval) ?? 60_000);
    }
  }

  async #attempt(run: Run, name: string, args: unknown[], rules: ActivityRules) {
    type Outcome = { value: unknown } | { error: unknown };
    let worker = this.#freeWorker(name);
    while (!worker) {
      await this.sim.sleep(500);
      worker = this.#freeWorker(name);
    }
    const { process, activities } = worker;
    const controller = new AbortController();
    const stop = () => controller.abort(new CancelledFailure('CANCELLED'));
    run.stops.add(stop);
    try {
      return await new Promise<Outcome>((resolve) => {
        const back = context.getStore()!;
        const answer = (outcome: Outcome) => context.run(back, () => resolve(outcome));
        const timeoutMs =
          durationMs(rules.heartbeatTimeout) ??
          (rules.isLocal ? localTimeoutMs : durationMs(rules.startToCloseTimeout)) ??
          60_000;
        const missed = () =>
          context.run(back, () => {
            this.sim.timer(timeoutMs, () => answer({ error: new Error('No word of its worker.') }));
          });
        process.onDeath.push(missed);
        // The stopped attempt continues later beside the next one.
        process.onStop.push((ms) => ms > timeoutMs && missed());
        const work = async () => {
          const outcome: Outcome = await activities[name]!(...(args as never[])).then(
            (value) => ({ value }),
            (error: unknown) => ({ error }),
          );
          // The worker reports the result to Temporal, and may die before or after.
          await this.sim.perform(
            `${'value' in outcome ? 'ended' : `failed (${String(outcome.error).slice(0, 80)})`} ${name}`,
            () => answer(outcome),
          );
        };
        void this.sim.in(process, work, { activity: { signal: controller.signal } });
      });
    } finally {
      run.stops.delete(stop);
    }
  }

  #freeWorker(name: string): SimulatedWorker | undefined {
    const able = this.workers.filter(
      ({ process, activities }) =>
        process.alive && process.stoppedUntil <= this.sim.now && activities[name] !== undefined,
    );
    return able.length > 0 ? this.sim.pick(able) : undefined;
  }

  /** The part of a client that the product uses: each call is an operation of its process. */
  client(): Client {
    const call = <T>(label: string, effect: () => T): Promise<T> =>
      this.sim.perform(label, () => {
        if (this.isAway) throw new Error('Temporal is away.');
        return effect();
      });
    const found = (workflowId: string, runId?: string): Run => {
      const run = this.runs.get(workflowId);
      if (!run || (runId !== undefined && run.runId !== runId)) {
        throw new WorkflowNotFoundError('Not found.', workflowId, runId);
      }
      return run;
    };
    const open = (workflowId: string, runId?: string): Run => {
      const run = found(workflowId, runId);
      if (run.status !== 'RUNNING') {
        throw new WorkflowNotFoundError('It has ended.', workflowId, runId);
      }
      return run;
    };
    type Options = {
      workflowId: string;
      args: unknown[];
      taskQueue: string;
      memo?: Record<string, unknown>;
      workflowIdReusePolicy?: string;
      signal?: string;
      signalArgs?: unknown[];
    };
    const begin = (type: string, options: Options) => this.start({ memo: {}, ...options, type });
    const workflow = {
      start: (type: string, options: Options) =>
        call(`start ${options.workflowId}`, () => {
          const earlier = this.runs.get(options.workflowId);
          const mayFollow =
            !earlier ||
            (earlier.status !== 'RUNNING' &&
              (options.workflowIdReusePolicy === 'ALLOW_DUPLICATE' ||
                (options.workflowIdReusePolicy === 'ALLOW_DUPLICATE_FAILED_ONLY' &&
                  earlier.status !== 'COMPLETED')));
          if (!mayFollow) {
            throw new WorkflowExecutionAlreadyStartedError('', options.workflowId, type);
          }
          return { firstExecutionRunId: begin(type, options).runId };
        }),
      signalWithStart: (type: string, options: Options) =>
        call(`signal ${options.workflowId}`, () => {
          const earlier = this.runs.get(options.workflowId);
          const run = earlier?.status === 'RUNNING' ? earlier : begin(type, options);
          this.signal(run, options.signal ?? '', options.signalArgs ?? []);
          return { signaledRunId: run.runId };
        }),
      getHandle: (workflowId: string, runId?: string) => ({
        signal: (name: string, ...args: unknown[]) =>
          call(`signal ${workflowId}`, () => this.signal(open(workflowId, runId), name, args)),
        cancel: () => call(`cancel ${workflowId}`, () => this.cancel(open(workflowId, runId))),
        describe: () =>
          call(`describe ${workflowId}`, () => {
            const run = found(workflowId, runId);
            return { ...run, status: { name: run.status } };
          }),
        result: async () => {
          await call(`result ${workflowId}`, () => found(workflowId, runId));
          await found(workflowId, runId).ended;
        },
      }),
    };
    const client = { workflow };
    return client as unknown as Client;
  }
}

const isCancelled = (error: unknown) =>
  error instanceof CancelledFailure ||
  (error instanceof ActivityFailure && error.cause instanceof CancelledFailure);

const units: Record<string, number> = { ms: 1, second: 1_000, minute: 60_000, hour: 3_600_000 };

/** A duration as Temporal's options take it, in milliseconds; null when there is none. */
export function durationMs(duration: unknown): number | null {
  if (duration === undefined || duration === null) return null;
  if (typeof duration === 'number') return duration;
  if (typeof duration !== 'string') throw new Error('Not a duration.');
  const [, count = '', unit = ''] = /^(\d+) (ms|second|minute|hour)s?$/.exec(duration) ?? [];
  const ms = Number(count) * (units[unit] ?? Number.NaN);
  if (Number.isNaN(ms)) throw new Error(`Not a duration: ${duration}`);
  return ms;
}
