/**
 * A queue in which owners take turns, so that an owner with many items does not delay an owner with
 * few items. The items of one owner keep their order.
 */
export class FairQueue<T> {
  /**
   * The waiting items of each owner, in the order of the owners' turns. Owners without items are
   * removed.
   */
  readonly #lines = new Map<string, T[]>();

  push(owner: string, item: T): void {
    const line = this.#lines.get(owner);
    if (line) line.push(item);
    else this.#lines.set(owner, [item]);
  }

  /**
   * Takes the first item of the next owner for whom `mayTake` returns true. The owner then moves to
   * the end.
   */
  shift(mayTake: (owner: string) => boolean = () => true): T | undefined {
    for (const [owner, line] of this.#lines) {
      if (!mayTake(owner)) continue;
      const item = line.shift();
      this.#lines.delete(owner);
      if (line.length > 0) this.#lines.set(owner, line);
      return item;
    }
    return undefined;
  }
}
