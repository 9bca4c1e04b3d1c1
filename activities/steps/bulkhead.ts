/**
 * A bulkhead: shares the slots of one worker process between projects, so that slow calls of one
 * project do not take them all. A call that gets no slot goes back to Temporal, to be retried when
 * its turn is likely to have come.
 */
export interface Bulkhead {
  /** Takes a slot for a project. Returns how to release it, or in how many ms to ask again. */
  enter(projectId: string): { leave(): void } | { retryMs: number };
}

/** How long a project's first call is expected to take. */
const firstGuessMs = 1_000;
/** Weight of the last call in the moving average. */
const lastCounts = 0.2;
/** Bounds of the pause before the next try: the turn may come sooner or later than expected. */
const retryMinMs = 500;
const retryMaxMs = 60_000;

/** A project's share of the slots. */
interface Share {
  taken: number;
  /** The sum of the times at which they were taken. */
  since: number;
  /** Moving average of the duration of its calls. */
  callMs: number;
  /** When the last waiting call of this project is expected to get its turn. */
  turnAt: number;
}

/** A call that has run for long is expected to take as long again: it may hang. */
function expectedMs({ taken, since, callMs }: Share, now: number): number {
  return Math.max(callMs, 2 * (now - since / taken));
}

/**
 * A project gets a slot while it has fewer than are free (the dynamic thresholds of shared packet
 * buffers; Choudhury and Hahne, 1998). Alone it gets half of them, beside another project that
 * hangs a third, and some are always free for the next one. A call that gets none waits for as long
 * as the calls before it are expected to take. So a long queue does not ask more often than it
 * moves.
 * @param slots the number of shared slots.
 * @param now a clock, in milliseconds.
 */
export function createBulkhead(slots: number, now: () => number = Date.now): Bulkhead {
  /** Only projects that hold a slot, so never more than there are slots. */
  const projects = new Map<string, Share>();
  let free = slots;

  return {
    enter(projectId) {
      const at = now();
      const project = projects.get(projectId);
      if ((project?.taken ?? 0) >= free) {
        if (!project) return { retryMs: retryMinMs };
        const turnAt = Math.max(project.turnAt, at) + expectedMs(project, at) / project.taken;
        project.turnAt = Math.min(turnAt, at + retryMaxMs);
        return { retryMs: Math.max(retryMinMs, Math.round(project.turnAt - at)) };
      }
      const entered = project ?? { taken: 0, since: 0, callMs: firstGuessMs, turnAt: 0 };
      entered.taken += 1;
      entered.since += at;
      free -= 1;
      projects.set(projectId, entered);
      return {
        leave() {
          entered.callMs += lastCounts * (now() - at - entered.callMs);
          entered.taken -= 1;
          entered.since -= at;
          free += 1;
          if (entered.taken === 0) projects.delete(projectId);
        },
      };
    },
  };
}
