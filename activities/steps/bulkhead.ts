/**
 * A bulkhead: it shares the slots of one worker process between projects, so that slow calls of one
 * project do not take them all. A call that gets no slot goes back to Temporal, and is retried when
 * a slot is likely to be free.
 */
export interface Bulkhead {
  /**
   * Takes a slot for a project. Returns a function that releases it, or the milliseconds after
   * which to ask again.
   */
  enter(projectId: string): { leave(): void } | { retryMs: number };
}

/** Expected duration of a project's first call, in milliseconds. */
const firstGuessMs = 1_000;
/** Weight of the last call in the moving average. */
const lastCounts = 0.2;
/**
 * Bounds in milliseconds of the pause before the next try, because the expectation may be wrong.
 */
const retryMinMs = 500;
const retryMaxMs = 60_000;

interface Share {
  taken: number;
  /** Sum of the times at which the slots were taken, in milliseconds since 1970. */
  since: number;
  /** Moving average of the duration of the project's calls, in milliseconds. */
  callMs: number;
  /** Time at which the last waiting call of this project is expected to get its turn. */
  turnAt: number;
}

/** A long-running call is expected to run as long again, because it may hang. */
function expectedMs({ taken, since, callMs }: Share, now: number): number {
  return Math.max(callMs, 2 * (now - since / taken));
}

/**
 * A project gets a slot while it holds fewer slots than are free (the dynamic thresholds of shared
 * packet buffers; Choudhury and Hahne, 1998). A single project gets half of them, two projects a
 * third each, and some are usually free for the next project. A call without a slot waits as long
 * as the calls before it are expected to take. So the calls of a long queue ask about as often as
 * slots become free.
 * @param slots the number of shared slots.
 * @param now a clock, in milliseconds.
 */
export function createBulkhead(slots: number, now: () => number = Date.now): Bulkhead {
  /** Only the projects that hold a slot, so there are at most `slots` entries. */
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
