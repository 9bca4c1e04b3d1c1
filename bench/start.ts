import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimFreePort } from '../dev/servers/ports.ts';
import { startPostgres } from '../dev/servers/postgres.ts';
import { end, launch } from '../dev/servers/processes.ts';
import { startTemporal } from '../dev/servers/temporal.ts';
import { findTemporal } from '../dev/servers/temporal-binary.ts';
import type { Benchmark, BenchmarkRun } from './measuring/benchmark.ts';
import { figure, median, printTable } from './measuring/numbers.ts';
import { freePort, inherited } from './measuring/stack.ts';

const root = join(import.meta.dirname, '..');

/** The time from `npm start` until the addresses are printed. */
export const start: Benchmark = {
  summary: 'npm start until it is ready, cold and warm, against its PostgreSQL and Temporal alone',
  options: { rounds: '3' },
  async run(run) {
    const warn = (sentence: string) => console.log(sentence);
    // Finds the program before, so that a download or build is not measured.
    await findTemporal({ env: process.env, onNotice: warn, signal: run.signal });
    const seconds = { coldBare: [], warmBare: [], cold: [], warm: [] } as Record<
      'coldBare' | 'warmBare' | 'cold' | 'warm',
      number[]
    >;
    for (let index = 0; index < run.count('rounds'); index++) {
      const servers = await newDirectory(run);
      seconds.coldBare.push(await startServers(run, servers));
      seconds.warmBare.push(await startServers(run, servers));
      const everpost = await newDirectory(run);
      seconds.cold.push(await startEverpost(run, everpost));
      seconds.warm.push(await startEverpost(run, everpost));
    }
    const row = (name: string, values: number[], reference: number[]) => [
      name,
      figure(median(values)),
      figure(Math.max(...values)),
      figure(median(values.map((value, index) => value / (reference[index] ?? Number.NaN)))),
    ];
    printTable([
      ['', 'median s', 'slowest s', '× its servers alone'],
      row('npm start, new data directory', seconds.cold, seconds.coldBare),
      row('npm start, again', seconds.warm, seconds.warmBare),
      row('PostgreSQL and Temporal, new data directory', seconds.coldBare, seconds.coldBare),
      row('PostgreSQL and Temporal, again', seconds.warmBare, seconds.warmBare),
    ]);
  },
};

async function newDirectory(run: BenchmarkRun): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'everpost-bench-'));
  run.defer(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

// Returns the seconds until `npm start` is ready, and stops it afterwards.
async function startEverpost(run: BenchmarkRun, dataDir: string): Promise<number> {
  const env: Record<string, string> = { ...inherited(), EVERPOST_DATA_DIR: dataDir };
  for (const name of ['PORT', 'POSTGRES_PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT']) {
    const { port, release } = await claimFreePort();
    // `npm start` claims the port itself.
    await release();
    env[name] = String(port);
  }
  run.signal.throwIfAborted();
  const startedAt = performance.now();
  const lines: string[] = [];
  let isReady = () => {};
  const ready = new Promise<void>((resolve) => (isReady = resolve));
  const running = launch({
    // The command of `npm start`, because npm does not forward SIGTERM.
    command: process.execPath,
    args: ['--import', 'tsx', 'dev/start.ts'],
    cwd: root,
    env,
    stopSignal: 'SIGTERM',
    onLine(line) {
      lines.push(line);
      if (line === 'Everpost is running.') isReady();
    },
  });
  run.defer(() => end(running, 'SIGTERM'));
  await Promise.race([
    ready,
    running.ended.then((how) => {
      throw new Error(`npm start ended (${how}):\n${lines.join('\n')}`);
    }),
  ]);
  const seconds = (performance.now() - startedAt) / 1000;
  await end(running, 'SIGTERM');
  return seconds;
}

async function startServers(run: BenchmarkRun, directory: string): Promise<number> {
  const log = () => undefined;
  const [port, uiPort, databasePort] = [
    await freePort(run),
    await freePort(run),
    await freePort(run),
  ];
  run.signal.throwIfAborted();
  const startedAt = performance.now();
  const postgres = startPostgres({
    dataDir: join(directory, 'postgres'),
    port: databasePort,
    log,
    signal: run.signal,
  });
  const temporal = startTemporal({
    dataDir: join(directory, 'temporal'),
    port,
    uiPort,
    log,
    signal: run.signal,
  });
  const stop = async () => {
    await temporal.then((server) => server.stop()).catch(() => undefined);
    await postgres.then((server) => server.stop()).catch(() => undefined);
  };
  run.defer(stop);
  await Promise.all([postgres, temporal]);
  const seconds = (performance.now() - startedAt) / 1000;
  await stop();
  return seconds;
}
