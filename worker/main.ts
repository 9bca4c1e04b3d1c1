import { NativeConnection, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import { ConfigError, readConfig, type Config } from '../config.ts';
import { openDatabase } from '../db/database.ts';
import { connectionOptions, connectTemporal } from '../workflows/client/connection.ts';
import { ensureSearchAttributes } from '../workflows/client/search-attributes.ts';
import { ensureSweep } from '../workflows/client/schedule.ts';
import { bundleWorkflows } from './bundle.ts';
import { createLog, temporalLog } from './log.ts';
import { createServices } from './services.ts';
import { startWorkers } from './workers.ts';

/** The process entry of a worker. Any number of them may run. */
async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = createLog(config);
  // We handle signals ourselves: the mail worker must be told before the process ends.
  Runtime.install({ logger: temporalLog(log), shutdownSignals: [] });
  const stopped = stopAsked();
  // Takes seconds and needs no server: it runs while we connect.
  const bundling = bundleWorkflows();
  bundling.catch(() => {});

  const database = openDatabase(config.databaseUrl, { poolMax: config.databasePoolMax });
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
  log.info('ready');
  process.send?.({ ready: true });

  await Promise.race([stopped, workers.done]);
  log.info('stopping');
  await workers.stop();
  await close();
  await connection.close();
  await temporal.close();
  await database.close();
}

/** Waits for Temporal without limit: a worker can do nothing without it. */
async function connectWithRetries(config: Config, log: Logger): Promise<NativeConnection> {
  for (;;) {
    try {
      return await NativeConnection.connect(connectionOptions(config.temporal));
    } catch (error) {
      log.warn({ address: config.temporal.address, error }, 'waiting for Temporal');
      await new Promise((resolve) => setTimeout(resolve, 1000));
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
