#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises';
import { commands } from './commands.ts';
import { exitCodes } from './frame/failure.ts';
import { runProgram } from './run.ts';

/** Time that a command has to say what it leaves behind after Ctrl-C. */
const farewellMs = 1_000;

const interrupted = new AbortController();
process.on('SIGINT', () => {
  // A second Ctrl-C ends the program at once.
  if (interrupted.signal.aborted) process.exit(exitCodes.interrupted);
  interrupted.abort();
  void sleep(farewellMs, null, { ref: false }).then(() => process.exit(exitCodes.interrupted));
});

// The reader of a pipe may stop before the end: `everpost logs | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? exitCodes.done : exitCodes.refused);
});

process.exitCode = await runProgram(process.argv.slice(2), commands, {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: interrupted.signal,
});
// An open terminal or connection must not keep the program alive.
process.stdin.unref?.();
