import { once } from 'node:events';
import { createServer, type Server, type ServerOptions } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { openDatabase } from '../db/database.ts';
import { watchDatabase } from '../db/watch.ts';
import { migrateToLatest, schemaState } from '../db/migrate.ts';
import { listen } from '../providers/listening.ts';
import { startReceiver } from '../providers/receiver.ts';
import { noticeCluster, otherCluster } from '../db/subscriptions/cluster.ts';
import { connectTemporal } from '../workflows/client/connection.ts';
import { keepSweep } from '../workflows/client/schedule.ts';
import { createApp } from './app.ts';
import { createLog } from './http/log.ts';
import { composeApi } from '../compose.ts';
import { serveMetrics } from '../compose-metrics.ts';
import { receiverHandler } from './services/receiver.ts';
import type { Services } from './services/services.ts';

/** Milliseconds that running requests have to end when the process is asked to stop. */
const requestsEndMs = 10_000;
/** Milliseconds that running requests have to respond after `stopping` was aborted. */
const requestsAnswerMs = 2_000;
/**
 * Milliseconds after which a process that was asked to stop exits in any case. The periodic sweep
 * starts or signals the runs for which the process had no time.
 */
const stopMs = 20_000;
export const serverOptions: ServerOptions = {
  /**
   * Longer than the 60 s for which load balancers keep idle connections. So the load balancer
   * closes a connection first, and never sends a request on a connection that this server is
   * closing.
   */
  keepAliveTimeout: 65_000,
  /** Headers come in a few packets, so a slower client is cut off. */
  headersTimeout: 15_000,
  /**
   * Enough for the largest body, 50 MB, at 3.5 megabits per second. `body.ts` rejects very slow
   * bodies earlier.
   */
  requestTimeout: 120_000,
  /** Milliseconds between two checks of these timeouts. */
  connectionsCheckingInterval: 5_000,
};

/**
 * Serves the API until the process is asked to stop. Any number of API processes may run at the
 * same time.
 * @param overrides services that replace the usual services, for example in a benchmark
 */
export async function serve(config: Config, overrides: Partial<Services> = {}): Promise<void> {
  const stopped = stopAsked();
  const log = createLog(config);
  for (const warning of [...config.warnings, ...config.deprecated]) log.warn(warning);
  await prepareSchema(config, log);
  const database = openDatabase(config.databaseUrl, {
    poolMax: config.databasePoolMax,
    timeouts: config.databaseTimeouts.api,
  });
  if (await noticeCluster(database.db)) log.warn(otherCluster);
  const watch = watchDatabase(config.databaseUrl);
  const temporal = connectTemporal(config.temporal);
  const stopping = new AbortController();
  const opened = { config, database, watch, temporal, log };
  const services = composeApi(opened, { stopping: stopping.signal, ...overrides });
  const { metrics } = services;
  const { client } = temporal;
  const endMetrics = await serveMetrics({
    config,
    metrics,
    client,
    log,
    pool: () => database.pool,
  });
  const app = createApp(services);
  const server = createServer(serverOptions, app.callback());
  await listen(server, { name: 'PORT', port: config.port, host: config.host });
  const { smtp } = config.mail.incoming;
  const receiver = smtp && (await startReceiver(smtp, receiverHandler(services)));
  services.dispatcher.watch();
  const sweep = keepSweep(temporal.client, config.temporal.taskQueue, log);
  log.info({ host: config.host, port: config.port, mail: config.mail.mode }, 'listening');
  process.send?.({ ready: true });

  await stopped;
  sweep.stop();
  setTimeout(() => process.exit(1), stopMs).unref();
  await Promise.all([endRequests(server, stopping), receiver?.close()]);
  await services.requestLog?.close();
  await services.settler.close();
  await services.dispatcher.close();
  await temporal.close();
  await watch.close();
  await endMetrics();
  await database.close();
  log.info('stopped');
}

/**
 * Migrates the database, or checks that it is migrated. A newer schema is accepted, because the
 * next version may already run.
 * @throws Error with a sentence for the operator when the schema is older than this version.
 */
async function prepareSchema(config: Config, log: Logger): Promise<void> {
  const { databaseUrl: url, databaseMigrateOnStart } = config;
  const { pending, newer } = databaseMigrateOnStart
    ? { pending: [], newer: await migrateToLatest(url, { onWait: (line) => log.warn(line) }) }
    : await schemaState(url);
  if (pending.length > 0) {
    throw new Error(
      `The database lacks the migration ${pending[0]}. Run npm run migrate first, or set ` +
        'DATABASE_MIGRATE_ON_START=true.',
    );
  }
  if (newer.length > 0) log.warn({ newer }, 'the database was migrated by a newer version');
}

/** Resolves when the process is asked to stop, by a signal or because its parent has ended. */
async function stopAsked(): Promise<void> {
  const asked = ['SIGTERM', 'SIGINT', 'disconnect'].map((event) => once(process, event));
  await Promise.race(asked);
}

/**
 * Refuses new requests and waits for the running requests. After `requestsEndMs`, aborts
 * `stopping`, which ends long requests.
 */
async function endRequests(server: Server, stopping: AbortController): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  setTimeout(() => stopping.abort(), requestsEndMs).unref();
  const deadline = Date.now() + requestsEndMs + requestsAnswerMs;
  // The call is repeated, because a keep-alive connection becomes idle without an event when its
  // request ends.
  while (Date.now() < deadline) {
    server.closeIdleConnections();
    const isClosed = await Promise.race([closed.then(() => true), sleep(100, false)]);
    if (isClosed) return;
  }
  server.closeAllConnections();
  await closed;
}
