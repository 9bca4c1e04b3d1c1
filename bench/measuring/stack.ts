import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { build } from '../../dev/build.ts';
import { claimFreePort } from '../../dev/servers/ports.ts';
import { startPostgres } from '../../dev/servers/postgres.ts';
import { end, launch } from '../../dev/servers/processes.ts';
import { readyMessage } from '../../dev/servers/supervisor.ts';
import { startTemporal } from '../../dev/servers/temporal.ts';
import { startTemporalOnPostgres } from '../../test/support/temporal-postgres.ts';
import type { BenchmarkRun } from './benchmark.ts';

const root = join(import.meta.dirname, '../..');

/** Everpost for one benchmark, with each part in its own process, as in production. */
export interface Stack {
  apiUrl: string;
  databaseUrl: string;
  temporalAddress: string;
  pool: pg.Pool;
  /** Process ids of `api`, `worker`, `temporal` and `postgres`. */
  pids: Readonly<Record<'api' | 'worker' | 'temporal' | 'postgres', number>>;
  /** Stops everything before the benchmark ends, so that another stack has the machine. */
  stop(): Promise<void>;
  /**
   * Starts one more Node program of the repository. Resolves when the program says that it is
   * ready.
   */
  startProgram(name: string, file: string, env?: Record<string, string>): Promise<ChildProcess>;
}

/** Options of every benchmark that has a stack. */
export const stackOptions = {
  /** More environment variables of the API and the worker: NAME=value,NAME=value. */
  set: '',
  /** Directory for V8 CPU profiles of the Node programs. */
  profile: '',
} as const;

/**
 * Starts PostgreSQL and Temporal in a new temporary directory and on free ports, and the API and a
 * worker from `npm run build`. Everything is durable as in production. Request limits and sending
 * limits are off, because they would limit the measurement.
 * @param settings more environment variables of all programs
 * @param historyShards shards of Temporal's production server, which then keeps its state in the
 * same PostgreSQL; null: Temporal's development server is used
 * @param apiFile the process entry of the API
 */
export async function startStack(
  whole: BenchmarkRun,
  settings: Record<string, string> = {},
  historyShards: number | null = null,
  apiFile = 'dist/api/main.js',
): Promise<Stack> {
  const cleanups: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  whole.defer(stop);
  const run = { ...whole, defer: (cleanup: () => Promise<unknown>) => void cleanups.push(cleanup) };
  const directory = await mkdtemp(join(tmpdir(), 'everpost-bench-'));
  run.defer(() => rm(directory, { recursive: true, force: true }));
  await mkdir(join(directory, 'logs'));
  const starting = startDatabase(run, directory);
  const [postgres, temporal] = await Promise.all([
    starting.then(async (server) => {
      await build();
      return server;
    }),
    startServer(run, directory, historyShards === null ? null : { historyShards, starting }),
  ]);
  const port = await freePort(run);
  const apiUrl = `http://127.0.0.1:${port}`;
  const env = {
    ...inherited(),
    NODE_ENV: 'benchmark',
    // The value is that of the Dockerfile.
    MALLOC_ARENA_MAX: '2',
    HOST: '127.0.0.1',
    PORT: String(port),
    API_URL: apiUrl,
    DATABASE_URL: postgres.url,
    TEMPORAL_ADDRESS: temporal.address,
    JWT_SECRET: 'benchmark-benchmark-benchmark-bench',
    RATE_LIMIT_ENABLED: 'false',
    // Everpost does not sign, because signing takes more CPU time than the rest of a message.
    // `--set=DKIM_SIGNING=own` measures it.
    DKIM_SIGNING: 'provider',
    EMAIL_RATE_LIMIT_PER_SECOND: '100000',
    EMAIL_RATE_PER_PROJECT_PER_SECOND: '100000',
    ...settings,
    ...pairs(run.text('set')),
  };
  const startProgram: Stack['startProgram'] = (name, file, more) =>
    startNode(run, { name, file, env: { ...env, ...more }, directory });
  // The API starts first, because it migrates the database that the worker reads.
  const api = await startProgram('api', apiFile);
  const worker = await startProgram('worker', 'dist/worker/main.js');
  const pool = new pg.Pool({ connectionString: postgres.url, max: 20 });
  pool.on('error', () => undefined);
  run.defer(() => pool.end());
  return {
    apiUrl,
    databaseUrl: postgres.url,
    temporalAddress: temporal.address,
    pool,
    pids: {
      api: api.pid ?? 0,
      worker: worker.pid ?? 0,
      temporal: await readPid(join(directory, 'temporal', 'temporal.pid')),
      postgres: await readPid(join(directory, 'postgres', 'cluster', 'postmaster.pid')),
    },
    startProgram,
    stop,
  };
}

/** Returns a port that is reserved until the benchmark ends. */
export async function freePort(run: BenchmarkRun): Promise<number> {
  const { port, release } = await claimFreePort();
  run.defer(release);
  return port;
}

/**
 * Returns the environment variables that a program inherits. All settings of the program come from
 * the benchmark.
 */
export function inherited(): Record<string, string> {
  const names = ['PATH', 'HOME', 'XDG_CACHE_HOME', 'TEMPORAL_CLI', 'TMPDIR', 'LANG'];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

async function startDatabase(run: BenchmarkRun, directory: string) {
  const starting = startPostgres({
    dataDir: join(directory, 'postgres'),
    port: await freePort(run),
    log: logFile(directory, 'postgres'),
    signal: run.signal,
  });
  run.defer(() => starting.then((server) => server.stop()).catch(() => undefined));
  return starting;
}

async function startServer(
  run: BenchmarkRun,
  directory: string,
  production: { historyShards: number; starting: Promise<{ url: string }> } | null,
) {
  const given = {
    dataDir: join(directory, 'temporal'),
    port: await freePort(run),
    log: logFile(directory, 'temporal'),
    onNotice: (sentence: string) => console.log(sentence),
    signal: run.signal,
  };
  const starting = production
    ? production.starting.then(({ url: postgresUrl }) =>
        startTemporalOnPostgres({
          ...given,
          postgresUrl,
          historyShards: production.historyShards,
        }),
      )
    : startTemporal({ ...given, uiPort: await freePort(run) });
  run.defer(() => starting.then((server) => server.stop()).catch(() => undefined));
  return starting;
}

async function startNode(
  run: BenchmarkRun,
  given: { name: string; file: string; env: Record<string, string>; directory: string },
): Promise<ChildProcess> {
  run.signal.throwIfAborted();
  const profiles = run.text('profile');
  const log = logFile(given.directory, given.name);
  const lastLines: string[] = [];
  const running = launch({
    command: process.execPath,
    args: [
      ...(profiles ? ['--cpu-prof', `--cpu-prof-dir=${resolve(profiles, given.name)}`] : []),
      ...(given.file.endsWith('.ts') ? ['--import', 'tsx'] : []),
      given.file,
    ],
    cwd: root,
    env: given.env,
    ipc: true,
    stopSignal: 'SIGTERM',
    onLine(line) {
      log(line);
      lastLines.push(line);
      if (lastLines.length > 6) lastLines.shift();
    },
  });
  run.defer(() => end(running, 'SIGTERM'));
  const over = new AbortController();
  await Promise.race([
    readyMessage(running.child, over.signal),
    running.ended.then((how) => {
      throw new Error(`${given.name} ended (${how}):\n  ${lastLines.join('\n  ')}`);
    }),
    once(run.signal, 'abort'),
  ]).finally(() => over.abort());
  return running.child;
}

function logFile(directory: string, name: string): (line: string) => void {
  const file = createWriteStream(join(directory, 'logs', `${name}.log`));
  return (line) => void file.write(`${line}\n`);
}

async function readPid(file: string): Promise<number> {
  return Number.parseInt(await readFile(file, 'utf8'), 10);
}

function pairs(text: string): Record<string, string> {
  const written = text.split(',').filter((pair) => pair !== '');
  // A value may contain `=`, as in NODE_OPTIONS.
  return Object.fromEntries(written.map((pair) => pair.split(/=(.*)/s, 2) as [string, string]));
}
