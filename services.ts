import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Pool } from 'pg';
import { countedMax, readBacklog } from './db/backlog.ts';
import { findFleet } from './db/delivery/workers.ts';
import { type Database, openDatabase } from './db/database.ts';
import { encryptAddressKeys } from './db/suppression/keys.ts';
import { dispatchStore } from './db/outbox/dispatch-store.ts';
import { createDns } from './providers/dns.ts';
import { createCipher } from './providers/encryption.ts';
import { createFiles } from './providers/files.ts';
import { Metrics, type Reading } from './providers/metrics.ts';
import { createIdentities } from './providers/mail/identities.ts';
import { createPayments } from './providers/payments.ts';
import { createRenderer } from './providers/rendering/renderer.ts';
import { createWebhookSender } from './providers/web/webhook.ts';
import { createDispatcher } from './workflows/client/dispatcher.ts';
import { readQueueLags } from './workflows/client/task-queues.ts';

/** What the handlers of the API and the activities both use. */
export type SharedServices = ReturnType<typeof createSharedServices>;

/** What a process has opened before its services are made. */
export interface Opened {
  config: Config;
  db: Database;
  client: Client;
  log: Logger;
  /** Its own when not given. */
  metrics?: Metrics;
}

/**
 * The services that the API and the worker share, from the settings. None connects to anything or
 * starts a thread before it is used.
 * @param options.callsMax calls to Temporal under way at once
 */
export function createSharedServices(
  { config, db, client, log, metrics = new Metrics() }: Opened,
  options: { callsMax?: number } = {},
) {
  const cipher = createCipher(config);
  encryptAddressKeys(db, cipher);
  return {
    db,
    log,
    metrics,
    dispatcher: createDispatcher({
      client,
      taskQueue: config.temporal.taskQueue,
      store: dispatchStore(db),
      log,
      ...options,
    }),
    cipher,
    dns: createDns({ servers: config.dnsServers }),
    /** null: nothing can be uploaded. */
    files: createFiles(config.storage, config.apiUrl),
    identities: createIdentities(config.mail),
    /** null: billing is off. */
    payments: config.billing && createPayments(config.billing),
    renderer: createRenderer(),
    webhooks: createWebhookSender(config.webhook),
  };
}

/** How long the database may take for the backlog, in milliseconds: nobody else waits for it. */
const backlogTimeouts = { lockMs: 1_000, statementMs: 3_000, connectionMs: 2_000 };

/**
 * Serves the metrics of this process where the settings say so. Resolves with what ends that.
 * @param more the text of other metrics of this process
 * @throws Error with a sentence for the operator when the port is not available.
 */
export async function serveMetrics(
  config: Config,
  { metrics, client, pool }: { metrics: Metrics; client: Client; pool: () => Pool | null },
  more?: () => Promise<string>,
): Promise<() => Promise<void>> {
  if (config.metricsPort === null) return async () => {};
  // A connection of its own, closed when nobody asks: a pool in full use is what should be seen.
  const database = openDatabase(config.databaseUrl, { poolMax: 1, timeouts: backlogTimeouts });
  metrics.addReadings('process', () => readPool(pool()));
  metrics.addReadings('database', async () => {
    const { workers } = await findFleet(database.db);
    const help = 'Workers that have said in the last seconds that they live.';
    const backlog = describeBacklog(await readBacklog(database.db));
    return [...backlog, { name: 'workers_live', help, value: workers }];
  });
  metrics.addReadings('temporal', async () =>
    (await readQueueLags(client, config.temporal.taskQueue)).flatMap(
      ({ queue, kind, tasks, age, workers }) => {
        const labels = { queue, kind };
        return [
          {
            name: 'queue_tasks',
            help: 'Tasks that wait for a worker, about.',
            labels,
            value: tasks,
          },
          { name: 'queue_age_seconds', help: 'How long the first waits.', labels, value: age },
          { name: 'queue_workers', help: 'Workers that ask for tasks.', labels, value: workers },
        ];
      },
    ),
  );
  const server = await metrics.serve(config.metricsPort, more);
  return async () => {
    await server.close();
    await database.close();
  };
}

function readPool(pool: Pool | null): Reading[] {
  if (!pool) return [];
  const { totalCount, idleCount, waitingCount, options } = pool;
  const inState = (state: string, value: number) => ({
    name: 'database_connections',
    help: 'Connections of the pool in use and idle, and those who wait for one.',
    labels: { state },
    value,
  });
  const limit = 'The most connections of the pool: DATABASE_POOL_MAX.';
  return [
    inState('used', totalCount - idleCount),
    inState('idle', idleCount),
    inState('waiting', waitingCount),
    { name: 'database_connections_max', help: limit, value: options.max },
  ];
}

/** These are of the whole installation: each process says the same. */
function describeBacklog(backlog: Awaited<ReturnType<typeof readBacklog>>): Reading[] {
  const counted = (what: string) => `${what}; counted up to ${countedMax}.`;
  return [
    ['email_due', counted('Messages due, of projects and of campaigns'), backlog.emailsDue],
    ['email_due_age_seconds', 'How long the oldest of them has been due.', backlog.emailsDueAge],
    [
      'email_unknown',
      counted('Messages of which nobody knows yet whether they left'),
      backlog.emailsUnknown,
    ],
    ['outbox_entries', counted('What Temporal is still to be told'), backlog.outboxEntries],
    ['outbox_age_seconds', 'How long the oldest of it has waited.', backlog.outboxAge],
    ['executions_stuck', counted('Executions whose run cannot go on'), backlog.executionsStuck],
    ['executions_stuck_age_seconds', 'Since when the first cannot.', backlog.executionsStuckAge],
    ['provider_circuits_open', 'Mail providers that cannot take mail now.', backlog.circuitsOpen],
  ].map(([name, help, value]) => ({ name, help, value }) as Reading);
}
