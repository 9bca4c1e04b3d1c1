import { EverpostError } from '../../error.ts';
import { Everpost } from '../../everpost.ts';
import type { Project } from './profiles.ts';

/** Maximum time of one request: an apply may wait for another one. */
const timeoutMs = 120_000;

/** The clock of a server, by the dates of its responses. The clock of this machine may be wrong. */
export class ServerClock {
  #aheadMs = 0;

  set({ headers }: Response): void {
    const time = Date.parse(headers.get('date') ?? '');
    if (!Number.isNaN(time)) this.#aheadMs = time - Date.now();
  }

  now(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }
}

/**
 * Returns the client of a project. It refuses a successful response that is not JSON: it comes from
 * another server, such as the one of a website.
 * @param signal ends all requests
 * @param clock is set by each response
 */
export function clientOf(
  { url, key }: Pick<Project, 'url' | 'key'>,
  signal: AbortSignal,
  clock = new ServerClock(),
): Everpost {
  return new Everpost({
    baseUrl: url,
    apiKey: key,
    timeoutMs,
    async fetch(address, init) {
      const response = await fetch(address, {
        ...init,
        signal: AbortSignal.any([signal, init.signal!]),
      });
      clock.set(response);
      const type = response.headers.get('content-type') ?? '';
      if (!response.ok || type.startsWith('application/json')) return response;
      await response.body?.cancel();
      throw EverpostError.of(response, undefined);
    },
  });
}
