import { limits } from '../limits.ts';
import { readRetryAfter } from '../webhook/webhook.ts';

/** Decides what follows from a request of an event subscription: retries, pauses and probes. */

export interface RequestOutcome {
  /** null: no response arrived. */
  statusCode: number | null;
  /** Why no response arrived; null: a response arrived. */
  error: 'timeout' | 'unreachable' | 'address_refused' | 'secret_refused' | null;
  retryAfter: string | null;
  /** The beginning of the response, if it was not 2xx. */
  text: string | null;
}

export interface Attempt {
  /** ISO 8601. */
  at: string;
  statusCode: number | null;
  error: string | null;
  ms: number;
}

/** Longest wait in milliseconds that a receiver can ask for. */
const askedMsMax = 3_600_000;
/** Maximum random addition to a wait, as a part of the wait. */
const jitter = 0.1;

export function isDelivered({ statusCode }: RequestOutcome): boolean {
  return statusCode !== null && statusCode >= 200 && statusCode <= 299;
}

/** Returns true if the response means that the receiver wants no more requests. */
export function isGone({ statusCode }: RequestOutcome): boolean {
  return statusCode === 410;
}

/**
 * Returns the wait that a response asks for (RFC 9110 §10.2.3), in milliseconds, at most an hour.
 */
export function askedWaitMs({ retryAfter }: RequestOutcome, now: Date): number {
  return Math.max(0, Math.min(readRetryAfter(retryAfter, now), askedMsMax));
}

/**
 * Returns for how many milliseconds the subscription must send nothing. Only a response 429 or 503
 * can ask for such a pause.
 */
export function holdMs(outcome: RequestOutcome, now: Date): number {
  const { statusCode } = outcome;
  return statusCode === 429 || statusCode === 503 ? askedWaitMs(outcome, now) : 0;
}

/**
 * Returns the wait after the `tries`-th failed attempt of a schedule (from 1), in milliseconds.
 * null: no attempt is left, or the receiver wants no more requests. `Retry-After` can only lengthen
 * the wait.
 * @param random from 0 to 1: adds up to a tenth, so that deliveries that failed together are not
 * retried together
 */
export function retryWaitMs(
  tries: number,
  outcome: RequestOutcome,
  given: { retrySeconds: readonly number[]; now: Date; random: number },
): number | null {
  const seconds = given.retrySeconds[tries - 1];
  if (seconds === undefined || isGone(outcome)) return null;
  const waitMs = seconds * 1000 * (1 + jitter * given.random);
  return Math.ceil(Math.max(waitMs, askedWaitMs(outcome, given.now)));
}

/** Number of failed attempts of a batch after which its deliveries are retried one by one. */
export const batchAttemptsMax = 3;

/**
 * Number of consecutive failed requests after which a receiver counts as down. Repeated failures of
 * one delivery count once.
 */
export const failuresMax = 10;
/**
 * Number of waits of the retry schedule that probes use. Further probes repeat the last of these
 * waits.
 */
const probeWaits = 4;

/**
 * Returns the wait before the next probe of a receiver that counts as down, in milliseconds.
 * @param failed number of probes that have failed so far
 * @param outcome of the last request
 */
export function probeWaitMs(
  failed: number,
  outcome: RequestOutcome,
  given: { retrySeconds: readonly number[]; now: Date; random: number },
): number {
  const waits = given.retrySeconds.slice(0, probeWaits);
  const seconds = waits[Math.min(failed, waits.length - 1)] ?? 0;
  const waitMs = seconds * 1000 * (1 + jitter * given.random);
  return Math.ceil(Math.max(waitMs, askedWaitMs(outcome, given.now)));
}

/** Returns the list of a delivery's attempts with one more; the oldest are dropped. */
export function withAttempt(attempts: readonly Attempt[], attempt: Attempt): Attempt[] {
  return [...attempts, attempt].slice(-limits.deliveryAttempts);
}
