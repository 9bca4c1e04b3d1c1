/**
 * Maximum number of concurrent statements. There are two, so that one hanging connection does not
 * delay all look-ups.
 */
const statementsMax = 2;
/** Maximum number of keys that one statement looks up. */
const keysMax = 500;

interface Waiting<K, V> {
  key: K;
  resolve(value: V | undefined): void;
  reject(error: unknown): void;
}

/** Looks up the keys of requests that arrive together in one statement. Caches nothing. */
export class SharedLookup<K, V> {
  readonly #lookUp: (keys: readonly K[]) => Promise<readonly (V | undefined)[]>;
  #waiting: Waiting<K, V>[] = [];
  #underWay = 0;

  /**
   * Creates a look-up.
   * @param lookUp returns a value for each key, in the same order; undefined for a missing value
   */
  constructor(lookUp: (keys: readonly K[]) => Promise<readonly (V | undefined)[]>) {
    this.#lookUp = lookUp;
  }

  find(key: K): Promise<V | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject });
      // Deferred, so that one statement serves all requests that have already arrived.
      if (this.#waiting.length === 1) setImmediate(() => this.#serve());
    });
  }

  #serve(): void {
    if (this.#underWay === statementsMax || this.#waiting.length === 0) return;
    const some = this.#waiting.splice(0, keysMax);
    this.#underWay += 1;
    void this.#lookUp(some.map(({ key }) => key))
      .then(
        (values) => some.forEach(({ resolve }, index) => resolve(values[index])),
        (error: unknown) => some.forEach(({ reject }) => reject(error)),
      )
      .finally(() => {
        this.#underWay -= 1;
        this.#serve();
      });
  }
}
