import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * How far the heap may grow before V8 collects garbage, in percent of the memory in use. With 30, a
 * worker needs 25 MB less while it sends a campaign, and a tenth more CPU.
 */
const growingPercent = 100;

/**
 * Keeps the heap near the memory in use, from now on. By default, V8 lets the heap grow to several
 * times this size if the machine has memory, so a campaign would end with a heap full of garbage.
 * It is not a limit: work that needs more memory gets it.
 */
export function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${growingPercent}`);
  // V8 computes the limit at a full collection. Without one now, it would keep a high first limit.
  // This collection also frees memory that only the start needed.
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  collectGarbage();
}
