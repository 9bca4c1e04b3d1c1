import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import {
  type DueStart,
  executionOfRun,
  executionRunId,
  projectOfDelivery,
  type StartedRun,
} from '../../domain/workflow/execution.ts';
import type { Dispatcher, OutboxEntry, SentEntry } from '../../domain/runs.ts';
import {
  cancelExecution,
  startExecution,
  signalExecution,
  signalDelivery,
  signalRun,
} from './runs.ts';
import { withDeadline } from './connection.ts';

/** What the dispatcher reads from and writes to the database. */
export interface DispatchStore {
  listPending(runIds: readonly string[]): Promise<OutboxEntry[]>;
  listStarts(executionIds: readonly string[]): Promise<DueStart[]>;
  markSent(sent: readonly SentEntry[]): Promise<void>;
  claimOverdue(max: number): Promise<{ runId: string; projectId: string | null }[]>;
}

export interface DispatcherOptions {
  client: Client;
  taskQueue: string;
  store: DispatchStore;
  log: { warn(details: object, message: string): void };
  /** Concurrent calls to Temporal. */
  callsMax?: number;
}

/**
 * Default for concurrent calls to Temporal. More would only queue inside the server, where the
 * starts of one project could delay the steps of all others.
 */
const callsMaxUsual = 8;
/** Runs that may wait in memory. Those beyond that are sent when they are overdue. */
const queueMax = 20_000;
/**
 * Signals for one project within this time become one, in milliseconds. It doubles while mail keeps
 * coming: a delivery is running already then, and a signal costs as much as a mail.
 */
const signalGapMs = 25;
const signalGapMaxMs = 400;
/** Rows read at once. */
const pageSize = 50;
/** Overdue rows claimed at once, and how many may wait in memory before more are claimed. */
const claimSize = 500;
/** Pause between two looks for overdue rows, in milliseconds: one short query by index. */
const watchEveryMs = 10_000;

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, log } = options;
  const waiting = createFairQueue();
  const deliveries = createDeliverySignals(options);
  /** Whether everything could be sent. */
  let busy: Promise<boolean> | null = null;
  let watching: NodeJS.Timeout | null = null;

  async function drain(): Promise<boolean> {
    // Let other callers of the same tick add theirs: one read serves them all.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.size() > 0) await sendPage(options, waiting.take(pageSize));
    return true;
  }

  function work(): void {
    busy ??= drain()
      .catch((error: unknown) => {
        waiting.clear();
        log.warn({ error }, 'Temporal could not be reached; the outbox keeps what is due');
        return false;
      })
      .finally(() => {
        busy = null;
        if (waiting.size() > 0) work();
      });
  }

  function handOn(runs: Parameters<Dispatcher['handOn']>[0]): void {
    for (const { runId, projectId } of runs) {
      const delivered = projectOfDelivery(runId);
      if (delivered !== null) deliveries.signal(delivered);
      else if (waiting.size() < queueMax) waiting.add(projectId ?? '', runId);
    }
    if (waiting.size() > 0) work();
  }

  async function handOnOverdue(): Promise<void> {
    // Memory is bounded here: what is not claimed waits in the outbox.
    while (waiting.size() < claimSize) {
      const overdue = await store.claimOverdue(claimSize);
      handOn(overdue);
      if (overdue.length < claimSize || (await busy) === false) return;
    }
  }

  return {
    handOn,
    handOnOverdue,
    watch() {
      const look = async () => {
        await handOnOverdue().catch((error: unknown) =>
          log.warn({ error }, 'The outbox could not be read'),
        );
        if (watching) watching = setTimeout(look, watchEveryMs);
      };
      // At another moment than the other processes.
      watching = setTimeout(look, Math.random() * watchEveryMs);
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
      if (watching) clearTimeout(watching);
      watching = null;
      while (busy) await busy;
      await deliveries.close();
    },
  };
}

/** Sends what is due for a page of runs. @throws when nothing could be sent. */
async function sendPage(options: DispatcherOptions, runIds: readonly string[]): Promise<void> {
  const { store } = options;
  const entries = await store.listPending(runIds);
  const starting = entries.filter(({ action }) => action === 'start');
  const starts = await store.listStarts(starting.map(({ runId }) => executionOfRun(runId) ?? ''));
  const startOf = new Map(starts.map((due) => [due.start.executionId, due]));
  const sent: SentEntry[] = [];
  try {
    await inParallel(
      options,
      entries.map((entry) => async () => {
        sent.push(await send(options, entry, startOf));
      }),
    );
  } finally {
    if (sent.length > 0) await store.markSent(sent);
  }
}

/** Tells Temporal what an entry says. */
async function send(
  options: DispatcherOptions,
  entry: OutboxEntry,
  startOf: ReadonlyMap<string, DueStart>,
): Promise<SentEntry> {
  const { client, taskQueue } = options;
  const executionId = executionOfRun(entry.runId);
  if (executionId === null) {
    await withDeadline(client, () => signalRun(client, taskQueue, entry));
    return { entry };
  }
  switch (entry.action) {
    case 'start': {
      const due = startOf.get(executionId);
      // Without a row, it was deleted: nothing is left to do.
      return due ? { entry, started: await startRun(options, due) } : { entry };
    }
    case 'signal': {
      const { stepId = '' } = entry.input as { stepId?: string };
      await withDeadline(client, () => signalExecution(client, executionId, stepId));
      return { entry };
    }
    case 'cancel':
      await withDeadline(client, () => cancelExecution(client, executionId));
      return { entry };
  }
}

async function startRun(
  { client, taskQueue }: DispatcherOptions,
  due: DueStart & { isAwaited?: boolean },
): Promise<StartedRun> {
  const runId = await withDeadline(client, () => startExecution(client, taskQueue, due));
  return { executionId: due.start.executionId, generation: due.generation, runId };
}

interface FairQueue {
  size(): number;
  add(projectId: string, runId: string): void;
  /** Takes up to `max` runs, from the projects in turn. */
  take(max: number): string[];
  clear(): void;
}

/** Runs by project, each once. */
function createFairQueue(): FairQueue {
  const projects = new Map<string, Set<string>>();
  let size = 0;
  return {
    size: () => size,
    add(projectId, runId) {
      const runs = projects.get(projectId) ?? new Set();
      projects.set(projectId, runs);
      if (!runs.has(runId)) size += 1;
      runs.add(runId);
    },
    take(max) {
      const taken: string[] = [];
      for (const [projectId, runs] of projects) {
        const [runId] = runs;
        if (runId === undefined || taken.length === max) break;
        runs.delete(runId);
        size -= 1;
        taken.push(runId);
        // To the end of the line, where this loop comes by again.
        projects.delete(projectId);
        if (runs.size > 0) projects.set(projectId, runs);
      }
      return taken;
    },
    clear() {
      projects.clear();
      size = 0;
    },
  };
}

interface DeliverySignals {
  signal(projectId: string): void;
  close(): Promise<void>;
}

/** At most one signal per project at a time: the first at once, later ones together. */
function createDeliverySignals({ client, taskQueue, log }: DispatcherOptions): DeliverySignals {
  const signalling = new Map<string, { again: boolean; done: Promise<void> }>();

  async function signal(projectId: string, state: { again: boolean }): Promise<void> {
    let gapMs = signalGapMs;
    do {
      state.again = false;
      await withDeadline(client, () => signalDelivery(client, taskQueue, projectId));
      await new Promise((resolve) => setTimeout(resolve, gapMs));
      gapMs = Math.min(2 * gapMs, signalGapMaxMs);
    } while (state.again);
  }

  return {
    signal(projectId) {
      const current = signalling.get(projectId);
      if (current) {
        current.again = true;
        return;
      }
      const state = { again: false, done: Promise.resolve() };
      signalling.set(projectId, state);
      state.done = signal(projectId, state)
        .catch((error: unknown) => {
          log.warn({ error, projectId }, 'A delivery run could not be signalled; the sweep will');
        })
        .finally(() => signalling.delete(projectId));
    },
    async close() {
      await Promise.all([...signalling.values()].map((state) => state.done));
    },
  };
}

/**
 * Runs all calls, `callsMax` at a time. A call that fails (a run too large for Temporal) does not
 * stop the others.
 * @throws the first error when none has succeeded: then Temporal is unavailable.
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
