/**
 * A bulkhead: shares the slots of one worker process between projects, so that slow calls of one
 * project do not take all slots. A call without a slot goes back to Temporal, which retries it when
 * a slot is likely to be free.
 */
export interface Bulkhead {
  /**
   * Takes a slot for a project. Returns the function that releases it, or the milliseconds after
   * which to try again.
   */
  enter(projectId: string): { leave(): void } | { retryMs: number };
}

/** Assumed duration of a project's first call, in milliseconds. */
const firstGuessMs = 1_000;
/** Weight of the last call in the moving average. */
const lastCounts = 0.2;
/**
 * Bounds, in milliseconds, of the pause before the next try, because the expected duration may be
 * wrong.
 */
const retryMinMs = 500;
const retryMaxMs = 60_000;

interface Share {
  taken: number;
  /** Sum of the times at which the project took its slots, in milliseconds since 1970. */
  since: number;
  /** Moving average of the duration of the project's calls, in milliseconds. */
  callMs: number;
  /** The time at which the project's last waiting call is expected to get a slot. */
  turnAt: number;
}

/**
 * Returns the expected duration of a project's calls. A call that has run long is expected to run
 * as long again, because it may hang.
 */
function expectedMs({ taken, since, callMs }: Share, now: number): number {
  return Math.max(callMs, 2 * (now - since / taken));
}

/**
 * Shares slots by dynamic thresholds (shared packet buffers; Choudhury and Hahne, 1998): a project
 * gets another slot while it holds fewer slots than are free. So a single project gets half of the
 * slots and two projects get a third each, and some slots are usually free for the next project.
 *
 * A call without a slot waits as long as the calls before it are expected to take. So the calls of
 * a long queue ask about as often as slots become free.
 * @param slots number of shared slots
 * @param now a clock, in milliseconds
 */
export function createBulkhead(slots: number, now: () => number = Date.now): Bulkhead {
  /** The projects that hold a slot, so at most `slots` entries. */
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
