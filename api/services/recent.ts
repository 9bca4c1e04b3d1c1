/** How old an answer may be, in milliseconds. One that is made of another may be twice as old. */
const ageMax = 2_000;
/** Answers that are kept at once. */
const entriesMax = 1_000;

/**
 * Answers that may be seconds old: who asks again meanwhile shares the read of the first, however many
 * look at a page that refreshes itself.
 */
export class Recent {
  private readonly entries = new Map<string, { at: number; answer: Promise<unknown> }>();

  /** @param key names the question: of one key, all answers have the same type */
  async get<T>(key: string, read: () => Promise<T>): Promise<T> {
    const known = this.entries.get(key);
    if (known && Date.now() - known.at < ageMax) return known.answer as Promise<T>;
    this.entries.delete(key);
    const answer = read();
    this.entries.set(key, { at: Date.now(), answer });
    // The oldest goes first.
    const [oldest] = this.entries.keys();
    if (this.entries.size > entriesMax && oldest !== undefined) this.entries.delete(oldest);
    try {
      return await answer;
    } catch (error) {
      this.entries.delete(key);
      throw error;
    }
  }
}
