import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { arch, platform } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import {
  cachedPrograms,
  goInstall,
  inPath,
  isProgram,
  reason,
  type Search,
} from './program-cache.ts';

const run = promisify(execFile);

/** The last version that `go install` accepts; its server is 1.29.1. */
const version = '1.5.1';
const downloads = 'https://temporal.download/cli/archive';
const answerWithinMs = 5000;
const downloadWithinMs = 5 * 60_000;

export interface TemporalSearch extends Search {
  /** Address of the official archives; tests use another address. */
  downloads?: string;
}

/**
 * Finds the `temporal` program, in this order: TEMPORAL_CLI, PATH, the cache directory, the
 * official download, a build with Go. The download and the build fill the cache, once per machine.
 * @returns its absolute path
 * @throws Error that says what to do when no program is found
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

  const fill = async (directory: string) => {
    const obstacle = await download(directory, search);
    if (obstacle !== null) await build(directory, obstacle, search);
    await run(join(directory, 'temporal'), ['--version']);
  };
  const directory = await cachedPrograms(`temporal-${version}`, ['temporal'], fill, search);
  return join(directory, 'temporal');
}

// Returns the reason why the download failed; null when it succeeded.
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
    await goInstall(go, [`github.com/temporalio/cli/cmd/temporal@v${version}`], into, search);
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
