/** Attempts of a message before it counts as refused. */
export const sendAttemptsMax = 8;

/** The pause after the n-th failed attempt (from 1): 2 s doubling, at most 5 minutes. */
export function retryDelayMs(attempt: number): number {
  return Math.min(2_000 * 2 ** (attempt - 1), 5 * 60_000);
}
