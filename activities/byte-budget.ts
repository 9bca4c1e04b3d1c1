/** Bytes of memory that tasks share. Who asks first is served first. */
export interface ByteBudget {
  /**
   * Waits until so many bytes are free. Nothing (0) never waits; more than there are count as all
   * of them. Answers what gives them back.
   */
  take(bytes: number): Promise<() => void>;
}

export function createByteBudget(total: number): ByteBudget {
  let free = total;
  const waiting: { bytes: number; go: () => void }[] = [];
  function serve(): void {
    for (let next = waiting[0]; next && next.bytes <= free; next = waiting[0]) {
      waiting.shift();
      free -= next.bytes;
      next.go();
    }
  }
  return {
    async take(wanted) {
      const bytes = Math.min(wanted, total);
      if (!(bytes > 0)) return () => {};
      await new Promise<void>((go) => {
        waiting.push({ bytes, go });
        serve();
      });
      return () => {
        free += bytes;
        serve();
      };
    },
  };
}
