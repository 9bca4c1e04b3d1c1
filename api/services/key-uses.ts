import type { Logger } from 'pino';
import { recordKeyUses } from '../../db/projects/key-lookup.ts';
import type { Database } from '../../db/database.ts';

/** Milliseconds after which the use of a key is recorded. */
const delayMs = 1_000;
/** Milliseconds for which further uses of a key are not recorded. */
const restMs = 50_000;

/**
 * Records when named keys were last used, for many requests together. No request waits for the
 * recording. A use is lost if the process dies within a second after the use, or if the database is
 * unavailable.
 */
export class KeyUses {
  readonly #db: Database;
  readonly #log: Logger;
  /** By key id: the last recorded use, in milliseconds since 1970. */
  readonly #recorded = new Map<string, number>();
  #used = new Map<string, Date>();

  constructor(db: Database, log: Logger) {
    this.#db = db;
    this.#log = log;
  }

  /** Notes that a request with this key was accepted now. */
  note(keyId: string): void {
    const now = new Date();
    if (now.getTime() - (this.#recorded.get(keyId) ?? 0) < restMs) return;
    if (this.#used.size === 0) setTimeout(() => void this.#record(), delayMs).unref();
    this.#used.set(keyId, now);
  }

  async #record(): Promise<void> {
    const used = this.#used;
    this.#used = new Map();
    const now = Date.now();
    for (const [keyId, at] of this.#recorded) {
      if (now - at >= restMs) this.#recorded.delete(keyId);
    }
    for (const keyId of used.keys()) this.#recorded.set(keyId, now);
    await recordKeyUses(this.#db, used).catch((error: unknown) => {
      for (const keyId of used.keys()) this.#recorded.delete(keyId);
      this.#log.warn({ error }, 'The last use of API keys was not recorded');
    });
  }
}
