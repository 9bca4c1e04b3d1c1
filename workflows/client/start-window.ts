import type { RunNotice } from '../../domain/runs/runs.ts';
import type { OpenStart } from '../../domain/runs/execution.ts';

/**
 * Maximum number of starts of one process that no worker has begun. More would not begin sooner:
 * they would wait in the queues of Temporal and delay the steps of other executions.
 */
const startsMax = 32;
/**
 * Milliseconds after which a start no longer counts, because the workers seem to be unavailable.
 */
const startMs = 10_000;

/** Limits the starts that wait for a worker. Further starts wait in the outbox. */
export interface StartWindow {
  /** Returns true if one more start of this project may be sent, and counts it. */
  open(run: RunNotice): boolean;
  /** Records which of `runIds` were started (`starts`). The others no longer count. */
  sent(runIds: readonly string[], starts: ReadonlyMap<string, OpenStart>): void;
  /** Asks which starts the workers have begun. These no longer count. */
  look(): Promise<void>;
}

/** @param listUnbegun returns the starts that no worker has begun */
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
      // The rule of `createBulkhead`: a single project gets half, so there is room for the next
      // one.
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
