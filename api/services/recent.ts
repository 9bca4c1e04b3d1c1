import { LRUCache } from 'lru-cache';

/**
 * Answers that may be two seconds old: who asks again meanwhile shares the read of the first, however
 * many look at a page that refreshes itself. An answer made of another one may be twice as old.
 */
export class Recent {
  readonly #answers = new LRUCache<string, Promise<unknown>>({ max: 1_000, ttl: 2_000 });

  /** @param key names the question: of one key, all answers have the same type */
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
