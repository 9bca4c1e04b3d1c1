import { exchange, readBody } from './exchange.ts';

/** Settings for tests, which serve all addresses on their own machine. */
export interface Network {
  /** Trusted authorities for hosts, as PEM. Default: those of Node.js. */
  hostAuthorities?: readonly string[];
  /** Returns the host and port to connect to for an address. Default: its own. */
  connectTo?: (url: URL) => { hostname: string; port: number };
}

/** Fetches at most `bytesMax` bytes. */
export type FetchBytes = (url: URL, bytesMax: number) => Promise<Buffer>;

/** Time for name lookup, connection and response together, in milliseconds. */
const answerMs = 5_000;

/**
 * Creates a function that fetches small files. It uses a new connection, waits at most 5 seconds,
 * and follows no redirect, which would leave the trusted host. It rejects for any status but 2xx.
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
    return exchange(url, options, async (answer) => {
      const { statusCode = 0 } = answer;
      const refusal = (what: string) => new Error(`${url.host} answered ${what}.`);
      if (statusCode < 200 || statusCode > 299) throw refusal(String(statusCode));
      const { bytes, isCut } = await readBody(answer, bytesMax);
      if (isCut) throw refusal('too much, or what cannot be decoded');
      return bytes;
    });
  };
}
