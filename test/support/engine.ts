import { randomUUID } from 'node:crypto';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { inject } from 'vitest';
import { composeWorker } from '../../compose.ts';
import { createLog } from '../../worker/log.ts';
import { startWorkers, type Workers, type WorkersOptions } from '../../worker/workers.ts';
import { connectTemporal, type Temporal } from '../../workflows/client/connection.ts';
import { type TestApi, type TestAnswer, useApi } from './api.ts';
import { temporalAddress } from './servers.ts';
import { waitFor } from './wait-for.ts';
import { atEnd } from './use.ts';

type Worker = Awaited<ReturnType<typeof composeWorker>>;

/** The whole of Everpost for a test: the real API, a worker, and its own task queue in Temporal. */
export interface Engine {
  api: TestApi;
  temporal: Temporal;
  taskQueue: string;
  /** The services of the engine's worker. */
  services: Worker['services'];
  project: { id: string; publicKey: string; secretKey: string };
  /** A verified sender domain of the project. */
  domain: string;
  /** Sends a request with the project's secret key. */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<TestAnswer>;
  /** Starts a worker, also after one was stopped, by default with the current workflow code. */
  startWorker(bundle?: WorkersOptions['bundle']): Promise<Workers>;
  stopWorker(): Promise<void>;
  /** Returns the mails to an address, oldest first, once there are `count`. */
  mailsTo(
    address: string,
    count: number,
    timeoutMs?: number,
  ): Promise<{ id: string; subject: string }[]>;
}

let installed = false;

/**
 * Starts an engine. `overrides` are environment variables by name. With `worker: false`, no worker
 * is started. `temporalAddress`: a server other than that of the test run.
 */
export async function useEngine(
  overrides: Record<string, string> = {},
  options: { worker?: boolean; temporalAddress?: string } = {},
): Promise<Engine> {
  if (!installed) Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  installed = true;
  const taskQueue = `test-${randomUUID()}`;
  const address = options.temporalAddress ?? temporalAddress();
  const settings = { address, namespace: 'default' };
  const temporal = connectTemporal({
    ...settings,
    apiKey: null,
    tlsCert: null,
    tlsKey: null,
    tlsCa: null,
  });
  const { client } = temporal;
  const api = await useApi({ TEMPORAL_TASK_QUEUE: taskQueue, ...overrides }, temporal);
  const log = createLog(api.services.config, api.log.stream);
  const connection = await NativeConnection.connect({ address: settings.address });
  const { services, close } = await composeWorker({
    config: api.services.config,
    db: api.db,
    client,
    log,
  });
  let workers: Workers | null = null;

  const project = await api.createProject((await api.signUp()).cookie);
  const domain = `${randomUUID()}.test`;
  const call: Engine['call'] = (method, path, body, headers = {}) =>
    api.request(method, path, { key: project.secretKey, body, headers });
  await call('POST', '/domains', { domain });

  const engine: Engine = {
    api,
    temporal,
    taskQueue,
    services,
    project,
    domain,
    call,
    async startWorker(bundle = { codePath: inject('workflowBundle') }) {
      workers = await startWorkers({
        connection,
        namespace: settings.namespace,
        taskQueue,
        version: null,
        bundle,
        services,
        workflowConcurrency: 20,
        emailConcurrency: 8,
        bulkConcurrency: 3,
        webhookConcurrency: 20,
        eventConcurrency: 20,
      });
      return workers;
    },
    async stopWorker() {
      await workers?.stop();
      workers = null;
    },
    async mailsTo(address, count, timeoutMs) {
      const path = `/local/mailbox?to=${encodeURIComponent(address)}`;
      const ask = async () => {
        const { body } = await api.request('GET', path);
        return body.length >= count ? body.toReversed() : null;
      };
      return waitFor(`${count} mails to ${address}`, ask, timeoutMs);
    },
  };
  atEnd(async () => {
    await engine.stopWorker();
    await api.services.dispatcher.close();
    await close();
    await connection.close();
    await temporal.close();
  });
  if (options.worker !== false) await engine.startWorker();
  return engine;
}
