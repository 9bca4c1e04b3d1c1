/**
 * A queue in which owners take turns: an owner with many items does not delay one with few. Items
 * of one owner keep their order.
 */
export class FairQueue<T> {
  /** In the order of turns; none is empty. */
  readonly #lines = new Map<string, T[]>();

  push(owner: string, item: T): void {
    const line = this.#lines.get(owner);
    if (line) line.push(item);
    else this.#lines.set(owner, [item]);
  }

  /** The item that `shift` would take. */
  get next(): T | undefined {
    const [line] = this.#lines.values();
    return line?.[0];
  }

  /** Takes the first item of the next owner, who goes to the end. */
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
