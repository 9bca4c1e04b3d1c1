import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

export type StopSignal = 'SIGTERM' | 'SIGINT';

export interface Command {
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  /** The system user that runs the process; needs root. */
  uid?: number;
  gid?: number;
  /**
   * Opens a message channel to a Node.js child. The child gets the event `disconnect` when this
   * process has ended.
   */
  ipc?: boolean;
  stopSignal: StopSignal;
  onLine: (line: string) => void;
}

export interface Running {
  child: ChildProcess;
  /**
   * Resolves when the process has ended, with a description: "exit code 1", "SIGKILL". Never
   * rejects.
   */
  ended: Promise<string>;
}

const killAfterMs = 15_000;

/**
 * Starts a process in its own process group. So Ctrl-C does not reach the new process, and this
 * process decides the order of stopping. The new process ends when this process ends, for whatever
 * reason.
 */
export function launch(command: Command): Running {
  const child = spawn(command.command, command.args, {
    env: command.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...(command.ipc ? (['ipc'] as const) : [])],
    ...(command.cwd === undefined ? {} : { cwd: command.cwd }),
    ...(command.uid === undefined ? {} : { uid: command.uid }),
    ...(command.gid === undefined ? {} : { gid: command.gid }),
  });
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on('line', (line) => command.onLine(line));
  }
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => {
      const how = signal ?? `exit code ${code}`;
      child.once('close', () => resolve(how));
      // A grandchild may keep the output open, so the end of the output is not awaited. The last
      // lines have arrived by now.
      setTimeout(() => resolve(how), 500);
    });
  });
  if (child.pid !== undefined) endWithUs(child, child.pid, command.stopSignal);
  return { child, ended };
}

/**
 * Stops a process: signals the process, and kills its process group after 15 seconds. Resolves when
 * the process has ended.
 */
export async function end(running: Running, stopSignal: StopSignal): Promise<void> {
  const { child } = running;
  child.kill(stopSignal);
  const timer = setTimeout(() => {
    if (child.pid !== undefined) send(-child.pid, 'SIGKILL');
  }, killAfterMs);
  await running.ended;
  clearTimeout(timer);
}

/**
 * Stops a process that an interrupted start has left running: the process in a pid file, if it
 * still runs and its command line contains `mark`. Any other pid file is outdated (process ids are
 * reused) and removed.
 */
export async function endLeftover(
  pidFile: string,
  mark: string,
  stopSignal: StopSignal,
): Promise<void> {
  const text = await readFile(pidFile, 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  if (!(pid > 1)) return;
  const runs = () => commandLineOf(pid).includes(mark);
  const deadline = Date.now() + killAfterMs;
  if (runs()) send(pid, stopSignal);
  while (runs()) {
    if (Date.now() > deadline) send(-pid, 'SIGKILL');
    await sleep(100);
  }
  await rm(pidFile, { force: true });
}

// Starts a shell that waits until its input is closed. The kernel closes the input when this
// process dies, even by kill -9. The shell then stops the child as `end` would. If the child exits
// first, this process kills the shell, before the child's process id can be reused.
function endWithUs(child: ChildProcess, pid: number, stopSignal: StopSignal): void {
  const script = `read -r _; kill -s "$1" "$0"
    n=0; while kill -0 "$0"; do n=$((n+1)); [ $n -gt 60 ] && kill -s KILL "-$0"; sleep 0.25; done`;
  const guard = spawn('sh', ['-c', script, String(pid), stopSignal.slice(3)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.on('error', () => undefined);
  guard.unref();
  child.once('exit', () => guard.kill('SIGKILL'));
}

// A negative process id stands for the whole process group.
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended in the meantime.
  }
}

// Returns the command line of a process; empty when the process does not exist.
function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    if (process.platform === 'linux') return '';
    return spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
      .stdout;
  }
}
