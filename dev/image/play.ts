import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { claimFreePort } from '../servers/ports.ts';
import { startPostgres } from '../servers/postgres.ts';
import { startTemporal } from '../servers/temporal.ts';
import type { ImageStore } from './build.ts';

/** Milliseconds in which a process must be ready, and mail must arrive. */
const patienceMs = 120_000;

/** The restrictions of an orchestrator. */
const restrictions = [
  '--network=host',
  '--ulimit=nofile=10000:10000',
  '--ulimit=nproc=20000:20000',
  '--read-only',
  '--tmpfs=/tmp',
  '--cap-drop=all',
  '--security-opt=no-new-privileges',
];
const runtime = ['--runtime', '/usr/sbin/runc', '--cgroup-manager', 'cgroupfs'];

type Settings = Record<string, string>;

/**
 * Runs the migrations, an API and a worker from an image, under restrictions and with a database role
 * that is no superuser. Sends a mail, waits until it arrives, and stops all by SIGTERM.
 * @throws Error with a sentence about the first thing that fails
 */
export async function playImage(
  store: ImageStore,
  image: string,
  onStep: (sentence: string) => void,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'everpost-image-'));
  const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const { databaseUrl, temporalAddress } = await startServers(folder, ends);
    const [port, healthPort] = [await freePort(), await freePort()];
    const settings: Settings = {
      DATABASE_URL: databaseUrl,
      TEMPORAL_ADDRESS: temporalAddress,
      JWT_SECRET: randomBytes(48).toString('base64'),
      API_URL: 'https://mail.shop.example',
      PLATFORM_FROM_ADDRESS: 'no-reply@shop.example',
      DATABASE_MIGRATE_ON_START: 'false',
      PORT: String(port),
      WORKER_HEALTH_PORT: String(healthPort),
    };
    const start = (program: string) => startContainer(store, { image, program, settings }, ends);
    const migrate = await start('db');
    await mustEnd(store, migrate, 'The migration');
    onStep('The migration has ended with 0.');
    const api = await start('api');
    const worker = await start('worker');
    await mustAnswer(store, api, `http://127.0.0.1:${port}/health`);
    await mustAnswer(store, worker, `http://127.0.0.1:${healthPort}/health/ready`);
    onStep('The API and the worker are ready.');
    await sendMail(port, databaseUrl);
    onStep('A mail has arrived.');
    for (const [name, container] of [
      ['The API', api],
      ['The worker', worker],
    ] as const) {
      await store.run('podman', [...runtime, 'kill', '--signal', 'TERM', container]);
      await mustEnd(store, container, name);
      onStep(`${name} has ended with 0 after SIGTERM.`);
    }
  } finally {
    for (const end of ends.toReversed()) await end().catch(() => undefined);
  }
}

async function freePort(): Promise<number> {
  const { port, release } = await claimFreePort();
  await release();
  return port;
}

/** Starts PostgreSQL with a role that owns its database and may do nothing else, and Temporal. */
async function startServers(folder: string, ends: (() => Promise<unknown>)[]) {
  const log = () => undefined;
  const port = await freePort();
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), port, log });
  ends.push(() => postgres.stop());
  const password = randomBytes(16).toString('hex');
  const admin = new pg.Client({ connectionString: postgres.url });
  await admin.connect();
  await admin.query(
    `create role image_test login nosuperuser nocreatedb nocreaterole password '${password}'`,
  );
  await admin.query('create database image_test owner image_test');
  await admin.end();
  const temporal = await startTemporal({
    dataDir: null,
    port: await freePort(),
    uiPort: await freePort(),
    log,
  });
  ends.push(() => temporal.stop());
  return {
    databaseUrl: `postgres://image_test:${password}@127.0.0.1:${port}/image_test`,
    temporalAddress: temporal.address,
  };
}

/** Starts `node dist/<program>/main.js` in a container, and returns the container's name. */
async function startContainer(
  store: ImageStore,
  { image, program, settings }: { image: string; program: string; settings: Settings },
  ends: (() => Promise<unknown>)[],
): Promise<string> {
  const name = `everpost-image-test-${program}-${process.pid}`;
  const env = Object.entries(settings).flatMap(([key, value]) => ['--env', `${key}=${value}`]);
  const command = ['node', `dist/${program}/main.js`];
  const options = ['run', '--detach', '--name', name, ...restrictions, ...env];
  await store.run('podman', [...runtime, ...options, image, ...command]);
  ends.push(() => store.run('podman', [...runtime, 'rm', '--force', '--volumes', name]));
  return name;
}

async function mustEnd(store: ImageStore, container: string, name: string): Promise<void> {
  const code = await store.run('podman', [...runtime, 'wait', container]);
  if (code !== '0')
    throw new Error(`${name} has ended with ${code}.\n${await logOf(store, container)}`);
}

async function logOf(store: ImageStore, container: string): Promise<string> {
  return store.run('podman', [...runtime, 'logs', '--tail', '20', container]);
}

async function mustAnswer(store: ImageStore, container: string, url: string): Promise<void> {
  const isReady = () =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
  if (await within(isReady)) return;
  throw new Error(`${url} does not answer.\n${await logOf(store, container)}`);
}

/** Signs up, and waits for the mail to the new user in the local mailbox. */
async function sendMail(port: number, databaseUrl: string): Promise<void> {
  const email = 'ada@people.example';
  const { status } = await fetch(`http://127.0.0.1:${port}/auth/signup`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email, password: randomBytes(12).toString('hex') }),
  });
  if (status !== 200) throw new Error(`The sign-up was answered with ${status}.`);
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    const hasArrived = async () => {
      const { rowCount } = await database.query(
        'select from mailbox_message where recipient = $1',
        [email],
      );
      return rowCount === 1;
    };
    if (!(await within(hasArrived))) throw new Error('The mail has not arrived.');
  } finally {
    await database.end();
  }
}

async function within(isDone: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + patienceMs;
  while (performance.now() < end) {
    if (await isDone()) return true;
    await sleep(250);
  }
  return false;
}
