import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { collectDefaultMetrics } from 'prom-client';
import { isSame } from '../web/secret-text.ts';
import { listen } from '../listening.ts';
import type { Metrics } from './metrics.ts';
import type { MetricsSettings } from './settings.ts';

/** Milliseconds between two measurements of the event loop's delay, while metrics are served. */
const eventLoopMs = 100;

/** The metrics that a process answers at `GET /metrics`. */
export interface Exposed {
  metrics: Metrics;
  /** Returns the metrics of another source, which are appended. */
  more?: (() => Promise<string>) | undefined;
}

/**
 * Serves the metrics of a process, and the metrics of Node.js.
 * @returns the port, and a function that stops serving
 * @throws Error with a sentence for the operator when no port is available
 */
export async function serveMetricsPort(
  { metrics, more }: Exposed,
  settings: MetricsSettings & { port: number },
): Promise<{ port: number; close(): Promise<void> }> {
  collectDefaultMetrics({
    register: metrics.registry,
    prefix: 'everpost_',
    eventLoopMonitoringPrecision: eventLoopMs,
  });
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    if (!isAllowed(request, settings.token)) {
      response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end();
      return;
    }
    metrics.text(more).then(
      (text) => response.writeHead(200, { 'Content-Type': metrics.registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  const port = await listenOnFreePort(server, settings);
  return {
    port,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function isAllowed({ headers }: IncomingMessage, token: string | null): boolean {
  return token === null || isSame(headers.authorization ?? '', `Bearer ${token}`);
}

/**
 * Listens on the port, or on one of the next ports if `otherPorts` allows this. Returns the port.
 */
async function listenOnFreePort(
  server: Server,
  { port: first, host, otherPorts }: MetricsSettings & { port: number },
): Promise<number> {
  for (let port = first; ; port += 1) {
    try {
      const where = { name: 'METRICS_PORT', port, host, hostSetting: 'METRICS_HOST' };
      await listen(server, where);
      return port;
    } catch (error) {
      const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
      if (code !== 'EADDRINUSE' || port === first + otherPorts) throw error;
    }
  }
}
