import { exchange, readSuccess } from './exchange.ts';

/** Settings for tests, which serve all hosts on their own machine. */
export interface Network {
  /** Trusted certificate authorities as PEM. Default: the authorities of Node.js. */
  hostAuthorities?: readonly string[];
  /** Returns the host and port to connect to for a URL. Default: the host and port of the URL. */
  connectTo?: (url: URL) => { hostname: string; port: number };
}

/** Fetches a file of at most `bytesMax` bytes. */
export type FetchBytes = (url: URL, bytesMax: number) => Promise<Buffer>;

/** Maximum number of milliseconds for name lookup, connection and response together. */
const answerMs = 5_000;

/**
 * Creates a function that fetches small files. The function uses a new connection, waits at most 5
 * seconds, and rejects for any status other than 2xx. Redirects are not followed, because they
 * could lead away from the trusted host.
 */
export function createFetcher({ hostAuthorities, connectTo }: Network): FetchBytes {
  return async (url, bytesMax) => {
    const options = {
      ...connectTo?.(url),
      ...(hostAuthorities ? { ca: [...hostAuthorities] } : {}),
      body: null,
      servername: url.hostname,
      headers: { Host: url.host },
      signal: AbortSignal.timeout(answerMs),
    };
    return exchange(url, options, (answer) => readSuccess(url, answer, bytesMax));
  };
}
