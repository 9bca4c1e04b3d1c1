import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { settleDue } from '../../db/transactions/engagement/settle.ts';

/** Milliseconds between two checks for due opens and clicks. */
const pauseMs = 2_000;
/**
 * Milliseconds after the last open or click for which this process keeps checking: longer than an
 * open or click takes to become due.
 */
const lookingMs = 10_000;

/**
 * Decides if people or machines caused the opens and clicks that this process has recorded. Without
 * recent opens or clicks, it sends no query. If a process dies, the sweep judges its opens and
 * clicks.
 */
export class EngagementSettler {
  readonly #db: Database;
  readonly #log: Pick<Logger, 'error'>;
  readonly #closing = new AbortController();
  /** When checking ends, on the clock of `performance`. */
  #until = 0;
  #looking: Promise<void> | null = null;

  constructor({ db, log }: { db: Database; log: Pick<Logger, 'error'> }) {
    this.#db = db;
    this.#log = log;
  }

  /** Notes that an open or click was recorded. */
  expect(): void {
    this.#until = performance.now() + lookingMs;
    this.#looking ??= this.#look().finally(() => (this.#looking = null));
  }

  /** Ends checking. Resolves when no transaction is running. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { signal } = this.#closing;
    const fail = (error: unknown) =>
      this.#log.error({ error }, 'opens and clicks could not be settled yet; this is tried again');
    while (performance.now() < this.#until && !signal.aborted) {
      await sleep(pauseMs, undefined, { ref: false, signal }).catch(() => {});
      await settleDue(this.#db, fail, () => signal.aborted).catch(fail);
    }
  }
}
