import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import type { DueCancel, DueStart, StartedRun } from '../../domain/workflow/execution.ts';
import type { Dispatcher, OutboxEntry } from '../../domain/runs.ts';
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
  listStarts(executionIds: readonly string[]): Promise<DueStart[]>;
  listCancels(executionIds: readonly string[]): Promise<DueCancel[]>;
  listClaimedWaits(
    stepExecutionIds: readonly string[],
  ): Promise<{ executionId: string; stepId: string }[]>;
  markStarted(started: readonly StartedRun[]): Promise<void>;
  markCancelled(told: DueCancel): Promise<void>;
  listPending(runIds: readonly string[]): Promise<OutboxEntry[]>;
  markSent(told: readonly OutboxEntry[]): Promise<void>;
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
/** Ids that may wait in memory. Beyond that the sweep is quicker. */
const queueMax = 20_000;
/**
 * Signals for one project within this time become one, in milliseconds. It doubles while mail keeps
 * coming: a delivery is running already then, and a signal costs as much as a mail.
 */
const signalGapMs = 25;
const signalGapMaxMs = 400;
/** Rows read at once. */
const pageSize = 50;

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const executions = new Set<string>();
  const waits = new Set<string>();
  const runs = new Set<string>();
  const deliveries = createDeliverySignals(options);
  const waiting = () => executions.size + waits.size + runs.size;
  let busy: Promise<void> | null = null;

  async function drain(): Promise<void> {
    // Let other callers of the same tick add their ids: one read serves them all.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting() > 0) {
      await startAndCancel(options, take(executions));
      await signalWaits(options, take(waits));
      await signalRuns(options, take(runs));
    }
  }

  function work(): void {
    busy ??= drain()
      .catch((error: unknown) => {
        executions.clear();
        waits.clear();
        runs.clear();
        options.log.warn({ error }, 'Temporal could not be reached; the sweep will dispatch');
      })
      .finally(() => {
        busy = null;
        if (waiting() > 0) work();
      });
  }

  return {
    dispatch(due) {
      for (const projectId of due.deliveries ?? []) deliveries.signal(projectId);
      if (waiting() > queueMax) return;
      for (const id of due.executions ?? []) executions.add(id);
      for (const id of due.waits ?? []) waits.add(id);
      for (const id of due.runs ?? []) runs.add(id);
      if (waiting() > 0) work();
    },
    async startNow(executionId) {
      const [due] = await options.store.listStarts([executionId]);
      if (!due) return null;
      try {
        const started = await startRun(options, { ...due, isAwaited: true });
        await options.store.markStarted([started]);
        return started.runId;
      } catch (error) {
        options.log.warn(
          { error, executionId },
          'Temporal could not be reached; the sweep will dispatch',
        );
        return null;
      }
    },
    async close() {
      while (busy) await busy;
      await deliveries.close();
    },
  };
}

async function startAndCancel(options: DispatcherOptions, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const { client, store } = options;
  const [starts, cancels] = await Promise.all([store.listStarts(ids), store.listCancels(ids)]);
  const started: StartedRun[] = [];
  try {
    await inParallel(options, [
      ...starts.map((due) => async () => void started.push(await startRun(options, due))),
      ...cancels.map((due) => async () => {
        await withDeadline(client, () => cancelExecution(client, due.executionId));
        await store.markCancelled(due);
      }),
    ]);
  } finally {
    if (started.length > 0) await store.markStarted(started);
  }
}

async function startRun(
  { client, taskQueue }: DispatcherOptions,
  due: DueStart & { isAwaited?: boolean },
): Promise<StartedRun> {
  const runId = await withDeadline(client, () => startExecution(client, taskQueue, due));
  return { executionId: due.start.executionId, generation: due.generation, runId };
}

async function signalWaits(options: DispatcherOptions, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const { client, store } = options;
  const waits = await store.listClaimedWaits(ids);
  await inParallel(
    options,
    waits.map(
      (wait) => () =>
        withDeadline(client, () => signalExecution(client, wait.executionId, wait.stepId)),
    ),
  );
}

async function signalRuns(options: DispatcherOptions, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const { client, taskQueue, store } = options;
  const entries = await store.listPending(ids);
  const told: OutboxEntry[] = [];
  try {
    await inParallel(
      options,
      entries.map((entry) => async () => {
        await withDeadline(client, () => signalRun(client, taskQueue, entry));
        told.push(entry);
      }),
    );
  } finally {
    if (told.length > 0) await store.markSent(told);
  }
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

function take(ids: Set<string>): string[] {
  const page = [...ids].slice(0, pageSize);
  for (const id of page) ids.delete(id);
  return page;
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
