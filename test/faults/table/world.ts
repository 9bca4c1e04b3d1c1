import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock } from 'fs-native-extensions';
import { sql } from 'kysely';
import type { Database } from '../../../db/database.ts';
import { migrateToLatest } from '../../../db/migrate.ts';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { startPostgres } from '../../../dev/servers/postgres.ts';
import { startTemporal } from '../../../dev/servers/temporal.ts';
import { startTemporalOnPostgres } from '../../support/temporal-postgres.ts';
import type { TestAnswer } from '../../support/api.ts';
import { type Engine, useEngine } from '../../support/engine.ts';
import { type CountingSink, useCountingSink } from '../../support/fakes/counting-sink.ts';
import { type TcpProxy, useTcpProxy } from '../../support/fakes/tcp-proxy.ts';
import {
  type Program,
  startApiProcess,
  startWorkerProcess,
} from '../../support/processes/processes.ts';
import { atEnd, useFolder } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';
import { writeMail } from '../../support/mail-tables.ts';

/** A server of the world that can be stopped. */
export interface Server {
  /**
   * Kills it, and starts it again after half a second. Resolves with a function that waits for
   * the start.
   */
  kill(): Promise<() => Promise<void>>;
  /** Stops it, and starts it again after a while. */
  away(ms: number): Promise<void>;
}

type Api = Awaited<ReturnType<typeof startApiProcess>>;

/** The connections of Everpost's processes, each of which can be cut. */
export interface Lines {
  'API–PostgreSQL': TcpProxy;
  'API–Temporal': TcpProxy;
  'worker–PostgreSQL': TcpProxy;
  'worker–Temporal': TcpProxy;
  'worker–SMTP': TcpProxy;
}

/** A whole Everpost of real processes and its own servers, all of which can fail. */
export interface World {
  /** For arranging and reading; its own API runs in the process of the test. */
  engine: Engine;
  db: Database;
  sink: CountingSink;
  lines: Lines;
  postgres: Server;
  temporal: Server;
  apis: Api[];
  workers: Program[];
  /** Further settings of API processes that are started. */
  apiSettings: Record<string, string>;
  startApi(env?: Record<string, string>): Promise<Api>;
  startWorker(env?: Record<string, string>): Promise<Program>;
  /** Log lines of workers that have ended. */
  workerLines: string[];
  /** The folder of the workers' journals. */
  journalDir: string;
  /**
   * Sends a request to the API processes, repeated under one idempotency key until it is
   * answered, as a careful client does.
   */
  ask(method: string, path: string, body: unknown, key: string): Promise<TestAnswer>;
  /** Returns to one running process of each kind. */
  restore(): Promise<void>;
  /** Waits until the journals of dead workers are taken over. */
  journalsTaken(): Promise<void>;
  /** Ends the claims of dead APIs on idempotency keys, instead of waiting for minutes. */
  runOutKeys(): Promise<void>;
  /** Ends the claims of dead workers on mail, instead of waiting for minutes. */
  runOutClaims(): Promise<void>;
}

/** Starts the servers and one process of each kind. `mailsPerSecond`: the sending limit. */
export async function useWorld(mailsPerSecond: number): Promise<World> {
  const dataDir = await useFolder();
  const { url, ...postgres } = await usePostgres(join(dataDir, 'postgres'));
  const { address, ...temporal } = await useTemporal(join(dataDir, 'temporal'), url);
  await migrateToLatest(url);
  const sink = await useCountingSink();
  const database = new URL(url);
  const lines: Lines = {
    'API–PostgreSQL': await useTcpProxy(database.host),
    'API–Temporal': await useTcpProxy(address),
    'worker–PostgreSQL': await useTcpProxy(database.host),
    'worker–Temporal': await useTcpProxy(address),
    'worker–SMTP': await useTcpProxy(`127.0.0.1:${sink.port}`),
  };
  const through = ({ address: host }: TcpProxy) => {
    const line = new URL(url);
    line.host = host;
    return line.href;
  };
  const environment = {
    DATABASE_URL: url,
    SMTP_HOST: '127.0.0.1',
    SMTP_PORT: lines['worker–SMTP'].address.split(':')[1] ?? '',
    EMAIL_RATE_LIMIT_PER_SECOND: String(mailsPerSecond),
    EMAIL_RATE_PER_PROJECT_PER_SECOND: String(mailsPerSecond),
    DELIVERY_SETTLE_MINUTES: '0',
    // Pausing after refusals is a fault of its own.
    CAMPAIGN_PAUSE_ON_FAILURES: '0',
  };
  const engine = await useEngine(environment, { worker: false, temporalAddress: address });
  const journalDir = join(dataDir, 'journal');
  const { db } = engine.api;
  const world: World = {
    engine,
    db,
    sink,
    lines,
    postgres,
    temporal,
    apis: [],
    workers: [],
    workerLines: [],
    apiSettings: {},
    journalDir,
    startApi: (env = {}) =>
      startApiProcess(engine, {
        ...environment,
        DATABASE_URL: through(lines['API–PostgreSQL']),
        TEMPORAL_ADDRESS: lines['API–Temporal'].address,
        ...world.apiSettings,
        ...env,
      }),
    startWorker: (env = {}) =>
      startWorkerProcess(engine, {
        ...environment,
        JOURNAL_DIR: journalDir,
        DATABASE_URL: through(lines['worker–PostgreSQL']),
        TEMPORAL_ADDRESS: lines['worker–Temporal'].address,
        ...env,
      }),
    ask: (...request) => ask(world, ...request),
    async restore() {
      world.apis = await onlyOne(world.apis, world.startApi);
      world.workers = await onlyOne(world.workers, world.startWorker);
    },
    journalsTaken: async () => {
      const isTaken = async () => (await listLeft(journalDir)).length === 0;
      await waitFor('the journals of dead workers to be taken over', isTaken, 60_000);
    },
    async runOutKeys() {
      await sql`update idempotency set created_at = now() - interval '1 hour', renewed_at = null
        where status_code is null`.execute(db);
    },
    async runOutClaims() {
      const past = new Date(Date.now() - 60 * 60_000);
      await writeMail(db, (tx) =>
        tx
          .updateTable('email')
          .set({ lease_until: past })
          .where('status', '=', 'SENDING')
          .execute(),
      );
      // Not the claim of an attempt that is still recording its outcomes.
      await sql`update campaign_chunk set lease_until = ${past}
        where (campaign_id, number) in (select campaign_id, number from campaign_chunk
          where attempt_id is not null for update skip locked)`.execute(db);
    },
  };
  world.apis.push(await world.startApi());
  world.workers.push(await world.startWorker());
  atEnd(() => Promise.all([...world.apis, ...world.workers].map((program) => program.stop())));
  return world;
}

/** Returns the files of dead workers, whose journal is not taken over yet. */
export async function listLeft(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch(() => []);
  const left: string[] = [];
  for (const name of names.filter((one) => one.endsWith('.open'))) {
    const file = await open(join(dir, name), 'r+').catch(() => null);
    if (file && tryLock(file.fd)) left.push(join(dir, name));
    await file?.close();
  }
  return left;
}

async function onlyOne<P extends Program>(programs: P[], start: () => Promise<P>): Promise<P[]> {
  const [first, ...others] = programs.filter((program) => program.isRunning());
  await Promise.all(others.map((program) => program.stop()));
  return [first ?? (await start())];
}

async function usePostgres(dataDir: string): Promise<Server & { url: string }> {
  const { port, release } = await claimFreePort();
  atEnd(release);
  // Keeps its data, because a killed server must still have what it has confirmed.
  const start = () => startPostgres({ dataDir, port, log: () => {} });
  let server = await start();
  atEnd(() => server.stop());
  return {
    url: server.url,
    async kill() {
      await killGroup(join(dataDir, 'cluster/postmaster.pid'));
      return again(server, async () => void (server = await start()));
    },
    async away(ms) {
      await server.stop();
      await sleep(ms);
      server = await start();
    },
  };
}

/**
 * With FAULT_TEMPORAL=postgresql, this is Temporal's production server on the world's
 * PostgreSQL.
 */
async function useTemporal(
  dataDir: string,
  postgresUrl: string,
): Promise<Server & { address: string }> {
  const ports = [await claimFreePort(), await claimFreePort()];
  for (const { release } of ports) atEnd(release);
  const [port = 0, uiPort = 0] = ports.map((one) => one.port);
  const given = { dataDir, port, log: () => {} };
  const start = () =>
    process.env['FAULT_TEMPORAL'] === 'postgresql'
      ? startTemporalOnPostgres({ ...given, postgresUrl })
      : startTemporal({ ...given, uiPort });
  let server = await start();
  atEnd(() => server.stop());
  return {
    address: server.address,
    async kill() {
      await killGroup(join(dataDir, 'temporal.pid'));
      return again(server, async () => void (server = await start()));
    },
    async away(ms) {
      await server.stop();
      await sleep(ms);
      server = await start();
    },
  };
}

/** Its own supervisor would wait longer after each death. */
function again(killed: { stop(): Promise<void> }, start: () => Promise<void>) {
  const started = killed
    .stop()
    .then(() => sleep(restartMs))
    .then(start);
  return () => started;
}

const restartMs = 500;

/** Kills a server and its children: each is started in a process group of its own. */
async function killGroup(pidFile: string): Promise<void> {
  const pid = Number.parseInt(await readFile(pidFile, 'utf8'), 10);
  process.kill(-pid, 'SIGKILL');
}

const answerWithinMs = 15_000;
const askForMs = 150_000;

async function ask(world: World, ...[method, path, body, key]: Parameters<World['ask']>) {
  let turn = 0;
  return waitFor(
    `an answer to ${method} ${path}`,
    async () => {
      const api = world.apis[turn++ % world.apis.length];
      const answer = await Promise.race([
        api?.call(method, path, body, { 'Idempotency-Key': key }).catch(() => null),
        sleep(answerWithinMs, null, { ref: false }),
      ]);
      const isInProgress = answer?.body?.error?.code === 'IDEMPOTENCY_IN_PROGRESS';
      if (answer && answer.status < 500 && !isInProgress) return answer;
      await sleep(250);
      return null;
    },
    askForMs,
  );
}
