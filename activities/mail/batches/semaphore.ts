/** A weighted semaphore, for bytes of memory or for connections. */
export interface Semaphore {
  /**
   * Waits until `amount` is free. 0 never waits; an amount over the capacity takes the whole
   * capacity. Callers are served in order; urgent callers go before all others. Returns the
   * function that releases it.
   */
  acquire(amount: number, options?: { urgent?: boolean }): Promise<() => void>;
  /** Acquires without waiting. null: not enough is free, or others wait. */
  tryAcquire(amount: number): (() => void) | null;
}

export function createSemaphore(total: number): Semaphore {
  let free = total;
  const waiting: { amount: number; urgent: boolean; go: () => void }[] = [];
  function serve(): void {
    for (let next = waiting[0]; next && next.amount <= free; next = waiting[0]) {
      waiting.shift();
      next.go();
    }
  }
  function take(amount: number): () => void {
    free -= amount;
    return () => {
      free += amount;
      serve();
    };
  }
  return {
    tryAcquire(wanted) {
      const amount = Math.min(wanted, total);
      if (!(amount > 0)) return () => {};
      return waiting.length === 0 && amount <= free ? take(amount) : null;
    },
    async acquire(wanted, { urgent = false } = {}) {
      const taken = this.tryAcquire(wanted);
      if (taken) return taken;
      const amount = Math.min(wanted, total);
      return new Promise((resolve) => {
        const place = urgent ? waiting.findIndex((other) => !other.urgent) : -1;
        const go = () => resolve(take(amount));
        waiting.splice(place < 0 ? waiting.length : place, 0, { amount, urgent, go });
        serve();
      });
    },
  };
}
