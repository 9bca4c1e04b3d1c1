import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import pg from 'pg';
import { type ClaimedPort, claimFreePort } from '../../dev/servers/ports.ts';
import { endLeftover } from '../../dev/servers/processes.ts';
import {
  cachedPrograms,
  goInstall,
  inPath,
  isProgram,
  reason,
  type Search,
} from '../../dev/servers/program-cache.ts';
import { supervise, until } from '../../dev/servers/supervisor.ts';
import {
  describedServer,
  isComplete,
  serverEnvironment,
  type TemporalServer,
} from '../../dev/servers/temporal.ts';

const run = promisify(execFile);

/** The server version, the same as in the development server. */
const version = '1.29.1';
const module = 'go.temporal.io/server/cmd';
/** The default path of Go's installer, which does not change PATH. */
const usualGo = '/usr/local/go/bin/go';

export interface TemporalPostgresOptions {
  /**
   * Directory of the server's settings, which contain the password of PostgreSQL. Created if
   * missing.
   */
  dataDir: string;
  /**
   * URL of a PostgreSQL server with a user who may create databases: `temporal` and
   * `temporal_visibility` are created there, or upgraded.
   */
  postgresUrl: string;
  port: number;
  /** Namespace, created if missing; `default` by default. */
  namespace?: string;
  /**
   * Number of shards, fixed when the databases are created. 4 by default, as in Temporal's own
   * examples.
   */
  historyShards?: number;
  /** Receives each line that the server logs. */
  log: (line: string) => void;
  /** Receives a message when a step takes long, or when the server has died and is restarted. */
  onNotice?: (sentence: string) => void;
  /** Aborts the start. */
  signal?: AbortSignal;
}

/**
 * Finds the Temporal server and its schema tool in the cache, or builds them with Go, once per
 * machine.
 * @returns the directory of the programs `server` and `sql`
 * @throws Error with one sentence when Go is missing, or the build fails
 */
export async function findTemporalServer(search: Search): Promise<string> {
  const fill = async (directory: string) => {
    const go = (await inPath('go', search.env)) ?? ((await isProgram(usualGo)) ? usualGo : null);
    if (go === null) {
      throw new Error(`The Temporal server ${version} has to be built, and Go is not installed.`);
    }
    search.onNotice(`Building the Temporal server ${version} with Go (once): 3 to 5 minutes …`);
    const packages = ['server', 'tools/sql'].map((name) => `${module}/${name}@v${version}`);
    await goInstall(go, packages, directory, search).catch((error: unknown) => {
      search.signal?.throwIfAborted();
      throw new Error(`The Temporal server ${version} could not be built: ${reason(error)}`, {
        cause: error,
      });
    });
  };
  return cachedPrograms(`temporal-server-${version}`, ['server', 'sql'], fill, search);
}

/**
 * Starts the Temporal server that production uses on 127.0.0.1: frontend, history, matching and
 * worker in one process, with all state in PostgreSQL. Keeps it running until `stop`. Resolves when
 * the namespace and the search attributes of temporal-dev.yml exist.
 * @throws Error with one sentence when the programs are not available, or with the last lines of
 * the server when it does not start
 */
export async function startTemporalOnPostgres(
  options: TemporalPostgresOptions,
): Promise<Omit<TemporalServer, 'uiUrl'>> {
  const { signal, postgresUrl, namespace = 'default' } = options;
  const onNotice = options.onNotice ?? options.log;
  const programs = await findTemporalServer({
    env: process.env,
    onNotice,
    ...(signal && { signal }),
  });
  const dataDir = resolve(options.dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const pidFile = join(dataDir, 'temporal.pid');
  await endLeftover(pidFile, dataDir, 'SIGTERM');
  for (const [database, schema] of databases) {
    await prepareDatabase(join(programs, 'sql'), postgresUrl, database, schema);
  }
  const described = await describedServer();
  const ports: ClaimedPort[] = [];
  for (let count = 0; count < 7; count += 1) ports.push(await claimFreePort());
  const numbers = [options.port, ...ports.map(({ port }) => port)];
  await writeFile(
    join(dataDir, 'everpost.yaml'),
    JSON.stringify(settings(options, numbers, join(dataDir, 'dynamic.yaml'))),
    { mode: 0o600 },
  );
  const dynamic = described.dynamicConfig.map(([key, value]) => [key, [{ value }]]);
  await writeFile(join(dataDir, 'dynamic.yaml'), JSON.stringify(Object.fromEntries(dynamic)));

  const address = `127.0.0.1:${options.port}`;
  const isReady = async () => {
    await registerNamespace(address, namespace);
    return isComplete(address, namespace, described.searchAttributes);
  };
  const server = await supervise({
    name: 'Temporal',
    command: join(programs, 'server'),
    args: [`--root=${dataDir}`, '--config=.', '--env=everpost', '--allow-no-auth', 'start'],
    env: serverEnvironment(),
    stopSignal: 'SIGTERM',
    pidFile,
    onLine: options.log,
    onNotice,
    ready: (_child, over) => until(isReady, over),
    ...(signal && { signal }),
  });
  return {
    address,
    async stop() {
      await server.stop();
      for (const { release } of ports) await release();
    },
  };
}

/** The server's databases, each with the name of its schema in the schema tool. */
const databases = [
  ['temporal', 'postgresql/v12/temporal'],
  ['temporal_visibility', 'postgresql/v12/visibility'],
] as const;

/** Creates a database with its schema, or upgrades the schema. */
async function prepareDatabase(
  tool: string,
  postgresUrl: string,
  database: string,
  schema: string,
): Promise<void> {
  const found = await ask(postgresUrl, `select 1 from pg_database where datname = '${database}'`);
  if (found.length === 0) await ask(postgresUrl, `create database ${database}`);
  const url = new URL(postgresUrl);
  url.pathname = `/${database}`;
  const [{ table } = {}] = await ask(url.href, `select to_regclass('schema_version') as table`);
  const update = (...args: string[]) =>
    run(tool, [`--plugin=postgres12`, `--ep=${url.hostname}`, `--db=${database}`, ...args], {
      env: {
        SQL_PORT: url.port || '5432',
        SQL_USER: decodeURIComponent(url.username),
        SQL_PASSWORD: decodeURIComponent(url.password),
      },
    });
  if (!table) await update('setup-schema', '--version=0.0');
  await update('update-schema', `--schema-name=${schema}`);
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/**
 * Returns the settings of the server (https://docs.temporal.io/references/configuration), as JSON,
 * which is also YAML.
 */
function settings(
  { postgresUrl, historyShards }: TemporalPostgresOptions,
  ports: readonly number[],
  dynamicConfig: string,
): unknown {
  const { hostname, port, username, password } = new URL(postgresUrl);
  const store = (databaseName: string, connections: number) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `${hostname}:${port || 5432}`,
      connectProtocol: 'tcp',
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      maxConns: connections,
      maxIdleConns: connections,
      maxConnLifetime: '1h',
    },
  });
  const services = ['frontend', 'history', 'matching', 'worker'].map((name, index) => [
    name,
    {
      rpc: {
        grpcPort: ports[2 * index],
        membershipPort: ports[2 * index + 1],
        bindOnLocalHost: true,
      },
    },
  ]);
  const frontend = { rpcName: 'frontend', rpcAddress: `127.0.0.1:${ports[0]}` };
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      numHistoryShards: historyShards ?? 4,
      defaultStore: 'default',
      visibilityStore: 'visibility',
      datastores: { default: store('temporal', 20), visibility: store('temporal_visibility', 10) },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' } },
    services: Object.fromEntries(services),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: { active: { enabled: true, initialFailoverVersion: 1, ...frontend } },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: dynamicConfig, pollInterval: '60s' },
  };
}

/** Time for which closed runs are kept, the same as in compose.yml. */
const retention = '30 days';

async function registerNamespace(address: string, namespace: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 1000 });
  const { workflowService } = connection;
  try {
    const isThere = await workflowService.describeNamespace({ namespace }).then(
      () => true,
      () => false,
    );
    if (isThere) return;
    await workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs(retention),
    });
  } finally {
    await connection.close();
  }
}
