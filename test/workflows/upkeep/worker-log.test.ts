import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { NativeConnection, Runtime } from '@temporalio/worker';
import { expect, inject, it } from 'vitest';
import { connectTemporal } from '../../../workflows/client/connection.ts';
import { createLog, temporalLog } from '../../../worker/log.ts';
import { composeWorker } from '../../../compose.ts';
import { startWorkers } from '../../../worker/workers.ts';
import { useApi } from '../../support/api.ts';
import { temporalAddress } from '../../support/servers.ts';

it('a worker that starts and stops has nothing to warn of', async () => {
  const lines: string[] = [];
  const log = createLog(
    { logLevel: 'info', environment: 'development' },
    new Writable({
      write(line: Buffer, _, done) {
        lines.push(line.toString());
        done();
      },
    }),
  );
  Runtime.install({ logger: temporalLog(log), shutdownSignals: [] });
  const api = await useApi();
  const { config, db } = api.services;
  const temporal = connectTemporal({ ...config.temporal, address: temporalAddress() });
  const connection = await NativeConnection.connect({ address: temporalAddress() });
  const { services, close } = await composeWorker({ config, db, client: temporal.client, log });
  const workers = await startWorkers({
    connection,
    namespace: 'default',
    taskQueue: `test-${randomUUID()}`,
    version: null,
    bundle: { codePath: inject('workflowBundle') },
    services,
    workflowConcurrency: 5,
    emailConcurrency: 5,
    bulkConcurrency: 5,
    webhookConcurrency: 20,
    eventConcurrency: 20,
  });
  await workers.stop();
  await close();
  await connection.close();
  await temporal.close();
  expect(lines).toEqual([]);
});
