/** Attempts after which mail with an unknown outcome is not sent once more. */
export const sendAttemptsMax = 8;

/** The pause after the first failed attempt, in milliseconds. */
export const firstRetryMs = 2_000;
/** The longest pause between attempts, in milliseconds. */
export const retryDelayMsMax = 15 * 60_000;

/** The pause after the n-th failed attempt (from 1): 2 s doubling, at most 15 minutes. */
export function retryDelayMs(attempt: number): number {
  return Math.min(firstRetryMs * 2 ** (attempt - 1), retryDelayMsMax);
}

/** Failures in a row from which mail waits for its provider: one or two may be a lost connection. */
export const providerFailuresMax = 3;

/**
 * How long one attempt of an open circuit may take, in milliseconds: as long as an SMTP server may
 * be idle, and a little more. Then another may try.
 */
export const probeLeaseMs = 150_000;
