import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';

/** Where addresses lead, if not to the Internet: tests have all of them on their own machine. */
export interface Network {
  /** Trusted authorities for hosts, as PEM. Default: those of Node.js. */
  hostAuthorities?: readonly string[];
  /** Where the connection for an address goes. Default: to its host and port. */
  connectTo?: (url: URL) => { hostname: string; port: number };
}

/** Fetches at most `bytesMax` bytes. */
export type FetchBytes = (url: URL, bytesMax: number) => Promise<Buffer>;

/** For name lookup, connection and response together, in ms. */
const answerMs = 5_000;

/**
 * Creates a function that fetches small files of services: on a new connection, within 5 seconds,
 * following no redirect, which would leave the trusted host. It rejects for anything but a 2xx.
 */
export function createFetcher({ hostAuthorities, connectTo }: Network): FetchBytes {
  return async (url, bytesMax) => {
    const options = {
      ...connectTo?.(url),
      ...(hostAuthorities ? { ca: [...hostAuthorities] } : {}),
      agent: false,
      servername: url.hostname,
      headers: { Host: url.host },
      signal: AbortSignal.timeout(answerMs),
    };
    return new Promise((resolve, reject) => {
      const get = url.protocol === 'https:' ? getHttps : getHttp;
      const request = get(url, options, (response) => {
        const refuse = (what: string) => {
          reject(new Error(`${url.host} answered ${what}.`));
          request.destroy();
        };
        const { statusCode = 0 } = response;
        if (statusCode < 200 || statusCode > 299) refuse(String(statusCode));
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size <= bytesMax) chunks.push(chunk);
          else refuse('too much');
        });
        response.on('error', reject);
        response.on('end', () => resolve(Buffer.concat(chunks)));
      });
      request.on('error', reject);
    });
  };
}
