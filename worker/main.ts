import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import { ConfigError, readConfig, type Config } from '../config.ts';
import { openDatabase } from '../db/database.ts';
import { ForeignSchema, schemaState } from '../db/migrate.ts';
import { connectionOptions, connectTemporal } from '../workflows/client/connection.ts';
import { ensureSearchAttributes } from '../workflows/client/search-attributes.ts';
import { ensureSweep } from '../workflows/client/schedule.ts';
import { bundleWorkflows } from './bundle.ts';
import { createLog, temporalLog } from './log.ts';
import { createServices } from './services.ts';
import { startWorkers, type Workers } from './workers.ts';

/** Pause between attempts to reach a server at the start, in milliseconds. */
const retryMs = 1_000;

/** The process entry of a worker. Any number of them may run. */
async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = createLog(config);
  // We handle signals ourselves: the mail worker must be told before the process ends.
  Runtime.install({ logger: temporalLog(log), shutdownSignals: [] });
  const stopped = stopAsked();
  const running = await Promise.race([start(config, log), stopped]);
  // Asked to stop while it waits for its servers: it has begun nothing.
  if (!running) return;
  log.info('ready');
  process.send?.({ ready: true });

  await Promise.race([stopped, running.done]);
  log.info('stopping');
  await running.stop();
}

/** Starts the workers as soon as the database and Temporal are there. */
async function start(config: Config, log: Logger): Promise<Workers> {
  // Takes seconds and needs no server: it runs while we connect.
  const bundling = bundleWorkflows();
  bundling.catch(() => {});

  await schemaWithRetries(config, log);
  const database = openDatabase(config.databaseUrl, {
    poolMax: config.databasePoolMax,
    timeouts: config.databaseTimeouts.worker,
  });
  const temporal = connectTemporal(config.temporal);
  const { services, close } = await createServices(config, database.db, temporal.client, log);
  const connection = await connectWithRetries(config, log);
  await ensureSearchAttributes(temporal.client);
  const workers = await startWorkers({
    connection,
    namespace: config.temporal.namespace,
    taskQueue: config.temporal.taskQueue,
    bundle: await bundling,
    services,
    workflowConcurrency: config.workflowWorkerConcurrency,
    emailConcurrency: config.emailWorkerConcurrency,
    bulkConcurrency: config.bulkWorkerConcurrency,
    webhookConcurrency: config.webhookWorkerConcurrency,
  });
  await ensureSweep(temporal.client, config.temporal.taskQueue);
  return {
    done: workers.done,
    async stop() {
      await workers.stop();
      await close();
      await connection.close();
      await temporal.close();
      await database.close();
    },
  };
}

/**
 * Waits without limit until somebody has migrated the database: an API, or `npm run migrate`. So
 * the processes of a new version may be started in any order. A newer schema is accepted.
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

/** Waits for Temporal without limit: a worker can do nothing without it. */
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
function stopAsked(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve());
    process.once('SIGINT', () => resolve());
    process.once('disconnect', () => resolve());
  });
}

try {
  await main();
  process.exit(0);
} catch (error) {
  process.stderr.write(
    `${error instanceof ConfigError ? error.message : ((error as Error).stack ?? String(error))}\n`,
  );
  process.exit(1);
}
