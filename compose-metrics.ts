import { statfs } from 'node:fs/promises';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Pool } from 'pg';
import type { Config } from './config.ts';
import { type Database, openDatabase } from './db/database.ts';
import { findFleet } from './db/delivery/workers.ts';
import { readBacklog } from './db/reads/backlog.ts';
import { countHeldMail } from './db/reads/held-mail.ts';
import { readClock, readSizes } from './db/reads/sizes.ts';
import { listOpenRestores } from './db/restores/restores.ts';
import { findWatermark } from './db/watermarks.ts';
import { policyHolds } from './domain/outcomes/policy-holds.ts';
import type { Metrics, Reading } from './providers/metrics/metrics.ts';
import { serveMetricsPort } from './providers/metrics/server.ts';
import packageJson from './package.json' with { type: 'json' };
import { readQueueLags, readRetention } from './workflows/client/task-queues.ts';

/** Connects the metrics of a process with their sources, and serves them. */

/**
 * Database timeouts for these readings, in milliseconds. Only the metrics wait for them.
 */
const timeouts = { lockMs: 1_000, statementMs: 3_000, connectionMs: 2_000 };
/** Milliseconds between two readings of the sizes of tables, which change slowly. */
const sizesMs = 60 * 60_000;

/** The parts of a process that its metrics are about. */
export interface Measured {
  config: Config;
  metrics: Metrics;
  client: Client;
  log: Logger;
  /** Returns the pool of the process; null: it is not open yet. */
  pool: () => Pool | null;
}

/**
 * Serves the metrics of this process, unless METRICS_PORT turns them off. Resolves with a function
 * that stops serving.
 * @param more returns further metrics of this process, as text
 * @throws Error with a sentence for the operator when the port is not available.
 */
export async function serveMetrics(
  measured: Measured,
  more?: () => Promise<string>,
): Promise<() => Promise<void>> {
  const { config, metrics, client, log, pool } = measured;
  const { port, ...settings } = config.metrics;
  if (port === null) return async () => {};
  // The metrics have their own connection, so that they can be read while all connections of the
  // pool are in use.
  const database = openDatabase(config.databaseUrl, { poolMax: 1, timeouts });
  metrics.addReadings(() => [...readBuild(config), ...readPool(pool()), ...readClocks(metrics)]);
  metrics.addReadings(() => readDisks(config));
  metrics.addReadings(() => readDatabase(database.db), { up: 'database_up' });
  metrics.addReadings(() => readTables(database.db), { everyMs: sizesMs });
  metrics.addReadings(() => readTemporal(client, config.temporal.taskQueue), { up: 'temporal_up' });
  const server = await serveMetricsPort({ metrics, more }, { ...settings, port });
  if (server.port !== port) {
    log.warn(
      { port: server.port },
      `Port ${port} is in use by another program, so the metrics are on port ${server.port}`,
    );
  }
  return async () => {
    await server.close();
    await database.close();
  };
}

function readBuild({ deprecated }: Config): Reading[] {
  const labels = { version: packageJson.version, node: process.version };
  return [
    { name: 'build_info', labels, value: 1 },
    { name: 'config_deprecated', value: deprecated.length },
  ];
}

function readPool(pool: Pool | null): Reading[] {
  if (!pool) return [];
  const { totalCount, idleCount, waitingCount, options } = pool;
  const inState = (state: string, value: number) =>
    ({ name: 'database_connections', labels: { state }, value }) as const;
  return [
    inState('used', totalCount - idleCount),
    inState('idle', idleCount),
    inState('waiting', waitingCount),
    { name: 'database_connections_max', value: options.max },
  ];
}

function readClocks({ temporalClock }: Metrics): Reading[] {
  const offsetMs = temporalClock.read(Date.now());
  return offsetMs === null ? [] : [clockOffset('temporal', offsetMs)];
}

function clockOffset(to: 'database' | 'temporal', offsetMs: number): Reading {
  return { name: 'clock_offset_seconds', labels: { to }, value: offsetMs / 1000 };
}

/** Reads the free space of the folders that this process has. */
async function readDisks({ dataDir, storage, journal }: Config): Promise<Reading[]> {
  const folders = {
    data: dataDir,
    uploads: storage.driver === 'local' ? storage.dir : null,
    journal: journal.dir,
  };
  const readings = Object.entries(folders).map(async ([name, folder]): Promise<Reading[]> => {
    const disk = folder === null ? null : await statfs(folder).catch(() => null);
    if (!disk) return [];
    const labels = { for: name };
    return [
      { name: 'disk_free_bytes', labels, value: disk.bavail * disk.bsize },
      { name: 'disk_total_bytes', labels, value: disk.blocks * disk.bsize },
    ];
  });
  return (await Promise.all(readings)).flat();
}

async function readDatabase(db: Database): Promise<Reading[]> {
  const { workers } = await findFleet(db);
  const backlog = await readBacklog(db);
  const held = await countHeldMail(db);
  const sweptAt = await findWatermark(db, 'sweep');
  const before = Date.now();
  const there = await readClock(db);
  const here = (before + Date.now()) / 2;
  const noneHeld = Object.fromEntries(policyHolds.map((reason) => [reason, 0]));
  return [
    { name: 'workers_live', value: workers },
    { name: 'email_due', value: backlog.emailsDue },
    { name: 'email_due_age_seconds', value: backlog.emailsDueAge },
    { name: 'email_unknown', value: backlog.emailsUnknown },
    ...Object.entries({ ...noneHeld, ...held }).map(([reason, value]): Reading => ({
      name: 'email_held',
      labels: { reason },
      value,
    })),
    { name: 'restores_open', value: (await listOpenRestores(db)).length },
    { name: 'outbox_entries', value: backlog.outboxEntries },
    { name: 'outbox_age_seconds', value: backlog.outboxAge },
    { name: 'executions_stuck', value: backlog.executionsStuck },
    { name: 'executions_stuck_age_seconds', value: backlog.executionsStuckAge },
    { name: 'provider_circuits_open', value: backlog.circuitsOpen },
    ...(sweptAt === null ? [] : [sweepAge(sweptAt, there)]),
    clockOffset('database', here - there),
  ];
}

function sweepAge(sweptAt: Date, now: number): Reading {
  return { name: 'sweep_age_seconds', value: (now - sweptAt.getTime()) / 1000 };
}

async function readTables(db: Database): Promise<Reading[]> {
  const { database, tables } = await readSizes(db);
  return [
    { name: 'database_bytes', value: database },
    ...Object.entries(tables).map(([table, value]): Reading => ({
      name: 'table_bytes',
      labels: { table },
      value,
    })),
  ];
}

async function readTemporal(client: Client, taskQueue: string): Promise<Reading[]> {
  const [lags, retention] = await Promise.all([
    readQueueLags(client, taskQueue),
    readRetention(client),
  ]);
  return [
    { name: 'temporal_retention_seconds', value: retention },
    ...lags.flatMap(({ queue, kind, tasks, age, workers }): Reading[] => {
      const labels = { queue, kind };
      return [
        { name: 'queue_tasks', labels, value: tasks },
        { name: 'queue_age_seconds', labels, value: age },
        { name: 'queue_workers', labels, value: workers },
      ];
    }),
  ];
}
