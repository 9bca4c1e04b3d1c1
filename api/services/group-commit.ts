import { type Database, limitLockWaits, transact } from '../../db/database.ts';
import type { Shares } from '../../db/shares.ts';
import { isLockTimeout, isTimeLimit, isTransient, isUnavailable } from '../../db/sql-state.ts';
import { Problem } from '../../domain/errors.ts';

/**
 * Maximum number of items of a transaction. With more items, PostgreSQL's work per item hardly
 * decreases.
 */
export const batchMax = 50;

/** An item, and the request that waits for its result. */
export interface Waiting<Item, Answer> {
  item: Item;
  resolve(answer: Answer | Promise<Answer>): void;
  reject(error: unknown): void;
}

export interface GroupWriter<Item, Answer> {
  /**
   * Writes items in one transaction. Returns their results in the same order; null for items that
   * were skipped because other transactions have locked their rows.
   */
  writeTogether(
    tx: Database,
    projectId: string,
    items: readonly Item[],
  ): Promise<readonly (Answer | null)[]>;
  writeAlone(tx: Database, projectId: string, item: Item): Promise<Answer>;
  /** Two items with the same key are never in one transaction. */
  keyOf?(item: Item): string;
  /** Milliseconds for which a transaction of several items waits for a lock. */
  lockMs?: number;
  /** Maximum number of waiting items of a project, and the texts of the error for further items. */
  limit?: { waitingMax: number; message: string; suggestion: string };
}

/**
 * Commits the writes of many requests of a project together, and resolves each write after the
 * commit. One transaction runs at a time, on a connection of the project's share. The next
 * transaction writes the items that have arrived in the meantime, at most `batchMax`.
 * An item that a transaction skips is written alone. If a transaction of several items fails, each
 * item is written alone, unless the connection was lost (`isLost`). A single item is written once
 * more if it has waited for a lock for `lockMs`.
 */
export class GroupCommit<Item, Answer> {
  readonly #shares: Shares;
  readonly #writer: GroupWriter<Item, Answer>;
  readonly #byProject = new Map<string, Waiting<Item, Answer>[]>();

  constructor(shares: Shares, writer: GroupWriter<Item, Answer>) {
    this.#shares = shares;
    this.#writer = writer;
  }

  /**
   * Returns the number of waiting items of a project. 0: the last items are being written;
   * undefined: no item is waiting or being written.
   */
  waiting(projectId: string): number | undefined {
    return this.#byProject.get(projectId)?.length;
  }

  /**
   * Writes an item. Resolves after the commit.
   * @throws Problem SERVICE_UNAVAILABLE when too many items are waiting, and errors of `writeAlone`
   */
  write(projectId: string, item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { limit } = this.#writer;
      const waiting = { item, resolve, reject };
      const queue = this.#byProject.get(projectId);
      if (!queue) {
        const first = [waiting];
        this.#byProject.set(projectId, first);
        // Deferred, so that requests that have already arrived are in the same transaction.
        setImmediate(() => void this.#drain(projectId, first));
      } else if (limit && queue.length >= limit.waitingMax) {
        const { message, suggestion } = limit;
        reject(new Problem('SERVICE_UNAVAILABLE', { message, suggestion }));
      } else queue.push(waiting);
    });
  }

  async #drain(projectId: string, queue: Waiting<Item, Answer>[]): Promise<void> {
    while (queue.length > 0) await this.#writeTogether(projectId, this.#nextBatch(queue));
    this.#byProject.delete(projectId);
  }

  /**
   * Takes the first items off the queue. A second item with the same key stays for the next
   * transaction.
   */
  #nextBatch(queue: Waiting<Item, Answer>[]): Waiting<Item, Answer>[] {
    const { keyOf } = this.#writer;
    if (!keyOf) return queue.splice(0, batchMax);
    const batch = new Map<string, Waiting<Item, Answer>>();
    const rest = queue.splice(0).filter((waiting) => {
      const key = keyOf(waiting.item);
      if (batch.size === batchMax || batch.has(key)) return true;
      batch.set(key, waiting);
      return false;
    });
    queue.push(...rest);
    return [...batch.values()];
  }

  async #writeTogether(projectId: string, batch: Waiting<Item, Answer>[]): Promise<void> {
    const { lockMs } = this.#writer;
    try {
      const answers = await this.#inTransaction(projectId, async (tx) => {
        if (lockMs !== undefined) await limitLockWaits(tx, lockMs);
        const items = batch.map(({ item }) => item);
        return this.#writer.writeTogether(tx, projectId, items);
      });
      settle(batch, answers, (item) => this.writeAlone(projectId, item));
    } catch (error) {
      const canWaitLonger = lockMs !== undefined && isLockTimeout(error);
      const isFinal = isLost(error) || (batch.length === 1 && !canWaitLonger);
      for (const { item, resolve, reject } of batch) {
        if (isFinal) reject(error);
        else resolve(this.writeAlone(projectId, item));
      }
    }
  }

  /** Writes an item at once, in its own transaction. Resolves after the commit. */
  writeAlone(projectId: string, item: Item): Promise<Answer> {
    return this.#inTransaction(projectId, (tx) => this.#writer.writeAlone(tx, projectId, item));
  }

  #inTransaction<T>(projectId: string, work: (tx: Database) => Promise<T>): Promise<T> {
    return this.#shares.within(projectId, (db) => transact(db, work));
  }
}

/**
 * Resolves the items of a transaction with their results. An item without a result is written by
 * `again`.
 */
export function settle<Item, Answer>(
  batch: readonly Waiting<Item, Answer>[],
  answers: readonly (Answer | null)[],
  again: (item: Item) => Promise<Answer>,
): void {
  for (const [index, { item, resolve }] of batch.entries()) {
    resolve(answers[index] ?? again(item));
  }
}

/**
 * Returns true if the connection was lost or could not be made. After a lost connection, the
 * transaction may have been committed.
 */
export function isLost(error: unknown): boolean {
  return isUnavailable(error) && !isTimeLimit(error) && !isTransient(error);
}
