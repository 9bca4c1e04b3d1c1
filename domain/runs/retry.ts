/** Maximum number of attempts for mail that is sent again although its outcome is unknown. */
export const sendAttemptsMax = 8;

export const firstRetryMs = 2_000;
export const retryDelayMsMax = 15 * 60_000;

/**
 * Returns the pause after the n-th failed attempt (from 1), in milliseconds: 2 s doubling, at most
 * 15 minutes.
 */
export function retryDelayMs(attempt: number): number {
  return Math.min(firstRetryMs * 2 ** (attempt - 1), retryDelayMsMax);
}

/**
 * Number of consecutive failures after which the circuit to a provider opens. One or two failures
 * may be lost connections.
 */
export const providerFailuresMax = 3;

/**
 * Milliseconds for which only one caller may probe an open circuit. An SMTP server may be silent
 * for 120 seconds, so the time is a little longer.
 */
export const probeLeaseMs = 150_000;
