import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';

/** Where addresses lead, other than the Internet: a test has all of them on its own machine. */
export interface Network {
  /** Authorities that vouch for hosts, as PEM. Default: those of Node.js. */
  hostAuthorities?: readonly string[];
  /** Where the connection for an address goes. Default: to its host and port. */
  connectTo?: (url: URL) => { hostname: string; port: number };
}

/** Fetches at most so many bytes. */
export type FetchBytes = (url: URL, bytesMax: number) => Promise<Buffer>;

/** For name, connection and answer together, in ms. */
const answerMs = 5_000;

/**
 * Makes what fetches small files of services: on a connection of its own, within 5 seconds, following
 * no redirect, which would leave the host that is trusted. It rejects for anything but a 2xx.
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
