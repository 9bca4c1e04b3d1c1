import { cancellationSignal, heartbeat } from '@temporalio/activity';

/** One activity stays at work this long, in milliseconds: fewer history events than one for each
 * batch, and short enough that others get their turn on a busy worker. */
const usualSliceMs = 10_000;
/** How often the activity says that it is alive; its run gives it up after five times that. */
const heartbeatMs = 3_000;

/** Works as the activity in whose context this is called, which says meanwhile that it is alive. */
export async function whileAlive<T>(work: () => Promise<T>): Promise<T> {
  // By the clock: a slow database or provider is no dead worker.
  const beat = setInterval(heartbeat, heartbeatMs);
  try {
    return await work();
  } finally {
    clearInterval(beat);
  }
}

/**
 * Works in batches, as the activity in whose context this is called.
 * @param work goes on with the next batch while `goesOn` says so: the slice is not over and nobody
 *   has asked the worker to stop; `stop` is aborted when somebody does
 */
export function timeBoxed<T>(
  work: (goesOn: () => boolean, stop: AbortSignal) => Promise<T>,
  sliceMs = usualSliceMs,
): Promise<T> {
  const sliceEnd = Date.now() + sliceMs;
  const stop = cancellationSignal();
  return whileAlive(() => work(() => !stop.aborted && Date.now() < sliceEnd, stop));
}
