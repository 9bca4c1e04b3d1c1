import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { holdDirectory } from '../../dev/servers/lock.ts';

/** A program from PyPI that simulates an external service or checks the API. */
export interface PythonTool {
  /** Name of the program's folder in the cache. Each version has a separate folder. */
  name: string;
  /** The requirement that pip installs, with the exact version. */
  requirement: string;
  /** Name of the installed program. */
  program: string;
}

const run = promisify(execFile);
const installMs = 300_000;

/**
 * Returns the path of a program, installed once per machine in the user's cache; null: Python with
 * pip, or PyPI, is not available.
 */
export async function findPythonTool(tool: PythonTool): Promise<string | null> {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const folder = join(cache, 'everpost', tool.name);
  const program = join(folder, 'bin', tool.program);
  const finished = join(folder, 'finished');
  if (existsSync(finished)) return program;
  await mkdir(folder, { recursive: true });
  const release = await waitForLock(folder);
  try {
    if (existsSync(finished)) return program;
    await run('python3', ['-m', 'venv', folder]);
    await run(join(folder, 'bin', 'pip'), ['install', '-q', tool.requirement], {
      timeout: installMs,
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
