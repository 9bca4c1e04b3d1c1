import type { Database } from '../../db/database.ts';
import { findKeyOwners, type KeyOwner, type SentKey } from '../../db/projects/key-lookup.ts';

/** Maximum number of concurrent statements: two, so that a connection that hangs does not delay all. */
const statementsMax = 2;
/** Maximum number of keys that one statement looks up. */
const keysMax = 500;

interface Waiting {
  key: SentKey;
  resolve(owner: KeyOwner | undefined): void;
  reject(error: unknown): void;
}

/**
 * Finds the projects of API keys, with one statement for requests that arrive together. A key is
 * looked up for each request and never cached, so a replaced key is invalid at once.
 */
export class ProjectKeys {
  readonly #db: Database;
  #waiting: Waiting[] = [];
  #underWay = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Returns the project of a key; undefined: the key is unknown. */
  find(key: SentKey): Promise<KeyOwner | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject });
      // Deferred, so that one statement includes all requests that have already arrived.
      if (this.#waiting.length === 1) setImmediate(() => this.#lookUp());
    });
  }

  #lookUp(): void {
    if (this.#underWay === statementsMax || this.#waiting.length === 0) return;
    const some = this.#waiting.splice(0, keysMax);
    this.#underWay += 1;
    void findKeyOwners(
      this.#db,
      some.map(({ key }) => key),
    )
      .then(
        (owners) => some.forEach(({ resolve }, index) => resolve(owners[index])),
        (error: unknown) => some.forEach(({ reject }) => reject(error)),
      )
      .finally(() => {
        this.#underWay -= 1;
        this.#lookUp();
      });
  }
}
