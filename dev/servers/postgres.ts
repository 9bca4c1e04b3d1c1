import { chmod, chown, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import pg from 'pg';

import { type Account, asAccount, postgresAccount, postgresBinaries } from './postgres-binaries.ts';
import { endLeftover, launch } from './processes.ts';
import { keptSecret } from './secrets.ts';
import { supervise, until } from './supervisor.ts';

export interface PostgresOptions {
  /** The folder of this server's data, with `cluster/` and `password`. Created if missing. */
  dataDir: string;
  port: number;
  /** Receives each line that the server logs. */
  log: (line: string) => void;
  /** Receives a message when the server has died and is restarted. */
  onNotice?: (sentence: string) => void;
  /**
   * True: faster, but all data are lost when the machine stops, and every account of the machine
   * may connect. For tests.
   */
  disposable?: boolean;
  /** Aborts the start. */
  signal?: AbortSignal;
}

export interface PostgresServer {
  /**
   * `postgres://everpost:…@127.0.0.1:<port>/everpost`; this user is the superuser. A disposable
   * server has a Unix domain socket instead, which halves the processor time of a query.
   */
  url: string;
  stop: () => Promise<void>;
}

/**
 * The major version of PostgreSQL that npm installs. A data directory can be used only by the major
 * version that created it.
 */
const majorVersion = '18';
const name = 'everpost';

/**
 * Starts a PostgreSQL server on 127.0.0.1, creates the database `everpost` if missing, and keeps
 * the server running until `stop`. First stops a server that an interrupted start has left running,
 * and removes files that it has left.
 * @throws Error with the last lines of the server when it does not start
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const dataDir = resolve(options.dataDir);
  const cluster = clusterOf(dataDir);
  const binaries = await postgresBinaries();
  await mkdir(dataDir, { recursive: true });
  const account = postgresAccount([dataDir, binaries.initdb]);
  await give(account, dataDir);
  await chmod(dataDir, 0o700);
  const passwordFile = join(dataDir, 'password');
  const password = await keptSecret(passwordFile);
  await give(account, passwordFile);
  await endLeftoverPostgres(dataDir);
  await createCluster({
    dataDir,
    cluster,
    passwordFile,
    initdb: binaries.initdb,
    account,
    disposable: options.disposable ?? false,
  });

  const adminUrl = `postgres://${name}:${password}@127.0.0.1:${options.port}/postgres`;
  const socket = options.disposable ? `?host=${encodeURIComponent(tmpdir())}` : '';
  const server = await supervise({
    name: 'PostgreSQL',
    ...asAccount(account, binaries.postgres, serverArguments(cluster, options)),
    cwd: '/',
    env: serverEnvironment(),
    // SIGINT is the "fast" shutdown, which closes connections and writes data.
    stopSignal: 'SIGINT',
    onLine: options.log,
    onNotice: options.onNotice ?? options.log,
    ready: (_child, signal) => until(() => answers(adminUrl), signal),
    ...(options.signal ? { signal: options.signal } : {}),
  });
  try {
    await createDatabase(adminUrl);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { url: adminUrl.replace(/postgres$/, name) + socket, stop: () => server.stop() };
}

/** Stops a server that an interrupted start has left running on this directory. */
export function endLeftoverPostgres(dataDir: string): Promise<void> {
  const cluster = clusterOf(resolve(dataDir));
  return endLeftover(join(cluster, 'postmaster.pid'), cluster, 'SIGINT');
}

function clusterOf(dataDir: string): string {
  return join(dataDir, 'cluster');
}

function serverArguments(cluster: string, options: PostgresOptions): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(options.port),
    // Only a disposable server has a socket in the file system, because the usual directory for it
    // belongs to the PostgreSQL of the system.
    unix_socket_directories: options.disposable ? tmpdir() : '',
    // Connections for one API and one worker with full pools, a demo, and a few psql sessions.
    max_connections: '200',
    // Errors are logged without rows, statements and values, because these contain data of
    // contacts.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    log_parameter_max_length: '0',
    log_parameter_max_length_on_error: '0',
    ...(options.disposable
      ? { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }
      : {}),
  };
  return [
    '-D',
    cluster,
    ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
  ];
}

async function createCluster(parts: {
  dataDir: string;
  cluster: string;
  passwordFile: string;
  initdb: string;
  account: Account | null;
  disposable: boolean;
}): Promise<void> {
  const version = await readFile(join(parts.cluster, 'PG_VERSION'), 'utf8').catch(() => null);
  if (version?.trim() === majorVersion) return;
  if (version !== null) {
    throw new Error(
      `${parts.cluster} was made by PostgreSQL ${version.trim()}, but this is PostgreSQL ${majorVersion}. ` +
        'Move the data with pg_dump, or choose another EVERPOST_DATA_DIR.',
    );
  }
  // The cluster is created under another name, so that an interrupted initdb does not leave a
  // directory that looks complete.
  const unfinished = `${parts.cluster}.new`;
  await rm(unfinished, { recursive: true, force: true });
  const lines: string[] = [];
  const { ended } = launch({
    ...asAccount(parts.account, parts.initdb, [
      `--pgdata=${unfinished}`,
      `--username=${name}`,
      `--pwfile=${parts.passwordFile}`,
      `--auth-local=${parts.disposable ? 'trust' : 'scram-sha-256'}`,
      '--auth-host=scram-sha-256',
      '--encoding=UTF8',
      // PostgreSQL's own Unicode rules give the same order and case on every machine, with any
      // system locales.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
    ]),
    cwd: '/',
    env: serverEnvironment(),
    stopSignal: 'SIGTERM',
    onLine: (line) => lines.push(line),
  });
  const how = await ended;
  if (how !== 'exit code 0') {
    throw new Error(
      `PostgreSQL could not make its data directory (${how}):\n  ${lines.slice(-4).join('\n  ')}`,
    );
  }
  await rename(unfinished, parts.cluster);
}

// Removes the PG… variables of the user's shell, which refer to another server.
function serverEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'));
  return { ...Object.fromEntries(entries), LC_ALL: 'C' };
}

async function give(account: Account | null, path: string): Promise<void> {
  if (account) await chown(path, account.uid, account.gid);
}

async function answers(url: string): Promise<boolean> {
  await withClient(url, (client) => client.query('select 1'));
  return true;
}

async function createDatabase(adminUrl: string): Promise<void> {
  await withClient(adminUrl, async (client) => {
    const found = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (found.rowCount === 0) await client.query(`create database ${name}`);
  });
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  // When a connection breaks, the current query fails. Without this listener, the error event would
  // also end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
