import { mkdir, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { holdDirectory } from '../../dev/lock.ts';
import { claimFreePort } from '../../dev/ports.ts';
import { waitFor } from './wait-for.ts';

/** AWS as other people wrote it down: the server of moto, from PyPI, on loopback. */
export interface Moto {
  endpoint: string;
  /** What it holds of a kind (`ses`, `RawMessage`), as it calls the parts. */
  list(service: string, kind: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

const run = promisify(execFile);

/** The path of the program, installed once per machine; null where Python or PyPI are missing. */
export async function findMoto(): Promise<string | null> {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const folder = join(cache, 'everpost', 'moto');
  const program = join(folder, 'bin', 'moto_server');
  const finished = join(folder, 'finished');
  if (existsSync(finished)) return program;
  await mkdir(folder, { recursive: true });
  const release = await waitForLock(folder);
  try {
    if (existsSync(finished)) return program;
    await run('python3', ['-m', 'venv', folder]);
    await run(join(folder, 'bin', 'pip'), ['install', '-q', 'moto[server,s3]==5.2.5'], {
      timeout: 300_000,
    });
    await mkdir(finished);
    return program;
  } catch {
    await rm(folder, { recursive: true, force: true });
    return null;
  } finally {
    await release();
  }
}

async function waitForLock(folder: string) {
  for (;;) {
    const release = await holdDirectory(folder);
    if (release) return release;
    await sleep(500);
  }
}

/** Starts the program that `findMoto` found. */
export async function startMoto(program: string): Promise<Moto> {
  const { port, release } = await claimFreePort();
  const child = spawn(program, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  const endpoint = `http://127.0.0.1:${port}`;
  const answers = () =>
    fetch(`${endpoint}/moto-api/`).then(
      ({ ok }) => ok,
      () => false,
    );
  await waitFor('moto', answers, 60_000);
  return {
    endpoint,
    async list(service, kind) {
      const all = await (await fetch(`${endpoint}/moto-api/data.json`)).json();
      return (
        (all as Record<string, Record<string, Record<string, unknown>[]>>)[service]?.[kind] ?? []
      );
    },
    async close() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
      await release();
    },
  };
}
