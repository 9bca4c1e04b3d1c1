import { type Database, limitLockWaits, transact } from '../../db/database.ts';
import {
  type RecordedTracked,
  recordTracked,
  recordTrackedTogether,
  type TrackedEvent,
} from '../../db/events/tracked.ts';
import type { Shares } from '../../db/shares.ts';
import { isLockTimeout, isUnavailable } from '../../db/sql-state.ts';
import { Problem } from '../../domain/errors.ts';

/** Events of one transaction: PostgreSQL's work for one hardly falls beyond that. */
const batchMax = 50;
/** Events of a project that may wait, as many as statements of a share. */
const waitingMax = 1_000;
/** How long events that are recorded together wait for a lock, in milliseconds. */
const sharedLockMs = 200;

/** An event and whoever waits for it. */
interface Waiting {
  event: TrackedEvent;
  resolve(recorded: RecordedTracked): void;
  reject(error: unknown): void;
}

/**
 * Records tracked events of many requests together, and answers each after the commit. An event that
 * comes alone is recorded at once; those of its project that come while it is being recorded are
 * recorded together, up to 50 in a transaction, one transaction at a time.
 *
 * Events of a contact that somebody has locked, and those of a transaction that failed, are recorded
 * each alone: no event delays another one by more than 200 ms.
 */
export class TrackQueue {
  readonly #shares: Shares;
  readonly #byProject = new Map<string, Waiting[]>();

  constructor(shares: Shares) {
    this.#shares = shares;
  }

  /**
   * Records a plain event (`isPlain`). Resolves after the commit.
   * @throws Problem SERVICE_UNAVAILABLE when too many are waiting, and what `recordTracked` throws
   */
  record(projectId: string, event: TrackedEvent): Promise<RecordedTracked> {
    return new Promise((resolve, reject) => {
      const waiting = { event, resolve, reject };
      const queue = this.#byProject.get(projectId);
      if (!queue) {
        const first = [waiting];
        this.#byProject.set(projectId, first);
        // Requests that have arrived by now come along.
        setImmediate(() => void this.#drain(projectId, first));
      } else if (queue.length >= waitingMax) {
        const message = 'Too many events of the same project wait to be recorded.';
        reject(new Problem('SERVICE_UNAVAILABLE', { message }));
      } else queue.push(waiting);
    });
  }

  async #drain(projectId: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) await this.#recordTogether(projectId, nextBatch(queue));
    this.#byProject.delete(projectId);
  }

  async #recordTogether(projectId: string, batch: readonly Waiting[]): Promise<void> {
    const events = batch.map(({ event }) => event);
    try {
      const recorded = await this.#inTransaction(projectId, async (tx) => {
        await limitLockWaits(tx, sharedLockMs);
        return recordTrackedTogether(tx, projectId, events);
      });
      for (const [index, waiting] of batch.entries()) {
        const one = recorded[index];
        if (one) waiting.resolve(one);
        else void this.#recordAlone(projectId, waiting);
      }
    } catch (error) {
      // After a lost connection nobody knows whether the transaction was committed.
      const isHopeless = !isLockTimeout(error) && (batch.length === 1 || isUnavailable(error));
      for (const waiting of batch) {
        if (isHopeless) waiting.reject(error);
        else void this.#recordAlone(projectId, waiting);
      }
    }
  }

  async #recordAlone(projectId: string, { event, resolve, reject }: Waiting): Promise<void> {
    await this.#inTransaction(projectId, (tx) => recordTracked(tx, projectId, event)).then(
      resolve,
      reject,
    );
  }

  #inTransaction<T>(projectId: string, work: (tx: Database) => Promise<T>): Promise<T> {
    return this.#shares.within(projectId, (db) => transact(db, work));
  }
}

/** Takes the first events off the queue; a second one of a contact stays for the next batch. */
function nextBatch(queue: Waiting[]): Waiting[] {
  const batch = new Map<string, Waiting>();
  const rest = queue.splice(0).filter((waiting) => {
    const { email } = waiting.event;
    if (batch.size === batchMax || batch.has(email)) return true;
    batch.set(email, waiting);
    return false;
  });
  queue.push(...rest);
  return [...batch.values()];
}
