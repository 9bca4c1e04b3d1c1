import type { RunNotice } from '../../domain/runs/runs.ts';

/**
 * Maximum number of runs in memory, of one project and of all projects. Further runs stay in the
 * outbox.
 */
const projectQueueMax = 1_000;
const queueMax = 20_000;

/** The runs that wait to be sent to Temporal, by project. Each run is in the queue at most once. */
export interface FairQueue {
  size(): number;
  /** Adds a run. Returns false when the queue is full. */
  add(run: RunNotice): boolean;
  /**
   * Takes up to `max` runs. Projects take turns, and a project for which `mayTake` returns false is
   * skipped.
   */
  take(max: number, mayTake?: (run: RunNotice) => boolean): string[];
  clear(): void;
}

export function createFairQueue(): FairQueue {
  const projects = new Map<string | null, Set<string>>();
  let size = 0;
  return {
    size: () => size,
    add({ projectId, runId }) {
      const runs = projects.get(projectId) ?? new Set();
      if (runs.has(runId)) return true;
      if (size >= queueMax || runs.size >= projectQueueMax) return false;
      projects.set(projectId, runs);
      runs.add(runId);
      size += 1;
      return true;
    },
    take(max, mayTake = () => true) {
      const taken: string[] = [];
      for (const [projectId, runs] of projects) {
        const [runId] = runs;
        if (runId === undefined || taken.length === max) break;
        if (!mayTake({ projectId, runId })) continue;
        runs.delete(runId);
        size -= 1;
        taken.push(runId);
        // Moves the project to the end of the map. This loop also visits entries that are added
        // while it runs, so the project gets another turn.
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
