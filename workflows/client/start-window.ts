import type { RunNotice } from '../../domain/runs/runs.ts';
import type { OpenStart } from '../../domain/runs/execution.ts';

/**
 * Maximum number of starts of this process that no worker has begun yet. Further starts would only
 * wait in Temporal's queues, and delay the steps of other executions.
 */
const startsMax = 32;
/**
 * Milliseconds after which an unbegun start no longer counts, because the workers seem to be
 * unavailable.
 */
const startMs = 10_000;

/** Limits the starts that wait for a worker. Further starts wait in the outbox. */
export interface StartWindow {
  /** Returns true if another start of this project may be sent, and counts the start. */
  open(run: RunNotice): boolean;
  /** Records which of `runIds` were started (`starts`). The other runs no longer count. */
  sent(runIds: readonly string[], starts: ReadonlyMap<string, OpenStart>): void;
  /** Stops counting starts that workers have begun, and starts that are too old. */
  look(): Promise<void>;
}

/**
 * Creates an empty window.
 * @param listUnbegun returns the starts that no worker has begun
 */
export function createStartWindow(
  listUnbegun: (starts: readonly OpenStart[]) => Promise<string[]>,
): StartWindow {
  const counted = new Map<string, { projectId: string | null; at: number; start?: OpenStart }>();
  const held = new Map<string | null, number>();

  function forget(runId: string): void {
    const run = counted.get(runId);
    if (!run) return;
    counted.delete(runId);
    const left = (held.get(run.projectId) ?? 0) - 1;
    if (left > 0) held.set(run.projectId, left);
    else held.delete(run.projectId);
  }

  return {
    open({ projectId, runId }) {
      // A single project gets half of the window, so that starts of the next project fit.
      const own = held.get(projectId) ?? 0;
      if (own + 1 > startsMax - counted.size) return false;
      counted.set(runId, { projectId, at: Date.now() });
      held.set(projectId, own + 1);
      return true;
    },
    sent(runIds, starts) {
      for (const runId of runIds) {
        const run = counted.get(runId);
        const start = starts.get(runId);
        if (run && start) run.start = start;
        else forget(runId);
      }
    },
    async look() {
      const sent = [...counted].flatMap(([runId, { at, start }]) =>
        start ? [{ runId, at, start }] : [],
      );
      const unbegun = new Set(await listUnbegun(sent.map(({ start }) => start)));
      for (const { runId, at, start } of sent) {
        if (!unbegun.has(start.executionId) || Date.now() - at > startMs) forget(runId);
      }
    },
  };
}
