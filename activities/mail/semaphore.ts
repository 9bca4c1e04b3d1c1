/** A weighted semaphore, for bytes of memory or for connections. */
export interface Semaphore {
  /**
   * Waits until `amount` is free. 0 never waits; more than the capacity counts as the whole
   * capacity. First come, first served; urgent callers go before all others. Returns the function
   * that releases it.
   */
  acquire(amount: number, options?: { urgent?: boolean }): Promise<() => void>;
}

export function createSemaphore(total: number): Semaphore {
  let free = total;
  const waiting: { amount: number; urgent: boolean; go: () => void }[] = [];
  function serve(): void {
    for (let next = waiting[0]; next && next.amount <= free; next = waiting[0]) {
      waiting.shift();
      free -= next.amount;
      next.go();
    }
  }
  return {
    async acquire(wanted, { urgent = false } = {}) {
      const amount = Math.min(wanted, total);
      if (!(amount > 0)) return () => {};
      await new Promise<void>((go) => {
        const place = urgent ? waiting.findIndex((other) => !other.urgent) : -1;
        waiting.splice(place < 0 ? waiting.length : place, 0, { amount, urgent, go });
        serve();
      });
      return () => {
        free += amount;
        serve();
      };
    },
  };
}
