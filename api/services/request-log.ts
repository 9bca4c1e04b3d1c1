import type { Logger } from 'pino';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import {
  insertRequests,
  lacksDay,
  makeDays,
  type StoredRequest,
  trimRequests,
} from '../../db/requests/store.ts';
import { isUnavailable } from '../../db/sql-state.ts';
import type { Metrics } from '../../providers/metrics/metrics.ts';

/** Milliseconds for which an entry may wait, so that several entries are stored together. */
const delayMs = 2_000;
/** Maximum number of entries that are stored together. */
const batchMax = 1_000;
/** Maximum number of waiting entries: of all projects, and of one project. */
const waitingMax = { all: 10_000, project: 2_500 };
/** Milliseconds for which a stopping process tries to store waiting entries. */
const closeMs = 3_000;

/**
 * Adds requests to the request logs of projects, many together. No response waits for the log.
 * While the database is unavailable, entries wait; entries beyond the limits are dropped and
 * counted.
 */
export class RequestLog {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  #waiting: StoredRequest[] = [];
  /** Number of waiting requests by project. */
  readonly #waitingOf = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #storing: Promise<void> | null = null;

  constructor({ db, log, metrics }: { db: Database; log: Logger; metrics: Metrics }) {
    this.#db = db;
    this.#log = log;
    this.#metrics = metrics;
  }

  add(request: StoredRequest): void {
    const { ownerId } = request;
    const waiting = this.#waitingOf.get(ownerId) ?? 0;
    if (this.#waiting.length >= waitingMax.all || waiting >= waitingMax.project) {
      this.#metrics.countUnloggedRequests(1);
      return;
    }
    this.#waiting.push(request);
    this.#waitingOf.set(ownerId, waiting + 1);
    if (this.#waiting.length >= batchMax) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), delayMs).unref();
  }

  /** Stores the waiting requests. Never throws. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return (this.#storing ??= this.#storeAll().finally(() => (this.#storing = null)));
  }

  /** Stores the waiting requests when the process stops. */
  async close(): Promise<void> {
    const over = new AbortController();
    const late = sleep(closeMs, undefined, { signal: over.signal }).catch(() => {});
    const stored = this.flush().then(() => this.flush());
    await Promise.race([stored, late]);
    over.abort();
    clearTimeout(this.#timer);
  }

  async #storeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, batchMax);
      try {
        await this.#store(batch);
      } catch (error) {
        this.#log.warn({ error }, 'Requests could not be stored in the request log');
        if (isUnavailable(error)) {
          this.#timer ??= setTimeout(() => void this.flush(), delayMs).unref();
          return;
        }
        this.#metrics.countUnloggedRequests(batch.length);
      }
      this.#remove(batch.length);
    }
  }

  async #store(batch: readonly StoredRequest[]): Promise<void> {
    const full = await insertRequests(this.#db, batch).catch(async (error: unknown) => {
      if (!lacksDay(error)) throw error;
      await makeDays(this.#db, batch);
      return insertRequests(this.#db, batch);
    });
    for (const ownerId of full) await trimRequests(this.#db, ownerId);
  }

  #remove(count: number): void {
    for (const { ownerId } of this.#waiting.splice(0, count)) {
      const left = (this.#waitingOf.get(ownerId) ?? 0) - 1;
      if (left > 0) this.#waitingOf.set(ownerId, left);
      else this.#waitingOf.delete(ownerId);
    }
  }
}
