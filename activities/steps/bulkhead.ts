/**
 * Shares the slots of one worker process between projects, so that the slow calls of one do not
 * take them all: a bulkhead. What is refused a slot is given back to Temporal, to be tried again
 * when its turn is likely to have come.
 */
export interface Bulkhead {
  /**
   * Takes a slot for a project: answers what gives it back, or after how many milliseconds to ask
   * again.
   */
  enter(projectId: string): { leave(): void } | { retryMs: number };
}

/** How long a call may be expected to take before one of the project's has ended. */
const firstGuessMs = 1_000;
/** How much the last call counts in what the next is expected to take. */
const lastCounts = 0.2;
/** Bounds of the pause before the next try: a turn may come sooner or later than expected. */
const retryMinMs = 500;
const retryMaxMs = 60_000;

/** What a project has of the slots. */
interface Share {
  taken: number;
  /** The sum of the moments they were taken. */
  since: number;
  /** How long its last calls have taken, the latest counting most. */
  callMs: number;
  /** When the turn of the last one in its line comes. */
  turnAt: number;
}

/** A call that is under way for long is expected to take as long again: it may hang. */
function expectedMs({ taken, since, callMs }: Share, now: number): number {
  return Math.max(callMs, 2 * (now - since / taken));
}

/**
 * A project gets a slot while it has fewer than are free (the dynamic thresholds of shared packet
 * buffers; Choudhury and Hahne, 1998): alone it has half of them, beside another that hangs a
 * third, and some are always free for the next. Who is refused is put in a line for as long as
 * those before it are expected to take, so that a long line asks no more often than it moves.
 * @param slots that are shared, all together.
 * @param now a clock, in milliseconds.
 */
export function createBulkhead(slots: number, now: () => number = Date.now): Bulkhead {
  /** Only projects that have a slot: as many as there are slots at most. */
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
