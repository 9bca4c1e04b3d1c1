import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { atEnd } from '../use.ts';

export const root = join(import.meta.dirname, '../../..');
/** The variables with the ports of `npm start`. */
export const ports = ['PORT', 'POSTGRES_PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT'];
export const readyWithin = { timeout: 120_000, interval: 100 };

/** One start of the stack. */
export interface Start {
  child: ChildProcess;
  /** Output so far. */
  output: { text: string };
  /** Resolves when the stack prints that it is running. */
  ready(): Promise<void>;
}

/**
 * `npm start` with its own data directory and ports. At the end, the stack is stopped and the
 * directory removed.
 */
export interface Laptop {
  dataDir: string;
  /** The environment of each start. Tests may change it between starts. */
  env: NodeJS.ProcessEnv;
  /** @param command the arguments of npm, or another command */
  start(more?: NodeJS.ProcessEnv, command?: readonly string[]): Start;
}

export async function useLaptop(): Promise<Laptop> {
  const dataDir = await mkdtemp(join(tmpdir(), 'everpost-start-'));
  const { PATH, HOME, XDG_CACHE_HOME, TEMPORAL_CLI } = process.env;
  const env: NodeJS.ProcessEnv = { PATH, HOME, XDG_CACHE_HOME, TEMPORAL_CLI };
  env['EVERPOST_DATA_DIR'] = dataDir;
  for (const variable of ports) {
    const { port, release } = await claimFreePort();
    await release();
    env[variable] = String(port);
  }
  const launched: ChildProcess[] = [];
  atEnd(async () => {
    for (const child of launched) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await rm(dataDir, { recursive: true });
  });
  return {
    dataDir,
    env,
    start(more = {}, command = [process.execPath, '--import', 'tsx', 'dev/start.ts']) {
      const [program = '', ...args] = command;
      const child = spawn(program, args, { cwd: root, env: { ...env, ...more } });
      launched.push(child);
      const output = { text: '' };
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk: Buffer) => (output.text += chunk.toString()));
      }
      const ready = () =>
        vi.waitFor(() => {
          if (child.exitCode !== null) throw new Error(`npm start ended: ${output.text}`);
          expect(output.text).toContain('Everpost is running.');
        }, readyWithin);
      return { child, output, ready };
    },
  };
}
