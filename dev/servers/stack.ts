import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { buildConsole } from '../builds/console.ts';
import { holdDirectory } from './lock.ts';
import { readLogFileSettings } from '../../providers/log-file-settings.ts';
import { logFile } from '../logs/log-file.ts';
import { announced } from './progress.ts';
import { claimPort } from './ports.ts';
import { endLeftoverPostgres, startPostgres } from './postgres.ts';
import { endLeftover } from './processes.ts';
import { keptSecret } from './secrets.ts';
import { readStackFile, removeStackFile, type StackFile, writeStackFile } from './stack-file.ts';
import { readyMessage, supervise, until } from './supervisor.ts';
import { endLeftoverTemporal, startTemporal } from './temporal.ts';

/** Paths of the Node.js programs of Everpost, which run with tsx from the repository's root. */
interface Programs {
  api: string;
  worker: string;
}

export interface StackOptions {
  /**
   * The environment: EVERPOST_DATA_DIR, PORT, DATABASE_URL, and the variables that the programs
   * themselves read.
   */
  env: NodeJS.ProcessEnv;
  programs: Programs;
  /** Receives the launcher's own messages. */
  print: (line: string) => void;
  /**
   * Receives each line that a program writes. The log file of the program also gets these lines.
   */
  log: (program: keyof Programs, line: string) => void;
  /** Aborts the start. */
  signal: AbortSignal;
}

export interface Stack {
  facts: StackFile;
  dataDir: string;
  /** The environment of the programs. */
  env: NodeJS.ProcessEnv;
  /** Stops everything, in order; resolves when no process is left. */
  stop: () => Promise<void>;
}

type Part = 'api' | 'worker' | 'temporal' | 'postgres' | 'file' | 'ports' | 'lock';
/**
 * The order of stopping: first the parts that create work, then the parts that do the work, then
 * the parts that store the work.
 */
const stopOrder: readonly Part[] = [
  'file',
  'api',
  'worker',
  'temporal',
  'postgres',
  'ports',
  'lock',
];

const root = join(import.meta.dirname, '../..');

/**
 * Starts Everpost on this machine: PostgreSQL and Temporal unless DATABASE_URL and TEMPORAL_ADDRESS
 * are set, then the API (which migrates the database), then a worker. Resolves when all are ready.
 * @throws Error with one sentence, after everything that was started has been stopped
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const stops = new Map<Part, () => Promise<void>>();
  const stop = async () => {
    for (const part of stopOrder) await stops.get(part)?.();
  };
  try {
    return { ...(await startParts(options, stops)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Stops = Map<Part, () => Promise<void>>;

async function startParts(options: StackOptions, stops: Stops): Promise<Omit<Stack, 'stop'>> {
  const { env, programs } = options;
  const dataDir = resolve(env['EVERPOST_DATA_DIR'] || './var');
  readLogFileSettings(env);
  await mkdir(join(dataDir, 'logs'), { recursive: true, mode: 0o700 });
  await takeDirectory(dataDir, stops);
  await endLeftovers(dataDir, programs);
  const secret = env['JWT_SECRET'] || (await keptSecret(join(dataDir, 'jwt-secret')));
  const port = await claim('PORT', 8080, options, stops);
  const [servers] = await Promise.all([
    startServers(options, dataDir, stops),
    env['CONSOLE'] === 'false' ? null : buildConsole(() => options.print('Building the console …')),
  ]);
  const facts: StackFile = {
    apiUrl: env['API_URL'] || `http://localhost:${port}`,
    ...servers,
    pid: process.pid,
  };
  const given = programEnv(env, { dataDir, secret, port, facts });
  await startPrograms({ ...options, env: given }, stops);
  stops.set('file', () => removeStackFile(dataDir));
  await writeStackFile(dataDir, facts);
  return { facts, dataDir, env: given };
}

function programEnv(
  env: NodeJS.ProcessEnv,
  found: { dataDir: string; secret: string; port: number; facts: StackFile },
): NodeJS.ProcessEnv & { EVERPOST_DATA_DIR: string; HOST: string; PORT: string } {
  return {
    ...env,
    EVERPOST_DATA_DIR: found.dataDir,
    DATABASE_URL: found.facts.databaseUrl,
    TEMPORAL_ADDRESS: found.facts.temporalAddress,
    JWT_SECRET: found.secret,
    // By default only this machine can reach the API, because it is a developer's machine.
    HOST: env['HOST'] || '127.0.0.1',
    PORT: String(found.port),
    API_URL: found.facts.apiUrl,
    TEMPORAL_UI_URL: found.facts.temporalUiUrl ?? '',
  };
}

// The API starts first, because it migrates the database that the worker reads.
async function startPrograms(
  options: StackOptions & { env: ReturnType<typeof programEnv> },
  stops: Stops,
): Promise<void> {
  const { env, programs, print, log, signal } = options;
  const files = {
    api: logOf('api', env.EVERPOST_DATA_DIR, env),
    worker: logOf('worker', env.EVERPOST_DATA_DIR, env),
  };
  const program = (part: keyof Programs) => ({
    command: process.execPath,
    args: ['--import', 'tsx', programs[part]],
    cwd: root,
    env,
    ipc: true,
    stopSignal: 'SIGTERM' as const,
    pidFile: join(env.EVERPOST_DATA_DIR, `${part}.pid`),
    shown: true,
    onLine: (line: string) => {
      files[part](line);
      log(part, line);
    },
    onNotice: print,
    signal,
  });
  let health = 'no answer yet';
  const url = `http://${listenerHost(env.HOST)}:${env.PORT}/health/ready`;
  const isReady = async (over: AbortSignal) => {
    const patience = AbortSignal.any([over, AbortSignal.timeout(5000)]);
    const answer = await fetch(url, { signal: patience });
    health = await answer.text();
    return answer.ok;
  };
  const api = supervise({
    ...program('api'),
    name: 'The API',
    ready: (_child, over) => until(() => isReady(over), over),
  });
  stops.set('api', (await announced(() => `the API (${health})`, api, print)).stop);
  const worker = supervise({
    ...program('worker'),
    env: { ...env, ...workerMetrics(env) },
    name: 'The worker',
    ready: readyMessage,
  });
  stops.set('worker', (await announced(() => 'the worker', worker, print)).stop);
}

function logOf(program: Part, dataDir: string, env: NodeJS.ProcessEnv): (line: string) => void {
  return logFile(join(dataDir, `logs/${program}.log`), readLogFileSettings(env));
}

// Each process serves its own metrics. The worker uses the port after the port of the API. If no
// port is set, the worker gets no port either, because processes with the default port find a free
// port by themselves.
function workerMetrics({ METRICS_PORT: port }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Number(port) > 0 ? { METRICS_PORT: String(Number(port) + 1) } : {};
}

// Locks the data directory, because two stacks on one directory would write the same files.
async function takeDirectory(dataDir: string, stops: Stops): Promise<void> {
  const release = await holdDirectory(dataDir);
  if (release) {
    stops.set('lock', release);
    return;
  }
  const running = await readStackFile(dataDir);
  const where = running ? ` at ${running.apiUrl} (process ${running.pid})` : '';
  throw new Error(
    `Everpost already runs on ${dataDir}${where}. ` +
      'Stop it first, or set EVERPOST_DATA_DIR to another directory to run a second one.',
  );
}

async function endLeftovers(dataDir: string, programs: Programs): Promise<void> {
  await removeStackFile(dataDir);
  await Promise.all([
    endLeftover(join(dataDir, 'api.pid'), programs.api, 'SIGTERM'),
    endLeftover(join(dataDir, 'worker.pid'), programs.worker, 'SIGTERM'),
  ]);
  await endLeftoverTemporal(join(dataDir, 'temporal'));
  await endLeftoverPostgres(join(dataDir, 'postgres'));
}

async function claim(
  variable: string,
  fallback: number,
  { env, print }: StackOptions,
  stops: Stops,
): Promise<number> {
  const { port, release } = await claimPort(variable, env[variable], fallback);
  if (!env[variable] && port !== fallback) {
    const links =
      variable === 'PORT' ? ' Links in mail that was already sent lead to the former port.' : '';
    print(`Port ${fallback} is taken: ${variable} is ${port} this time.${links}`);
  }
  const before = stops.get('ports');
  stops.set('ports', async () => {
    await release();
    await before?.();
  });
  return port;
}

type Servers = Pick<StackFile, 'databaseUrl' | 'temporalAddress' | 'temporalUiUrl'>;

// Starts PostgreSQL and Temporal at the same time. When one of them fails, the other is stopped, so
// that no server is left half started.
async function startServers(
  options: StackOptions,
  dataDir: string,
  stops: Stops,
): Promise<Servers> {
  const failure = new AbortController();
  const signal = AbortSignal.any([options.signal, failure.signal]);
  const together = { ...options, signal };
  const give = (error: unknown) => {
    failure.abort(error);
    throw error;
  };
  const [database, temporal] = await Promise.allSettled([
    ensurePostgres(together, dataDir, stops).catch(give),
    ensureTemporal(together, dataDir, stops).catch(give),
  ]);
  if (database.status === 'rejected' || temporal.status === 'rejected') throw signal.reason;
  return { databaseUrl: database.value, ...temporal.value };
}

async function ensurePostgres(
  options: StackOptions,
  dataDir: string,
  stops: Stops,
): Promise<string> {
  const { env, print, signal } = options;
  if (env['DATABASE_URL']) return env['DATABASE_URL'];
  const port = await claim('POSTGRES_PORT', 5432, options, stops);
  const log = logOf('postgres', dataDir, env);
  const work = startPostgres({
    dataDir: join(dataDir, 'postgres'),
    port,
    log,
    onNotice: print,
    signal,
  });
  const server = await announced(() => 'PostgreSQL', work, print);
  stops.set('postgres', () => server.stop());
  return server.url;
}

async function ensureTemporal(
  options: StackOptions,
  dataDir: string,
  stops: Stops,
): Promise<Omit<Servers, 'databaseUrl'>> {
  const { env, print, signal } = options;
  if (env['TEMPORAL_ADDRESS']) {
    const temporalUiUrl = env['TEMPORAL_UI_URL'] || null;
    return { temporalAddress: env['TEMPORAL_ADDRESS'], temporalUiUrl };
  }
  const port = await claim('TEMPORAL_PORT', 7233, options, stops);
  const work = startTemporal({
    dataDir: join(dataDir, 'temporal'),
    port,
    uiPort: await claim('TEMPORAL_UI_PORT', 8233, options, stops),
    namespace: env['TEMPORAL_NAMESPACE'] || 'default',
    log: logOf('temporal', dataDir, env),
    onNotice: print,
    signal,
  });
  const server = await announced(() => 'Temporal', work, print);
  stops.set('temporal', () => server.stop());
  return { temporalAddress: server.address, temporalUiUrl: server.uiUrl };
}

function listenerHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
