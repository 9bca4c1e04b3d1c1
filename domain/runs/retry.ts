/** Maximum number of attempts to send mail whose outcome is unknown. */
export const sendAttemptsMax = 8;

export const firstRetryMs = 2_000;
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
 * Milliseconds that the single attempt of an open circuit may take. Then another caller may try. The
 * time is a little longer than the 120 seconds for which an SMTP server may be silent.
 */
export const probeLeaseMs = 150_000;
