import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it, vi } from 'vitest';

import { endLeftover, launch } from '../../../dev/servers/processes.ts';
import {
  readyMessage,
  supervise,
  type Supervised,
  type Supervision,
} from '../../../dev/servers/supervisor.ts';
import { atEnd, useFolder } from '../../support/use.ts';

const patiently = { timeout: 15_000, interval: 20 };

const directory = await useFolder();

/** Starts a Node program; `say` prints a line, `ready()` reports readiness. */
function program(code: string, more: Partial<Supervision> = {}) {
  const lines: string[] = [];
  const notices: string[] = [];
  const helpers =
    'const say = console.log; const ready = () => process.send({ ready: true });' +
    'const stay = () => setInterval(() => {}, 1000); say("pid " + process.pid);';
  const spec: Supervision = {
    name: 'The program',
    command: process.execPath,
    args: ['-e', helpers + code],
    env: process.env,
    ipc: true,
    stopSignal: 'SIGTERM',
    onLine: (line) => lines.push(line),
    onNotice: (sentence) => notices.push(sentence),
    ready: readyMessage,
    ...more,
  };
  const pids = () =>
    lines.flatMap(
      (line) =>
        line
          .match(/^pid (\d+)$/)
          ?.slice(1)
          .map(Number) ?? [],
    );
  return { spec, lines, notices, pids };
}

async function start(spec: Supervision): Promise<Supervised> {
  const supervised = await supervise(spec);
  atEnd(() => supervised.stop());
  return supervised;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('supervise', () => {
  it('resolves when the program says it is ready, and passes its lines on', async () => {
    const { spec, lines } = program('say("one"); console.error("two"); ready(); stay();');
    await start(spec);
    await vi.waitFor(
      () => expect(lines).toEqual(expect.arrayContaining(['one', 'two'])),
      patiently,
    );
  });

  it('starts a program again that was killed, and says so', async () => {
    const { spec, pids, notices } = program('ready(); stay();');
    await start(spec);
    await vi.waitFor(() => expect(pids()).toHaveLength(1), patiently);
    process.kill(pids()[0]!, 'SIGKILL');
    await vi.waitFor(() => expect(pids()).toHaveLength(2), patiently);
    expect(notices).toEqual(['The program ended (SIGKILL); starting it again in 0.5 s.']);
  });

  it('waits twice as long after each quick death', async () => {
    const { spec, notices } = program('ready(); setTimeout(() => process.exit(3), 20);');
    await start(spec);
    await vi.waitFor(() => expect(notices).toHaveLength(2), patiently);
    expect(notices).toEqual([
      'The program ended (exit code 3); starting it again in 0.5 s.',
      'The program ended (exit code 3); starting it again in 1 s.',
    ]);
  });

  it('fails with the last lines when the program dies before it is ready', async () => {
    const { spec } = program('console.error("PORT must be a number"); process.exit(2);');
    await expect(supervise(spec)).rejects.toThrow(
      /^The program ended before it was ready \(exit code 2\)\. .*PORT must be a number/s,
    );
  });

  it('does not repeat lines that were shown', async () => {
    const { spec } = program('process.exit(2);', { shown: true });
    await expect(supervise(spec)).rejects.toThrow(
      /^The program ended before it was ready \(exit code 2\)\.$/,
    );
  });

  it('fails with a clear reason when the program does not exist', async () => {
    const { spec } = program('', { command: join(directory, 'nothing') });
    await expect(supervise(spec)).rejects.toThrow(/ended before it was ready \(spawn .* ENOENT\)/);
  });

  it('leaves no process when the start is given up', async () => {
    const giveUp = new AbortController();
    const { spec, pids } = program('stay();', { signal: giveUp.signal });
    const start = supervise(spec);
    await vi.waitFor(() => expect(pids()).toHaveLength(1), patiently);
    giveUp.abort();
    await expect(start).rejects.toThrow(/aborted/);
    expect(isRunning(pids()[0]!)).toBe(false);
  });

  it('lets the program end in its own way and does not start it again', async () => {
    const { spec, lines, pids, notices } = program(
      'process.on("SIGTERM", () => { say("bye"); process.exit(0); }); ready(); stay();',
    );
    const supervised = await supervise(spec);
    await supervised.stop();
    expect(lines).toContain('bye');
    expect(isRunning(pids()[0]!)).toBe(false);
    expect(notices).toEqual([]);
  });

  it('stops while it waits to start a program again', async () => {
    const { spec, pids, notices } = program('ready(); setTimeout(() => process.exit(3), 20);');
    const supervised = await supervise(spec);
    await vi.waitFor(() => expect(notices).toHaveLength(1), patiently);
    await supervised.stop();
    expect(pids()).toHaveLength(1);
  });

  it('keeps the process id in a file while the program runs', async () => {
    const pidFile = join(directory, 'kept.pid');
    const { spec, pids } = program('ready(); stay();', { pidFile });
    const supervised = await supervise(spec);
    await vi.waitFor(() => expect(pids()).toHaveLength(1), patiently);
    expect(Number(await readFile(pidFile, 'utf8'))).toBe(pids()[0]);
    await supervised.stop();
    await expect(readFile(pidFile)).rejects.toThrow('ENOENT');
  });
});

describe('endLeftover', () => {
  const mark = 'everpost-leftover-mark';
  const sleeper = (pidFile: string) =>
    program(`stay(); // ${mark}`, { pidFile, ready: () => Promise.resolve() });

  it('stops the process of a pid file whose command line carries the mark', async () => {
    const pidFile = join(directory, 'left.pid');
    const { spec } = sleeper(pidFile);
    const { child, ended } = launch(spec);
    await vi.waitFor(() => expect(child.pid).toBeDefined(), patiently);
    await writeFile(pidFile, `${child.pid}\nmore\n`);
    await endLeftover(pidFile, mark, 'SIGTERM');
    expect(await ended).toBe('SIGTERM');
    await expect(readFile(pidFile)).rejects.toThrow('ENOENT');
  });

  it('leaves another program alone that has got the same process id', async () => {
    const pidFile = join(directory, 'reused.pid');
    const { spec, pids } = sleeper(pidFile);
    await start(spec);
    await vi.waitFor(() => expect(pids()).toHaveLength(1), patiently);
    await endLeftover(pidFile, 'another mark', 'SIGTERM');
    expect(isRunning(pids()[0]!)).toBe(true);
    await expect(readFile(pidFile)).rejects.toThrow('ENOENT');
  });

  it('does nothing without a pid file', async () => {
    await expect(endLeftover(join(directory, 'none'), mark, 'SIGTERM')).resolves.toBeUndefined();
  });
});
