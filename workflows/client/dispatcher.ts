import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import {
  type DueStart,
  type OpenStart,
  executionOfRun,
  executionRunId,
  projectOfDelivery,
  type StartedRun,
} from '../../domain/runs/execution.ts';
import {
  type Dispatcher,
  type RunNotice,
  type OutboxEntry,
  type SentEntry,
  subscriptionSummary,
} from '../../domain/runs/runs.ts';
import {
  cancelExecution,
  describeExecutionRun,
  startExecution,
  signalExecution,
  signalDelivery,
  signalRun,
} from './runs.ts';
import type { DispatchStore } from './dispatch-store.ts';
import { createFairQueue } from './fair-queue.ts';
import { createStartWindow, type StartWindow } from './start-window.ts';

export interface DispatcherOptions {
  client: Client;
  taskQueue: string;
  store: DispatchStore;
  log: { warn(details: object, message: string): void };
  /** Maximum number of concurrent calls to Temporal. */
  callsMax?: number;
}

/**
 * Default of `callsMax`. Further calls would wait in the Temporal server, where one project's
 * starts could delay the steps of all others.
 */
const callsMaxUsual = 8;
/**
 * Milliseconds in which several signals for one project are combined into one signal. While further
 * mail becomes due, the time doubles up to `signalGapMaxMs`. A delivery is already running then,
 * and a signal costs as much as a mail.
 */
const signalGapMs = 25;
const signalGapMaxMs = 400;
/** Minimum number of milliseconds between two signals to the run of an event subscription. */
const wakeGapMs = 1_000;
/** Maximum number of runs that are read and sent together. */
const pageSize = 50;
/** Milliseconds between two queries for the starts that workers have begun. */
const windowCheckMs = 50;
/**
 * Milliseconds between two searches for overdue outbox rows. Each search is one short query by
 * index.
 */
const watchEveryMs = 10_000;

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, log } = options;
  const window = createStartWindow((starts) => store.listUnbegun(starts));
  const starts = createSendQueue(options, { window, whenEmpty: claimMore });
  // Signals and other calls have a separate queue, so they never wait behind a large number of
  // starts.
  const others = createSendQueue(options, { whenEmpty: claimMore });
  const { client, taskQueue } = options;
  const deliveries = createSignals(options, { gapMs: signalGapMs, gapMaxMs: signalGapMaxMs });
  const subscriptions = createSignals(options, { gapMs: wakeGapMs, gapMaxMs: wakeGapMs });
  /** True if the outbox may have rows that this process has not read yet. */
  let isMore = false;
  let isClosing = false;
  let watching: NodeJS.Timeout | null = null;

  function dispatch(runs: readonly RunNotice[]): void {
    for (const run of runs) {
      const delivered = projectOfDelivery(run.runId);
      if (delivered !== null) {
        deliveries.signal(run.runId, () => signalDelivery(client, taskQueue, delivered));
      } else if (run.subscriptionId !== undefined) signalSubscription(run, run.subscriptionId);
      else if (!(run.isStart ? starts : others).add(run)) isMore = true;
    }
  }

  function signalSubscription({ runId, projectId }: RunNotice, subscriptionId: string): void {
    const input = { projectId: projectId ?? '', subscriptionId };
    const entry = {
      runId,
      projectId,
      kind: 'eventSubscription',
      input,
      summary: subscriptionSummary,
    } as const;
    subscriptions.signal(runId, () => signalRun(client, taskQueue, entry));
  }

  async function dispatchOverdue(): Promise<void> {
    const overdue = await store.claimOverdue();
    isMore ||= overdue.isMore;
    dispatch(overdue.runs);
  }

  async function look(): Promise<void> {
    await dispatchOverdue().catch((error: unknown) =>
      log.warn({ error }, 'The outbox could not be read'),
    );
  }

  function claimMore(): void {
    if (!isMore || isClosing) return;
    isMore = false;
    void look();
  }

  return {
    dispatch,
    dispatchOverdue,
    watch() {
      const watchOverdue = async () => {
        await look();
        if (watching) watching = setTimeout(watchOverdue, watchEveryMs);
      };
      // The moment is random, so that processes do not search at the same time.
      watching = setTimeout(watchOverdue, Math.random() * watchEveryMs);
    },
    async startNow(executionId) {
      const [entry] = await store.listPending([executionRunId(executionId)]);
      const [due] = await store.listStarts([executionId]);
      if (!due || entry?.action !== 'start') return null;
      try {
        const started = await startRun(options, { ...due, isAwaited: true });
        await store.markSent([{ entry, started }]);
        return started.runId;
      } catch (error) {
        log.warn(
          { error, executionId },
          'Temporal could not be reached; the outbox keeps what is due',
        );
        return null;
      }
    },
    async close() {
      isClosing = true;
      if (watching) clearTimeout(watching);
      watching = null;
      await Promise.all([starts, others, deliveries, subscriptions].map((queue) => queue.close()));
    },
  };
}

interface SendQueue {
  /** Adds a run to the queue. Returns false when the queue is full. */
  add(run: RunNotice): boolean;
  /** Resolves when all runs that may be sent now have been sent. */
  close(): Promise<void>;
}

/**
 * Sends runs page by page.
 * @param options.window limits the starts that wait for a worker
 * @param options.whenEmpty called when all runs were sent
 */
function createSendQueue(
  options: DispatcherOptions,
  { window, whenEmpty }: { window?: StartWindow; whenEmpty?: () => void } = {},
): SendQueue {
  const waiting = createFairQueue();
  let busy: Promise<void> | null = null;
  let isClosing = false;

  async function drain(): Promise<void> {
    // Waits for one turn of the event loop, so that runs of other callers are read together with
    // this run.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.size() > 0) {
      const runIds = waiting.take(pageSize, window?.open);
      if (runIds.length > 0) {
        await sendPage(options, runIds, window);
        continue;
      }
      if (isClosing) return waiting.clear();
      await new Promise((resolve) => setTimeout(resolve, windowCheckMs));
      await window?.look();
    }
    whenEmpty?.();
  }

  function work(): void {
    busy ??= drain()
      .catch((error: unknown) => {
        waiting.clear();
        options.log.warn({ error }, 'Temporal could not be reached; the outbox keeps what is due');
      })
      .finally(() => {
        busy = null;
        if (waiting.size() > 0) work();
      });
  }

  return {
    add(run) {
      const isIn = waiting.add(run);
      work();
      return isIn;
    },
    async close() {
      isClosing = true;
      while (busy) await busy;
    },
  };
}

/** Makes the Temporal calls that are due for a page of runs. @throws when no call succeeded */
async function sendPage(
  options: DispatcherOptions,
  runIds: readonly string[],
  window?: StartWindow,
): Promise<void> {
  const { store } = options;
  const sent: SentEntry[] = [];
  const open = new Map<string, OpenStart>();
  try {
    const entries = await store.listPending(runIds);
    const starting = entries.filter(({ action }) => action === 'start');
    const starts = await store.listStarts(starting.map(({ runId }) => executionOfRun(runId) ?? ''));
    const startOf = new Map(starts.map((due) => [due.start.executionId, due]));
    await inParallel(
      options,
      entries.map((entry) => async () => {
        const one = await send(options, entry, startOf);
        sent.push(one);
        const executionId = one.started?.executionId;
        const due = executionId && startOf.get(executionId);
        if (due) open.set(entry.runId, { executionId, updatedAt: due.updatedAt });
      }),
    );
  } finally {
    window?.sent(runIds, open);
    if (sent.length > 0) await store.markSent(sent);
  }
}

/** Makes the Temporal call for one entry of the outbox. */
async function send(
  options: DispatcherOptions,
  entry: OutboxEntry,
  startOf: ReadonlyMap<string, DueStart>,
): Promise<SentEntry> {
  const { client, taskQueue } = options;
  const executionId = executionOfRun(entry.runId);
  if (executionId === null) {
    await signalRun(client, taskQueue, entry);
    return { entry };
  }
  switch (entry.action) {
    case 'start': {
      const due = startOf.get(executionId);
      // No start is due: the execution or its workflow was deleted, so nothing is left to do.
      return due ? { entry, started: await startRun(options, due) } : { entry };
    }
    case 'signal': {
      const { stepId } = entry.input as { stepId?: string };
      if (await signalExecution(client, executionId, stepId)) return { entry };
      return startLost(options, entry, executionId);
    }
    case 'cancel':
      await cancelExecution(client, executionId);
      return { entry };
  }
}

/**
 * Starts the run of an active execution again, if Temporal has lost it. If the run exists and has
 * ended, the sweep handles it.
 */
async function startLost(
  options: DispatcherOptions,
  entry: OutboxEntry,
  executionId: string,
): Promise<SentEntry> {
  const run = await describeExecutionRun(options.client, executionId);
  const [due] = run.kind === 'missing' ? await options.store.listStarts([executionId]) : [];
  if (!due || due.hasEnded) return { entry };
  options.log.warn({ executionId }, 'The run of an execution was lost and starts again');
  return { entry, started: await startRun(options, due) };
}

async function startRun(
  { client, taskQueue }: DispatcherOptions,
  due: DueStart & { isAwaited?: boolean },
): Promise<StartedRun> {
  const runId = await startExecution(client, taskQueue, due);
  return { executionId: due.start.executionId, generation: due.generation, runId };
}

interface Signals {
  /**
   * Sends the signal for a key. If a signal for this key is being sent, sends another signal after
   * it.
   */
  signal(key: string, send: () => Promise<void>): void;
  close(): Promise<void>;
}

/**
 * Sends at most one signal per key at a time. The first signal is sent at once. Later signals are
 * combined and sent after a pause, which doubles from `gapMs` to `gapMaxMs` milliseconds.
 */
function createSignals(
  { log }: DispatcherOptions,
  { gapMs, gapMaxMs }: { gapMs: number; gapMaxMs: number },
): Signals {
  const signalling = new Map<string, { again: boolean; done: Promise<void> }>();

  async function signal(send: () => Promise<void>, state: { again: boolean }): Promise<void> {
    let pauseMs = gapMs;
    do {
      state.again = false;
      await send();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      pauseMs = Math.min(2 * pauseMs, gapMaxMs);
    } while (state.again);
  }

  return {
    signal(key, send) {
      const current = signalling.get(key);
      if (current) {
        current.again = true;
        return;
      }
      const state = { again: false, done: Promise.resolve() };
      signalling.set(key, state);
      state.done = signal(send, state)
        .catch((error: unknown) => {
          log.warn({ error, run: key }, 'A run could not be signalled; the sweep signals it later');
        })
        .finally(() => signalling.delete(key));
    },
    async close() {
      await Promise.all([...signalling.values()].map((state) => state.done));
    },
  };
}

/**
 * Makes all calls, `callsMax` at a time. A call that fails, for example because its run is too
 * large for Temporal, does not stop the other calls.
 * @throws the first error when no call succeeded, because then Temporal is unavailable
 */
async function inParallel(
  { log, callsMax = callsMaxUsual }: DispatcherOptions,
  calls: (() => Promise<void>)[],
): Promise<void> {
  const failures: unknown[] = [];
  await pLimit(callsMax).map(calls, (call) =>
    call().catch((error: unknown) => failures.push(error)),
  );
  const [error] = failures;
  if (failures.length === calls.length && error !== undefined) throw error;
  if (error !== undefined)
    log.warn({ error, failed: failures.length }, 'Some runs were not dispatched');
}
