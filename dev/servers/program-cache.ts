import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { holdDirectory, type Release } from './lock.ts';

const run = promisify(execFile);

const buildWithinMs = 30 * 60_000;

/** A tool that this machine lacks. The message names it. */
export class MissingTool extends Error {}

/** The parameters for finding programs that are not part of Everpost. */
export interface Search {
  /** The environment. PATH and XDG_CACHE_HOME are used. */
  env: NodeJS.ProcessEnv;
  /** Receives a message about a step that takes long. */
  onNotice: (sentence: string) => void;
  signal?: AbortSignal;
}

/**
 * Returns the directory `name` of the cache, with these programs in it. If a program is missing,
 * `fill` writes all programs into an empty directory. When all programs are complete, they are
 * moved into place, so the cache never has an incomplete program. If two starts run at the same
 * time, one of them fills the cache.
 */
export async function cachedPrograms(
  name: string,
  programs: readonly string[],
  fill: (directory: string) => Promise<void>,
  search: Search,
): Promise<string> {
  const cacheHome = search.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const directory = join(cacheHome, 'everpost', name);
  const isComplete = async () => {
    const found = await Promise.all(programs.map((program) => isProgram(join(directory, program))));
    return found.every(Boolean);
  };
  if (await isComplete()) return directory;
  await mkdir(directory, { recursive: true });
  const release = await waitForLock(directory, search);
  try {
    if (await isComplete()) return directory;
    const unfinished = join(directory, 'unfinished');
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(unfinished);
    await fill(unfinished);
    for (const program of programs) {
      await rename(join(unfinished, program), join(directory, program));
    }
    await rm(unfinished, { recursive: true, force: true });
    return directory;
  } finally {
    await release();
  }
}

async function waitForLock(directory: string, search: Search): Promise<Release> {
  for (let waits = 0; ; waits += 1) {
    const release = await holdDirectory(directory);
    if (release) return release;
    if (waits === 0) search.onNotice('Another process is fetching the same; waiting for it …');
    await sleep(500, undefined, search.signal ? { signal: search.signal } : {});
  }
}

/**
 * Builds Go packages (`path@version`) into a directory. @throws Error with the output of the
 * compiler.
 */
export async function goInstall(
  go: string,
  packages: readonly string[],
  into: string,
  search: Search,
): Promise<void> {
  await run(go, ['install', ...packages], {
    // Without cgo, no C compiler is needed.
    env: { ...search.env, GOBIN: into, CGO_ENABLED: '0' },
    timeout: buildWithinMs,
    ...(search.signal ? { signal: search.signal } : {}),
  });
}

/** Returns the path of a program in the directories of PATH; null: no directory has the program. */
export async function inPath(name: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  for (const directory of (env['PATH'] ?? '').split(delimiter)) {
    const path = join(directory, name);
    if (directory !== '' && (await isProgram(path))) return path;
  }
  return null;
}

/** Returns true if this path is a program that can be run. */
export function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Returns the last line of the innermost cause: "getaddrinfo ENOTFOUND temporal.download". */
export function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reason(error.cause);
  const code = 'code' in error ? String(error.code) : error.name;
  return error.message.trim().split('\n').at(-1) || code;
}
