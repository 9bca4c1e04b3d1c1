import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { buildCli } from '../../dev/builds/cli.mjs';
import { atEnd, useFolder } from './use.ts';

export interface CliAnswer {
  exitCode: number;
  stdout: string;
  stderr: string;
  /** The JSON document on stdout. */
  // oxlint-disable-next-line typescript/no-explicit-any
  json: () => any;
}

/** A running command. */
export interface RunningCli {
  process: ChildProcess;
  /** The text on stdout so far. */
  stdout: () => string;
  ended: Promise<CliAnswer>;
}

export interface Cli {
  /** The folder in which commands run. */
  folder: string;
  /** The file in which login stores keys. */
  stored: string;
  /** Runs a command until its end. */
  run: (words: readonly string[], options?: CliOptions) => Promise<CliAnswer>;
  start: (words: readonly string[], options?: CliOptions) => RunningCli;
}

export interface CliOptions {
  env?: Record<string, string>;
  cwd?: string;
  stdin?: string;
}

let built: Promise<string> | undefined;

/**
 * Builds the command line and an empty folder for it. Commands have no terminal and no variables of
 * this process but PATH.
 */
export async function useCli(env: Record<string, string> = {}): Promise<Cli> {
  const program = await (built ??= buildCli());
  const [folder, home] = [await useFolder(), await useFolder()];
  const start = (words: readonly string[], options: CliOptions = {}): RunningCli => {
    const child = spawn(process.execPath, [program, ...words], {
      cwd: options.cwd ?? folder,
      env: { PATH: process.env.PATH, XDG_CONFIG_HOME: home, ...env, ...options.env },
    });
    atEnd(() => child.kill('SIGKILL'));
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdin.end(options.stdin ?? '');
    const ended = once(child, 'close').then(([code]: unknown[]) => {
      const json = () => JSON.parse(stdout) as unknown;
      return { exitCode: code as number, stdout, stderr, json };
    });
    return { process: child, stdout: () => stdout, ended };
  };
  return {
    folder,
    stored: join(home, 'everpost/config.json'),
    run: (words, options) => start(words, options).ended,
    start,
  };
}
