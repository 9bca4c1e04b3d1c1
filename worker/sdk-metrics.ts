import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { TelemetryOptions } from '@temporalio/worker';
import type { Config } from '../config.ts';

/**
 * Configures the metrics of Temporal's SDK. The SDK serves them on a free local port, and `read`
 * fetches them for METRICS_PORT. Returns null when metrics are off.
 */
export async function sdkMetrics({ metrics }: Pick<Config, 'metrics'>): Promise<{
  telemetryOptions: TelemetryOptions;
  read: () => Promise<string>;
} | null> {
  if (metrics.port === null) return null;
  const bindAddress = `127.0.0.1:${await freePort()}`;
  return {
    telemetryOptions: {
      metrics: {
        metricPrefix: 'everpost_temporal_',
        prometheus: {
          bindAddress,
          countersTotalSuffix: true,
          unitSuffix: true,
          useSecondsForDurations: true,
        },
      },
    },
    read: async () => (await fetch(`http://${bindAddress}/metrics`)).text(),
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
