import { resolve } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { checkOperands, readArguments } from './frame/arguments.ts';
import { clientOf, ServerClock } from './frame/client.ts';
import type { Call, Command } from './frame/command.ts';
import type { Environment } from './frame/environment.ts';
import { type ExitCode, exitCodes, shownError, wrongCall } from './frame/failure.ts';
import { hintOf } from './frame/hint.ts';
import { commandHelp, programHelp } from './frame/help.ts';
import { Output } from './frame/output.ts';
import { findProject, profileName } from './frame/profiles.ts';
import { Questions } from './frame/questions.ts';
import { readSettings } from './frame/settings.ts';
import { render, type Text } from './frame/text.ts';

/** The process in which a command runs. */
export interface Host {
  env: Environment;
  cwd: string;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
}

/** Runs the command that the words name. Returns the exit code. */
export async function runProgram(
  words: readonly string[],
  commands: readonly Command[],
  host: Host,
): Promise<ExitCode> {
  const { env, stdout, stderr, signal } = host;
  // Until the options are read, an error is shown in the format that they ask for.
  const format = words.includes('--json') ? 'json' : undefined;
  let output = new Output({ format, env, stdout, stderr });
  try {
    const [first, ...rest] = words;
    if (first === '--version') return show(output, [packageJson.version]);
    if (first === undefined || first === '--help') return show(output, programHelp(commands));
    if (first === 'help') return help(output, commands, rest[0]);
    const command = findCommand(commands, first);
    const isHelp = rest.slice(0, endOf(rest)).includes('--help');
    if (isHelp) return show(output, commandHelp(command));
    const { options, operands } = readArguments(command, rest);
    checkOperands(command, operands);
    output = new Output({
      format: options['json'] ? 'json' : options['text'] ? 'text' : undefined,
      env,
      stdout,
      stderr,
    });
    const call = callOf(host, { options, operands, output, commands });
    return (await command.run(call)) ?? exitCodes.done;
  } catch (error) {
    if (signal.aborted) return exitCodes.interrupted;
    const shown = shownError(error);
    output.error(shown);
    return shown.exitCode;
  }
}

function endOf(words: readonly string[]): number {
  const end = words.indexOf('--');
  return end === -1 ? words.length : end;
}

function help(output: Output, commands: readonly Command[], name: string | undefined): ExitCode {
  if (name === undefined) return show(output, programHelp(commands));
  return show(output, commandHelp(findCommand(commands, name)));
}

function show(output: Output, lines: readonly Text[]): ExitCode {
  output.raw(`${lines.map((line) => render(line, false)).join('\n')}\n`);
  return exitCodes.done;
}

/** @throws Failure naming the most similar command */
function findCommand(commands: readonly Command[], name: string): Command {
  const found = commands.find((command) => command.name === name);
  if (found) return found;
  if (name.startsWith('-')) {
    throw wrongCall(`There is no option ${name} before a command. See everpost --help.`);
  }
  const names = commands.map((command) => command.name);
  const hint = hintOf(name, names) || ' See everpost --help.';
  throw wrongCall(`There is no command "${name}".${hint}`);
}

type Given = Pick<Call, 'operands' | 'output' | 'commands'> & { options: unknown };

function callOf(host: Host, given: Given): Call {
  const { env, cwd, stdin, stderr, signal } = host;
  const options = given.options as Call['options'];
  const dir = resolve(cwd, options.dir ?? '.');
  const clock = new ServerClock();
  let settings: ReturnType<typeof readSettings> | undefined;
  const call: Call = {
    ...given,
    options,
    questions: new Questions({ stdin, stderr, signal }),
    dir,
    cwd,
    env,
    signal,
    stdin: () => readAll(stdin),
    settings: () => (settings ??= readSettings(dir)),
    project: async (profile) =>
      findProject(profileName(profile ?? options.profile, env), env, await call.settings()),
    async api(profile) {
      return clientOf(await call.project(profile), signal, clock);
    },
    async serverTime() {
      const everpost = await call.api();
      await everpost.get('/api-keys/@me', { signal });
      return clock.now();
    },
  };
  return call;
}

async function readAll(stream: NodeJS.ReadStream): Promise<string> {
  let text = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream) text += chunk as string;
  return text;
}
