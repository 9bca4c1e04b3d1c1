/** Maximum number of attempts to send mail whose outcome is unknown. */
export const sendAttemptsMax = 8;

/** The pause after the first failed attempt, in milliseconds. */
export const firstRetryMs = 2_000;
/** The longest pause between attempts, in milliseconds. */
export const retryDelayMsMax = 15 * 60_000;

/** The pause after the n-th failed attempt (from 1): 2 s doubling, at most 15 minutes. */
export function retryDelayMs(attempt: number): number {
  return Math.min(firstRetryMs * 2 ** (attempt - 1), retryDelayMsMax);
}

/**
 * Number of consecutive failures after which mail waits for its provider. One or two may be a lost
 * connection.
 */
export const providerFailuresMax = 3;

/**
 * Milliseconds that the single attempt of an open circuit may take. Then another caller may try. An
 * SMTP server may be silent for 120 seconds, and this is a little more.
 */
export const probeLeaseMs = 150_000;
