/** A weighted semaphore, for bytes of memory or for connections. */
export interface Semaphore {
  /**
   * Waits until `amount` is free. 0 never waits; an amount over the capacity takes the whole
   * capacity. Callers are served in order; urgent callers go before all others. Returns the
   * function that releases it.
   */
  acquire(amount: number, options?: Holder & { urgent?: boolean }): Promise<() => void>;
  /** Acquires without waiting. null: not enough is free, or others wait. */
  tryAcquire(amount: number, options?: Holder): (() => void) | null;
}

export interface Holder {
  /**
   * Who holds it. An owner that holds some gets more only while it then has at most what is free for
   * others, so that alone it has at most half. Absent: the caller has no such limit.
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
      // An owner over its share lets others pass. For all others, the order holds.
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
