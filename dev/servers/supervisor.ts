import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Command, end, launch, type Running } from './processes.ts';

/** A process to keep running. */
export interface Supervision extends Command {
  /** The name in messages: "PostgreSQL", "The API". */
  name: string;
  /**
   * True if the lines of the process are shown in the terminal, so that an error message need not
   * repeat them.
   */
  shown?: boolean;
  /** File with the process id, by which the next start finds a process that was left running. */
  pidFile?: string;
  /**
   * Resolves when the process is ready. `signal` is aborted when the process ends or is stopped.
   */
  ready(child: ChildProcess, signal: AbortSignal): Promise<void>;
  /** Receives one sentence when the process has died, with the time until it is restarted. */
  onNotice: (sentence: string) => void;
  /** Aborts the start. */
  signal?: AbortSignal;
}

export interface Supervised {
  /** Stops the process without a restart; resolves when it has ended. */
  stop: () => Promise<void>;
}

const readyWithinMs = 180_000;
const firstPauseMs = 500;
const longestPauseMs = 30_000;
/** Milliseconds after which a process counts as healthy, so that its next restart is fast again. */
const healthyAfterMs = 60_000;
const lastLinesMax = 6;

/**
 * Starts a process, waits until it is ready, and from then on restarts it whenever it dies, after
 * 0.5 s, 1 s, 2 s … 30 s.
 * @throws Error when the process dies at its first start, or is not ready within 3 minutes, because
 * retrying would not help. The process has then ended.
 */
export async function supervise(spec: Supervision): Promise<Supervised> {
  const lastLines: string[] = [];
  const command: Command = {
    ...spec,
    onLine(line) {
      if (line.trim() !== '') lastLines.push(line);
      if (lastLines.length > lastLinesMax) lastLines.shift();
      spec.onLine(line);
    },
  };
  spec.signal?.throwIfAborted();
  const first = await begin(spec, command);
  try {
    await firstReady(spec, first);
  } catch (error) {
    await end(first, spec.stopSignal);
    await forget(spec);
    if (spec.shown || lastLines.length === 0 || !(error instanceof Error)) throw error;
    throw new Error(`${error.message} Its last lines:\n  ${lastLines.join('\n  ')}`, {
      cause: error,
    });
  }
  return keep(spec, command, first);
}

/** Resolves when a child sends `{ ready: true }` over its message channel. */
export async function readyMessage(child: ChildProcess, signal: AbortSignal): Promise<void> {
  for (;;) {
    const [message]: unknown[] = await once(child, 'message', { signal });
    if (typeof message === 'object' && message && 'ready' in message && message.ready === true) {
      return;
    }
  }
}

/** Calls `ask` every 100 ms until it returns true. An error counts as false. */
export async function until(ask: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  while (!(await ask().catch(() => false))) {
    await sleep(100, undefined, { signal });
  }
}

async function begin(spec: Supervision, command: Command): Promise<Running> {
  const running = launch(command);
  if (spec.pidFile !== undefined) await writeFile(spec.pidFile, `${running.child.pid ?? ''}\n`);
  return running;
}

async function forget(spec: Supervision): Promise<void> {
  if (spec.pidFile !== undefined) await rm(spec.pidFile, { force: true });
}

async function firstReady(spec: Supervision, running: Running): Promise<void> {
  const over = new AbortController();
  const limit = AbortSignal.timeout(readyWithinMs);
  const signal = AbortSignal.any([over.signal, limit, ...(spec.signal ? [spec.signal] : [])]);
  try {
    await Promise.race([
      spec.ready(running.child, signal),
      running.ended.then((how) => {
        throw new Error(`${spec.name} ended before it was ready (${how}).`);
      }),
      once(signal, 'abort'),
    ]);
    spec.signal?.throwIfAborted();
    if (limit.aborted) {
      throw new Error(`${spec.name} was not ready within ${readyWithinMs / 1000} seconds.`);
    }
  } finally {
    over.abort();
  }
}

function keep(spec: Supervision, command: Command, first: Running): Supervised {
  const stopping = new AbortController();
  let running = first;
  const loop = async () => {
    let pauseMs = firstPauseMs;
    let startedAt = Date.now();
    for (;;) {
      const how = await running.ended;
      if (stopping.signal.aborted) return;
      if (Date.now() - startedAt >= healthyAfterMs) pauseMs = firstPauseMs;
      spec.onNotice(`${spec.name} ended (${how}); starting it again in ${pauseMs / 1000} s.`);
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      startedAt = Date.now();
      running = await begin(spec, command);
      // `stop` may have been called during the start.
      if (stopping.signal.aborted) await end(running, spec.stopSignal);
    }
  };
  const done = loop();
  return {
    async stop() {
      stopping.abort();
      await end(running, spec.stopSignal);
      await done;
      await forget(spec);
    },
  };
}
