import { LRUCache } from 'lru-cache';

/**
 * Caches answers for two seconds. Callers that ask meanwhile share the first read, however many
 * look at a page that refreshes itself. An answer built from another cached one may be twice as
 * old.
 */
export class Recent {
  readonly #answers = new LRUCache<string, Promise<unknown>>({ max: 1_000, ttl: 2_000 });

  /** @param key identifies the question: all answers for one key have the same type */
  async get<T>(key: string, read: () => Promise<T>): Promise<T> {
    const known = this.#answers.get(key);
    if (known) return known as Promise<T>;
    const answer = read();
    this.#answers.set(key, answer);
    try {
      return await answer;
    } catch (error) {
      this.#answers.delete(key);
      throw error;
    }
  }
}
