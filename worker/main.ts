import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection, Runtime, type WorkflowBundleOption } from '@temporalio/worker';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { ConfigError, readConfig, type Config } from '../config.ts';
import { openDatabase } from '../db/database.ts';
import { watchDatabase } from '../db/watch.ts';
import { probeSoon } from '../db/delivery/provider-circuit.ts';
import { ForeignSchema, schemaState } from '../db/migrate.ts';
import { noticeCluster, otherCluster } from '../db/subscriptions/cluster.ts';
import { Metrics } from '../providers/metrics/metrics.ts';
import { composeWorker } from '../compose.ts';
import { serveMetrics } from '../compose-metrics.ts';
import {
  connectionOptions,
  connectTemporal,
  type Temporal,
} from '../workflows/client/connection.ts';
import { ensureSearchAttributes, isTemporalReady } from '../workflows/client/search-attributes.ts';
import { ensureSweep, keepSweep } from '../workflows/client/schedule.ts';
import { startFeedbackMailbox } from '../workflows/client/runs.ts';
import { loadWorkflows } from './bundle.ts';
import { serveHealth } from './health.ts';
import { keepHeapSmall } from './heap.ts';
import { createLog, temporalLog } from './log.ts';
import { IncompatibleVersion, replayOpenRuns } from './open-runs.ts';
import { sdkMetrics } from './sdk-metrics.ts';
import { startWorkers, type Workers } from './workers.ts';

/** Milliseconds between attempts to reach a server at the start. */
const retryMs = 1_000;

/** Runs a worker process. Any number of worker processes may run at the same time. */
async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = createLog(config);
  for (const warning of config.deprecated) log.warn(warning);
  // The SDK's own `shutdownSignals` are not used. This process stops the workers before it closes
  // the database and Temporal.
  const metrics = new Metrics();
  const sdk = await sdkMetrics(config);
  Runtime.install({
    logger: temporalLog(log, metrics),
    shutdownSignals: [],
    ...(sdk && { telemetryOptions: sdk.telemetryOptions }),
  });
  const stopped = stopAsked();
  const temporal = connectTemporal(config.temporal);
  let pool: Pool | null = null;
  const endMetrics = await serveMetrics(
    { config, metrics, client: temporal.client, log, pool: () => pool },
    sdk?.read,
  );
  const starting = start(config, temporal, log, metrics, (opened) => (pool = opened));
  const closeHealth = await openHealth(config, temporal, starting);
  const running = await Promise.race([starting, stopped]);
  // The process was asked to stop while it waited for its servers, so nothing has begun.
  if (!running) return;
  keepHeapSmall();
  log.info('ready');
  process.send?.({ ready: true });

  await Promise.race([stopped, running.done]);
  log.info('stopping');
  await running.stop();
  await closeHealth();
  await endMetrics();
  await temporal.close();
  log.info('stopped');
}

/** Serves health checks if the settings say so. Resolves with a function that stops serving. */
async function openHealth(
  { host, workerHealthPort: port, databaseUrl }: Config,
  temporal: Temporal,
  starting: Promise<Workers>,
): Promise<() => Promise<void>> {
  let workersRun = () => false;
  starting.then(
    (workers) => (workersRun = workers.isRunning),
    () => {},
  );
  if (port === null) return async () => {};
  const watch = watchDatabase(databaseUrl);
  const server = await serveHealth(
    { port, host },
    {
      workers: async () => workersRun(),
      database: () => watch.answers(),
      temporal: () => isTemporalReady(temporal),
    },
  );
  return async () => {
    await server.close();
    await watch.close();
  };
}

/** Starts the workers as soon as the database and Temporal are available. */
async function start(
  config: Config,
  temporal: Temporal,
  log: Logger,
  metrics: Metrics,
  onPool: (pool: Pool) => void,
): Promise<Workers> {
  // Bundling may take seconds and needs no server, so it runs during the wait for the servers.
  const bundling = loadWorkflows();
  bundling.catch(() => {});

  await schemaWithRetries(config, log);
  const database = openDatabase(config.databaseUrl, {
    poolMax: config.databasePoolMax,
    timeouts: config.databaseTimeouts.worker,
  });
  onPool(database.pool);
  if (await noticeCluster(database.db)) log.warn(otherCluster);
  const { services, circuits, close } = await composeWorker({
    config,
    db: database.db,
    onOtherServer: database.onOtherServer,
    client: temporal.client,
    log,
    metrics,
  });
  const connection = await connectWithRetries(config, log);
  await ensureSearchAttributes(temporal.client);
  const bundle = await bundling;
  if (config.replayOpenRuns) await checkOpenRuns(config, temporal, bundle, log);
  const workers = await startWorkers({
    connection,
    namespace: config.temporal.namespace,
    taskQueue: config.temporal.taskQueue,
    version: config.temporal.version,
    bundle,
    services,
    workflowConcurrency: config.workflowWorkerConcurrency,
    emailConcurrency: config.emailWorkerConcurrency,
    bulkConcurrency: config.bulkWorkerConcurrency,
    webhookConcurrency: config.webhookWorkerConcurrency,
    eventConcurrency: config.eventWorkerConcurrency,
  });
  await ensureSweep(temporal.client, config.temporal.taskQueue);
  const sweep = keepSweep(temporal.client, config.temporal.taskQueue, log);
  // The mailbox settings may have changed, so the run that reads the mailbox is signalled at once.
  // The sweep only starts a missing run.
  if (services.feedbackMailbox) {
    await startFeedbackMailbox(temporal.client, config.temporal.taskQueue, { isChanged: true });
  }
  services.dispatcher.watch();
  // The providers may take mail again after a restart, so their probes should come soon.
  for (const circuit of circuits) await probeSoon(database.db, circuit).catch(() => {});
  return {
    ...workers,
    async stop() {
      sweep.stop();
      await workers.stop();
      await close();
      await connection.close();
      await database.close();
    },
  };
}

/**
 * Replays a sample of the open runs. If the replay cannot be made, logs a warning and continues.
 * @throws IncompatibleVersion
 */
async function checkOpenRuns(
  config: Config,
  { client }: Temporal,
  bundle: WorkflowBundleOption,
  log: Logger,
): Promise<void> {
  try {
    const replayed = await replayOpenRuns(client, config.temporal.taskQueue, bundle);
    if (replayed === null)
      log.warn('replaying open runs took too long; starting without the rest of the check');
    else if (replayed > 0) log.info({ replayed }, 'open runs were replayed');
  } catch (error) {
    if (error instanceof IncompatibleVersion) throw error;
    log.warn({ error }, 'open runs could not be replayed; starting without the check');
  }
}

/**
 * Waits without limit until an API process, or `npm run migrate`, has migrated the database. The
 * processes of a new version may thus start in any order. A newer schema is accepted.
 * @throws ForeignSchema
 */
async function schemaWithRetries({ databaseUrl }: Config, log: Logger): Promise<void> {
  for (;;) {
    try {
      const { pending, newer } = await schemaState(databaseUrl);
      if (newer.length > 0) log.warn({ newer }, 'the database was migrated by a newer version');
      if (pending.length === 0) return;
      log.warn({ pending }, 'waiting for the database to be migrated');
    } catch (error) {
      if (error instanceof ForeignSchema) throw error;
      log.warn({ error }, 'waiting for the database');
    }
    await sleep(retryMs);
  }
}

/** Waits for Temporal without limit, because a worker can do nothing without it. */
async function connectWithRetries(config: Config, log: Logger): Promise<NativeConnection> {
  for (;;) {
    try {
      return await NativeConnection.connect(connectionOptions(config.temporal));
    } catch (error) {
      log.warn({ address: config.temporal.address, error }, 'waiting for Temporal');
      await sleep(retryMs);
    }
  }
}

/** Resolves when the process is asked to stop, or its parent process is gone. */
async function stopAsked(): Promise<void> {
  await Promise.race(['SIGTERM', 'SIGINT', 'disconnect'].map((event) => once(process, event)));
}

try {
  await main();
  process.exit(0);
} catch (error) {
  const isForOperator =
    error instanceof ConfigError ||
    error instanceof ForeignSchema ||
    error instanceof IncompatibleVersion;
  process.stderr.write(
    `${isForOperator ? error.message : ((error as Error).stack ?? String(error))}\n`,
  );
  process.exit(1);
}
