import { Problem } from '../../domain/errors.ts';

/**
 * Milliseconds for the transaction of a plan or an apply. Other requests wait for the rows that it
 * has locked.
 */
const durationMs = 60_000;

/**
 * Returns a function to call between the steps of a plan or an apply.
 * @throws Problem SERVICE_UNAVAILABLE, by the function, once `ms` are over
 */
export function limitDuration(ms = durationMs): () => void {
  const end = Date.now() + ms;
  return () => {
    if (Date.now() <= end) return;
    const message = 'The changes take too long.';
    const suggestion = 'Try again in a minute, or plan fewer files.';
    throw new Problem('SERVICE_UNAVAILABLE', { message, suggestion });
  };
}
