import type { Database } from '../../db/database.ts';
import {
  findProjectsByKeys,
  type ProjectKey,
  type ProjectState,
} from '../../db/projects/projects.ts';

/** Maximum number of concurrent statements: two, so that a connection that hangs does not delay all. */
const statementsMax = 2;
/** Maximum number of keys that one statement looks up. */
const keysMax = 500;

interface Waiting {
  key: ProjectKey;
  resolve(project: ProjectState | undefined): void;
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
  find(key: ProjectKey): Promise<ProjectState | undefined> {
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
    void findProjectsByKeys(
      this.#db,
      some.map(({ key }) => key),
    )
      .then(
        (projects) => some.forEach(({ resolve }, index) => resolve(projects[index])),
        (error: unknown) => some.forEach(({ reject }) => reject(error)),
      )
      .finally(() => {
        this.#underWay -= 1;
        this.#lookUp();
      });
  }
}
