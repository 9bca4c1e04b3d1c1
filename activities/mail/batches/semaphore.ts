/** A weighted semaphore, for bytes of memory or for connections. */
export interface Semaphore {
  /**
   * Waits until `amount` is free and takes it. 0 never waits; an amount over the capacity takes the
   * whole capacity. Callers are served in order, but urgent callers before all others. Returns the
   * function that releases the amount.
   */
  acquire(amount: number, options?: Holder & { urgent?: boolean }): Promise<() => void>;
  /** Takes an amount without waiting. null: too little is free, or others are waiting. */
  tryAcquire(amount: number, options?: Holder): (() => void) | null;
}

export interface Holder {
  /**
   * The owner of the amount. An owner that already holds an amount gets more only if its new total
   * is at most what is still free afterwards. The first amount of an owner has no such limit.
   * Absent: no limit at all.
   */
  owner?: string | undefined;
}

interface Waiting extends Holder {
  amount: number;
  urgent: boolean;
  go: () => void;
}

export function createSemaphore(total: number): Semaphore {
  let free = total;
  const held = new Map<string, number>();
  const waiting: Waiting[] = [];

  function isOverShare(amount: number, owner: string | undefined): boolean {
    const own = owner === undefined ? undefined : held.get(owner);
    return own !== undefined && own + amount > free - amount;
  }

  function serve(): void {
    for (;;) {
      // Callers whose owner is over its share are passed by others. Apart from this, the order
      // holds.
      const at = waiting.findIndex(({ amount, owner }) => !isOverShare(amount, owner));
      const next = waiting[at];
      if (!next || next.amount > free) return;
      waiting.splice(at, 1);
      next.go();
    }
  }

  function hold(amount: number, owner: string | undefined): void {
    free -= amount;
    if (owner === undefined) return;
    const own = (held.get(owner) ?? 0) + amount;
    if (own === 0) held.delete(owner);
    else held.set(owner, own);
  }

  function take(amount: number, owner: string | undefined): () => void {
    hold(amount, owner);
    return () => {
      hold(-amount, owner);
      serve();
    };
  }

  return {
    tryAcquire(wanted, { owner } = {}) {
      const amount = Math.min(wanted, total);
      if (!(amount > 0)) return () => {};
      const isFree = waiting.length === 0 && amount <= free && !isOverShare(amount, owner);
      return isFree ? take(amount, owner) : null;
    },
    async acquire(wanted, { urgent = false, owner } = {}) {
      const taken = this.tryAcquire(wanted, { owner });
      if (taken) return taken;
      const amount = Math.min(wanted, total);
      return new Promise((resolve) => {
        const place = urgent ? waiting.findIndex((other) => !other.urgent) : -1;
        const go = () => resolve(take(amount, owner));
        waiting.splice(place < 0 ? waiting.length : place, 0, { amount, urgent, owner, go });
        serve();
      });
    },
  };
}
