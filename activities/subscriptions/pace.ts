import { availableParallelism } from 'node:os';
import type { Database } from '../../db/database.ts';
import { readDemand } from '../../db/subscriptions/demand.ts';
import { pressureOf, restMs } from '../../domain/subscription/pace.ts';
import { pause } from '../running/time-box.ts';

/** How the work of one subscription gives way to others. */
export interface Pace {
  /** Does a piece of work in the database, which calls for a rest. */
  work<T>(work: () => Promise<T>): Promise<T>;
  /** Rests for what was worked since the last rest, if others need the machine. */
  rest(lagMs: number): Promise<void>;
  /** How many of so many requests are begun before the next rest: one at least. */
  share(requests: number): number;
}

/** The work of all subscriptions of a process. */
export interface Paces {
  /** @param sharing how many subscriptions are at work; `stop` ends a rest */
  of(sharing: () => number, stop: AbortSignal): Pace;
}

/** For how long a look at what others do holds, in milliseconds. */
const lookMs = 100;
/** The part of a look in the mean of the last ones: what others do changes by the millisecond. */
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
