import { once } from 'node:events';
import { join } from 'node:path';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { end, launch, type Running } from '../../../dev/servers/processes.ts';
import { readyMessage } from '../../../dev/servers/supervisor.ts';
import type { TestAnswer } from '../api.ts';
import type { Engine } from '../engine.ts';
import { temporalAddress } from '../servers.ts';
import { atEnd } from '../use.ts';

const root = join(import.meta.dirname, '../../..');
const readyWithinMs = 60_000;

/** The API or the worker, as a separate process. */
export interface Program {
  /** Log lines so far. */
  lines: string[];
  /** Resolves when the process has ended, with a description: "exit code 0", "SIGKILL". */
  ended: Promise<string>;
  /** Returns true until the process has ended. */
  isRunning(): boolean;
  signal(name: NodeJS.Signals): void;
  /** Kills the process without a warning, as the kernel does when memory is short. */
  kill(): Promise<void>;
  /** Asks the process to end. Resolves with a description when it has ended. */
  stop(): Promise<string>;
}

/**
 * Starts a worker process with the database and task queue of `engine`. `overrides` are environment
 * variables by name; `from.folder` has other sources. Resolves when the worker is ready.
 */
export async function startWorkerProcess(
  engine: Engine,
  overrides: Record<string, string> = {},
  from: { folder?: string; file?: string } = {},
): Promise<Program> {
  return startProgram('worker', { ...environmentOf(engine), ...overrides }, from);
}

/**
 * Starts an API process with the database and task queue of `engine`; `call` sends it a request
 * with the secret key of the engine's project.
 */
export async function startApiProcess(
  engine: Engine,
  overrides: Record<string, string> = {},
  from: { folder?: string; file?: string } = {},
): Promise<Program & { url: string; call: Engine['call'] }> {
  const { port, release } = await claimFreePort();
  const environment = { ...environmentOf(engine), HOST: '127.0.0.1', PORT: String(port) };
  const program = await startProgram('api', { ...environment, ...overrides }, from);
  void program.ended.then(release);
  return {
    ...program,
    url: `http://127.0.0.1:${port}`,
    async call(method, path, body, headers = {}): Promise<TestAnswer> {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: {
          Authorization: `Bearer ${engine.project.secretKey}`,
          'Content-Type': 'application/json',
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const { status } = response;
      return {
        status,
        headers: response.headers,
        body: JSON.parse((await response.text()) || 'null'),
      };
    },
  };
}

/** Like `startWorkerProcess`; the process is stopped at the end of the test or the file. */
export const useWorkerProcess = async (...given: Parameters<typeof startWorkerProcess>) =>
  stopped(await startWorkerProcess(...given));

/** Like `startApiProcess`; the process is stopped at the end of the test or the file. */
export const useApiProcess = async (...given: Parameters<typeof startApiProcess>) =>
  stopped(await startApiProcess(...given));

function stopped<P extends Program>(program: P): P {
  // An orderly stop, because other workers take over a killed worker's activities only after its
  // heartbeats are missed.
  atEnd(() => program.stop());
  return program;
}

function environmentOf({ api, taskQueue }: Engine): Record<string, string> {
  return {
    DATABASE_URL: api.services.config.databaseUrl,
    DATABASE_MIGRATE_ON_START: 'false',
    JWT_SECRET: api.services.config.jwtSecret,
    TEMPORAL_ADDRESS: temporalAddress(),
    TEMPORAL_TASK_QUEUE: taskQueue,
    API_URL: api.url,
    LOG_LEVEL: 'warn',
    RATE_LIMIT_ENABLED: 'false',
    JOURNAL_DIR: '',
  };
}

/**
 * Starts a program with exactly these environment variables. `folder`: the sources of another
 * version; `file`: another entry file; `lines`: receives the log lines at once. Resolves when the
 * program reports that it is ready. @throws Error with its last lines.
 */
export async function startProgram(
  part: 'api' | 'worker',
  env: Record<string, string>,
  {
    folder = root,
    file = `${part}/main.ts`,
    lines = [],
  }: { folder?: string; file?: string; lines?: string[] } = {},
): Promise<Program> {
  const running = launch({
    command: process.execPath,
    args: [...(file.endsWith('.ts') ? ['--import', 'tsx'] : []), join(folder, file)],
    cwd: folder,
    env: { PATH: process.env['PATH'], ...env },
    ipc: true,
    stopSignal: 'SIGTERM',
    onLine: (line) => lines.push(line),
  });
  const limit = AbortSignal.timeout(readyWithinMs);
  await Promise.race([
    readyMessage(running.child, limit),
    running.ended.then((how) => {
      throw new Error(`The ${part} ended (${how}):\n${lines.slice(-5).join('\n')}`);
    }),
  ]);
  return programOf(running, lines);
}

function programOf(running: Running, lines: string[]): Program {
  const { child, ended } = running;
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  return {
    lines,
    ended,
    isRunning,
    signal: (name) => void child.kill(name),
    async kill() {
      if (!isRunning()) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    async stop() {
      if (isRunning()) await end(running, 'SIGTERM');
      return ended;
    },
  };
}
