import { LRUCache } from 'lru-cache';

/**
 * Caches answers for two seconds, so that all viewers of a page that refreshes itself share one
 * read. An answer that is computed from another cached answer may be four seconds old.
 */
export class Recent {
  readonly #answers = new LRUCache<string, Promise<unknown>>({ max: 1_000, ttl: 2_000 });

  /**
   * Returns the cached answer, or reads it.
   * @param key the name of the answer: all answers for one key have the same type
   */
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
