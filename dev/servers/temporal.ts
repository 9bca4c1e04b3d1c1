import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { Connection } from '@temporalio/client';
import { parse } from 'yaml';
import { z } from 'zod';

import { endLeftover } from './processes.ts';
import { supervise, until } from './supervisor.ts';
import { findTemporal } from './temporal-binary.ts';

export interface TemporalOptions {
  /**
   * Directory of `temporal.db`, created if missing; null: everything is kept in memory (for tests).
   */
  dataDir: string | null;
  port: number;
  uiPort: number;
  /** Namespace, created if missing; `default` by default. */
  namespace?: string;
  /** Receives each line that the server logs. */
  log: (line: string) => void;
  /**
   * Receives a message about a step that takes long, and when the server has died and is restarted.
   */
  onNotice?: (sentence: string) => void;
  /** Aborts the start. */
  signal?: AbortSignal;
  /** Further command line options of the server. */
  more?: readonly string[];
}

export interface TemporalServer {
  /** Address (host:port) of the frontend. */
  address: string;
  uiUrl: string;
  stop: () => Promise<void>;
}

/** The description of the development server. The file is also a Docker Compose file. */
const description = join(import.meta.dirname, '../..', 'temporal-dev.yml');
const Description = z.object({
  services: z.object({ temporal: z.object({ command: z.array(z.string()).min(1) }) }),
});

/**
 * Starts a Temporal development server on 127.0.0.1 as `temporal-dev.yml` describes it, and keeps
 * the server running until `stop`. Resolves when the namespace and its search attributes exist.
 * @throws Error when no `temporal` program is available, or with the last lines of the server when
 * it does not start
 */
export async function startTemporal(options: TemporalOptions): Promise<TemporalServer> {
  const onNotice = options.onNotice ?? options.log;
  const signal = options.signal ? { signal: options.signal } : {};
  const program = await findTemporal({ env: process.env, onNotice, ...signal });
  const dataDir = options.dataDir === null ? null : resolve(options.dataDir);
  const args = temporalArguments(await readFile(description, 'utf8'), { ...options, dataDir });
  const pidFile = dataDir === null ? {} : { pidFile: pidFileOf(dataDir) };
  if (dataDir !== null) {
    // Only the user may read the directory, because histories contain customers' texts.
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await endLeftoverTemporal(dataDir);
  }
  const address = `127.0.0.1:${options.port}`;
  const namespace = valuesOf(args, 'namespace')[0] ?? 'default';
  const searchAttributes = namesOf(args);
  const server = await supervise({
    name: 'Temporal',
    command: program,
    args,
    env: serverEnvironment(),
    stopSignal: 'SIGTERM',
    onLine: options.log,
    onNotice,
    ready: (_child, over) => until(() => isComplete(address, namespace, searchAttributes), over),
    ...pidFile,
    ...signal,
  });
  return { address, uiUrl: `http://localhost:${options.uiPort}`, stop: () => server.stop() };
}

/**
 * Returns the arguments of the description's `temporal` command, with the addresses, ports and
 * paths of this machine.
 * @param description the text of temporal-dev.yml
 * @throws Error when the description has no such command, or an option is missing
 */
export function temporalArguments(
  description: string,
  options: Pick<TemporalOptions, 'dataDir' | 'port' | 'uiPort' | 'namespace' | 'more'>,
): string[] {
  let args = Description.parse(parse(description)).services.temporal.command;
  const put = (option: string, value: string | null) => {
    const start = `--${option}=`;
    if (!args.some((arg) => arg.startsWith(start))) {
      throw new Error(`temporal-dev.yml: the command of the service temporal lacks ${start}…`);
    }
    args = args.flatMap((arg) => {
      if (!arg.startsWith(start)) return [arg];
      return value === null ? [] : [start + value];
    });
  };
  put('ip', '127.0.0.1');
  put('port', String(options.port));
  put('ui-port', String(options.uiPort));
  put('db-filename', options.dataDir === null ? null : databaseFile(options.dataDir));
  if (options.namespace) put('namespace', options.namespace);
  return [...args, ...(options.more ?? [])];
}

/** Stops a server that an interrupted start has left running on this directory. */
export function endLeftoverTemporal(dataDir: string): Promise<void> {
  const directory = resolve(dataDir);
  return endLeftover(pidFileOf(directory), databaseFile(directory), 'SIGTERM');
}

function pidFileOf(dataDir: string): string {
  return join(dataDir, 'temporal.pid');
}

function databaseFile(dataDir: string): string {
  return join(dataDir, 'temporal.db');
}

/** Returns the parts of the description that any Temporal server needs, with any database. */
export async function describedServer(): Promise<{
  searchAttributes: string[];
  dynamicConfig: [key: string, value: unknown][];
}> {
  const { command } = Description.parse(parse(await readFile(description, 'utf8'))).services
    .temporal;
  return {
    searchAttributes: namesOf(command),
    dynamicConfig: valuesOf(command, 'dynamic-config-value').map((pair) => {
      const [key = '', value = ''] = pair.split('=');
      return [key, JSON.parse(value)];
    }),
  };
}

function namesOf(args: readonly string[]): string[] {
  return valuesOf(args, 'search-attribute').map((pair) => pair.split('=')[0] ?? '');
}

/**
 * Returns true if the namespace has all wanted search attributes. Otherwise adds the missing
 * attributes and returns false. A Temporal server accepts connections before its attributes exist,
 * and creates them only together with a namespace. So an older data directory may lack attributes.
 */
export async function isComplete(
  address: string,
  namespace: string,
  wanted: readonly string[],
): Promise<boolean> {
  const connection = await Connection.connect({ address, connectTimeout: 1000 });
  try {
    await connection.workflowService.describeNamespace({ namespace });
    const { customAttributes } = await connection.operatorService.listSearchAttributes({
      namespace,
    });
    const missing = wanted.filter((name) => !Object.hasOwn(customAttributes ?? {}, name));
    if (missing.length === 0) return true;
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, keywordType])),
    });
    return false;
  } finally {
    await connection.close();
  }
}

/**
 * `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. All search attributes of Everpost are keywords.
 */
const keywordType = 2;

function valuesOf(args: readonly string[], option: string): string[] {
  const start = `--${option}=`;
  return args.filter((arg) => arg.startsWith(start)).map((arg) => arg.slice(start.length));
}

/**
 * Removes the TEMPORAL_… variables. They are meant for Everpost's processes, but the servers would
 * read them, too.
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  return Object.fromEntries(entries);
}
