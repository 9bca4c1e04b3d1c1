import { setTimeout as sleep } from 'node:timers/promises';
import { EverpostError } from '../../everpost.ts';
import type { Call } from '../frame/command.ts';

const attemptsMax = 4;
const pauseMs = 1_000;

/**
 * Makes a request again whose answer is lost. It must be safe to repeat: a plan changes nothing, and
 * is applied once however often it is asked for. An idempotency key would be busy for minutes when
 * the server dies.
 */
export async function repeated<T>(
  { signal }: Pick<Call, 'signal'>,
  request: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await request();
    } catch (error) {
      signal.throwIfAborted();
      const isLost = error instanceof EverpostError && (error.status === 0 || error.status >= 500);
      if (!isLost || attempt === attemptsMax) throw error;
      await sleep(pauseMs * attempt, undefined, { signal });
    }
  }
}
