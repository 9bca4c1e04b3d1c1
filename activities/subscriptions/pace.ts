import { availableParallelism } from 'node:os';
import type { Database } from '../../db/database.ts';
import { readDemand } from '../../db/subscriptions/demand.ts';
import { pressureOf, restMs } from '../../domain/subscription/pace.ts';
import { pause } from '../running/time-box.ts';

/** Slows the work of one subscription down, so that other work goes first. */
export interface Pace {
  /** Runs a piece of database work and measures its duration. */
  work<T>(work: () => Promise<T>): Promise<T>;
  /** Pauses in proportion to the work since the last pause, if other work needs the machine. */
  rest(lagMs: number): Promise<void>;
  /**
   * Returns how many of `requests` may begin before the next pause: at least one, unless `requests`
   * is 0.
   */
  share(requests: number): number;
}

/** Creates the pace of each subscription in a process. */
export interface Paces {
  /**
   * Returns the pace of one subscription.
   * @param sharing returns how many subscriptions are at work
   * @param stop ends a pause
   */
  of(sharing: () => number, stop: AbortSignal): Pace;
}

/** Milliseconds for which a measurement of the machine's load is used. */
const lookMs = 100;
/**
 * Weight of the newest measurement in the moving average; low, because the load changes from one
 * millisecond to the next.
 */
const newestPart = 0.3;

export function createPaces(db: Database, processors = availableParallelism()): Paces {
  let atWork = 0;
  let pressure = 0;
  let lookedAt = 0;
  let looking: Promise<void> | null = null;

  async function look(): Promise<void> {
    const own = atWork;
    const { isMailLeaving, statements } = await readDemand(db);
    const demand = { isMailLeaving, statements: Math.max(0, statements - own), processors };
    const isOld = Date.now() - lookedAt > 10 * lookMs;
    const part = isOld ? 1 : newestPart;
    pressure += part * (pressureOf(demand) - pressure);
    lookedAt = Date.now();
  }

  async function currentPressure(): Promise<number> {
    if (Date.now() - lookedAt >= lookMs) {
      looking ??= look().finally(() => (looking = null));
      await looking;
    }
    return pressure;
  }

  return {
    of(sharing, stop) {
      let workedMs = 0;
      return {
        async work(work) {
          const startedAt = performance.now();
          atWork += 1;
          try {
            return await work();
          } finally {
            atWork -= 1;
            workedMs += performance.now() - startedAt;
          }
        },
        async rest(lagMs) {
          const worked = workedMs;
          workedMs = 0;
          if (worked === 0) return;
          const given = { workedMs: worked, pressure: await currentPressure(), sharing: sharing() };
          await pause(restMs({ ...given, lagMs }), stop);
        },
        share: (requests) => Math.min(requests, Math.max(1, Math.round(requests * (1 - pressure)))),
      };
    },
  };
}
