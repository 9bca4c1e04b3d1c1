import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';

/**
 * Length of an activity's time slice, in milliseconds. With one activity per batch, the history of
 * a run in Temporal would become long; with longer slices, other activities would wait too long on
 * a busy worker.
 */
const usualSliceMs = 10_000;
/** Milliseconds between two heartbeats. Heartbeat timeouts are at least five times as long. */
const heartbeatMs = 3_000;

/** Runs `work` in the current activity and sends heartbeats meanwhile. */
export async function whileAlive<T>(work: () => Promise<T>): Promise<T> {
  // A timer sends the heartbeats, so that a slow database or provider does not look like a dead
  // worker.
  const beat = setInterval(heartbeat, heartbeatMs);
  try {
    return await work();
  } finally {
    clearInterval(beat);
  }
}

/**
 * Adds heartbeats to activities, so that the death of their worker is noticed within seconds. Local
 * activities need none, because their workflow task has a timeout of its own.
 */
export function withHeartbeats<A extends object>(activities: A): A {
  type Activity = (...args: unknown[]) => Promise<unknown>;
  const beating = Object.entries<Activity>(activities as Record<string, Activity>).map(
    ([name, activity]): [string, Activity] => [
      name,
      (...args) =>
        activityInfo().isLocal ? activity(...args) : whileAlive(() => activity(...args)),
    ],
  );
  return Object.fromEntries(beating) as A;
}

/**
 * Runs `work` in the current activity, for one time slice.
 * @param work starts the next batch only while `shouldContinue` returns true: the slice is not
 * over, and the worker is not stopping. `stop` is aborted when the worker stops
 */
export function timeBoxed<T>(
  work: (shouldContinue: () => boolean, stop: AbortSignal) => Promise<T>,
  sliceMs = usualSliceMs,
): Promise<T> {
  const sliceEnd = Date.now() + sliceMs;
  const stop = cancellationSignal();
  return whileAlive(() => work(() => !stop.aborted && Date.now() < sliceEnd, stop));
}

/** Waits `ms` milliseconds, or until `stop` is aborted. */
export function pause(ms: number, stop: AbortSignal): Promise<void> {
  if (ms <= 0 || stop.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      stop.removeEventListener('abort', done);
      resolve();
    }
    stop.addEventListener('abort', done);
  });
}
