/**
 * A queue in which owners take turns: who has many things waiting waits behind whoever has few. What
 * one owner has put in comes out in its order.
 */
export class FairQueue<T> {
  /** In the order of turns; none is empty. */
  readonly #lines = new Map<string, T[]>();

  push(owner: string, item: T): void {
    const line = this.#lines.get(owner);
    if (line) line.push(item);
    else this.#lines.set(owner, [item]);
  }

  /** What `shift` would take. */
  get next(): T | undefined {
    const [line] = this.#lines.values();
    return line?.[0];
  }

  /** Takes the first thing of whose turn it is; its owner goes to the end. */
  shift(): T | undefined {
    const [first] = this.#lines;
    if (!first) return undefined;
    const [owner, line] = first;
    const item = line.shift();
    this.#lines.delete(owner);
    if (line.length > 0) this.#lines.set(owner, line);
    return item;
  }
}
