/** Figures of a quota, read from times of arrival. All are milliseconds, in order. */

/** Returns the most arrivals in any window of `windowMs`, without its end. */
export function mostWithin(times: readonly number[], windowMs: number): number {
  let first = 0;
  let most = 0;
  for (const [index, at] of times.entries()) {
    while (at - (times[first] ?? at) >= windowMs) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}

/** Returns the times between consecutive arrivals. */
export function gapsOf(times: readonly number[]): number[] {
  return times.slice(1).map((at, index) => at - (times[index] ?? at));
}
