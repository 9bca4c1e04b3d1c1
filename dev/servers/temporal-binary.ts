import { execFile } from 'node:child_process';
import { constants, createWriteStream } from 'node:fs';
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { arch, homedir, platform } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { holdDirectory, type Release } from './lock.ts';

const run = promisify(execFile);

/** The last version that `go install` accepts; its server is 1.29.1. */
const version = '1.5.1';
const downloads = 'https://temporal.download/cli/archive';
const answerWithinMs = 5000;
const downloadWithinMs = 5 * 60_000;
const buildWithinMs = 20 * 60_000;

export interface TemporalSearch {
  /** TEMPORAL_CLI, PATH, XDG_CACHE_HOME are read from it. */
  env: NodeJS.ProcessEnv;
  /** Receives a message about what takes long. */
  onNotice: (sentence: string) => void;
  /** Address of the official archives; another one in tests. */
  downloads?: string;
  signal?: AbortSignal;
}

/**
 * Finds the `temporal` program, the first of: TEMPORAL_CLI, PATH, our cache directory, the official
 * download, a build with Go. The last two fill the cache, once per machine.
 * @returns its absolute path
 * @throws Error that says what to do when there is none
 */
export async function findTemporal(search: TemporalSearch): Promise<string> {
  const { env } = search;
  if (env['TEMPORAL_CLI']) {
    const path = resolve(env['TEMPORAL_CLI']);
    if (await isProgram(path)) return path;
    throw new Error(`TEMPORAL_CLI=${env['TEMPORAL_CLI']} is not a program that can be run.`);
  }
  const onPath = await inPath('temporal', env);
  if (onPath !== null) return onPath;

  const directory = join(cacheHome(env), 'everpost', `temporal-${version}`);
  const cached = join(directory, 'temporal');
  if (await isProgram(cached)) return cached;
  await mkdir(directory, { recursive: true });
  const release = await waitForLock(directory, search);
  try {
    if (!(await isProgram(cached))) await fill(directory, search);
  } finally {
    await release();
  }
  return cached;
}

// Two simultaneous starts download it once.
async function waitForLock(directory: string, search: TemporalSearch): Promise<Release> {
  for (let waits = 0; ; waits += 1) {
    const release = await holdDirectory(directory);
    if (release) return release;
    if (waits === 0) search.onNotice('Another start is fetching Temporal; waiting for it …');
    await sleep(500, undefined, search.signal ? { signal: search.signal } : {});
  }
}

// Downloads into a separate directory and moves the finished program into place, so that the cache
// never has half a program.
async function fill(directory: string, search: TemporalSearch): Promise<void> {
  const unfinished = join(directory, 'unfinished');
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished);
  const obstacle = await download(unfinished, search);
  if (obstacle !== null) await build(unfinished, obstacle, search);
  await run(join(unfinished, 'temporal'), ['--version']);
  await rename(join(unfinished, 'temporal'), join(directory, 'temporal'));
  await rm(unfinished, { recursive: true, force: true });
}

// Returns why it did not work, null when it did.
async function download(into: string, search: TemporalSearch): Promise<string | null> {
  const machine = `platform=${platform()}&arch=${arch() === 'x64' ? 'amd64' : arch()}`;
  const url = `${search.downloads ?? downloads}/v${version}?${machine}`;
  search.onNotice(`Downloading Temporal ${version} (once) from ${new URL(url).host} …`);
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), answerWithinMs);
  const limits = [silence.signal, AbortSignal.timeout(downloadWithinMs)];
  const signal = AbortSignal.any(search.signal ? [...limits, search.signal] : limits);
  try {
    const answer = await fetch(url, { signal });
    clearTimeout(timer);
    if (!answer.ok || !answer.body) return `it answered ${answer.status}`;
    const archive = join(into, 'archive.tar.gz');
    await pipeline(Readable.fromWeb(answer.body), createWriteStream(archive), { signal });
    await run('tar', ['-xzf', archive, '-C', into, 'temporal'], { signal });
    return null;
  } catch (error) {
    search.signal?.throwIfAborted();
    if (silence.signal.aborted) return `no answer within ${answerWithinMs / 1000} seconds`;
    return reason(error);
  } finally {
    clearTimeout(timer);
  }
}

async function build(into: string, obstacle: string, search: TemporalSearch): Promise<void> {
  const go = await inPath('go', search.env);
  if (go === null) throw new Error(advice(`the download failed (${obstacle})`));
  search.onNotice(
    `The download failed (${obstacle}); building Temporal ${version} with Go instead.`,
  );
  search.onNotice('That takes 2 to 4 minutes, once on this machine.');
  try {
    await run(go, ['install', `github.com/temporalio/cli/cmd/temporal@v${version}`], {
      // Without cgo no C compiler is needed.
      env: { ...search.env, GOBIN: into, CGO_ENABLED: '0' },
      timeout: buildWithinMs,
      ...(search.signal ? { signal: search.signal } : {}),
    });
  } catch (error) {
    search.signal?.throwIfAborted();
    throw new Error(
      advice(`the download failed (${obstacle}) and so did the build with Go (${reason(error)})`),
      { cause: error },
    );
  }
}

function advice(why: string): string {
  return (
    `Temporal is not installed and could not be fetched: ${why}. Install the Temporal CLI ` +
    '(https://docs.temporal.io/cli) so that "temporal" is on the PATH, set TEMPORAL_CLI to its path, ' +
    'or set TEMPORAL_ADDRESS to a Temporal server that runs.'
  );
}

// The innermost cause in its last line: "getaddrinfo ENOTFOUND temporal.download".
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reason(error.cause);
  const code = 'code' in error ? String(error.code) : error.name;
  return error.message.trim().split('\n').at(-1) || code;
}

function cacheHome(env: NodeJS.ProcessEnv): string {
  return env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
}

async function inPath(name: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  for (const directory of (env['PATH'] ?? '').split(delimiter)) {
    const path = join(directory, name);
    if (directory !== '' && (await isProgram(path))) return path;
  }
  return null;
}

function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
