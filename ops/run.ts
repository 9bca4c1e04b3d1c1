import { parseArgs, type ParseArgsConfig } from 'node:util';
import { isConnectionRefused } from '../db/sql-state.ts';
import { NoServers } from '../dev/servers/connect.ts';

/** Runs a command: options, output and exit codes, which are the same for all commands. */

export interface Command {
  name: string;
  /** Lines for `--help`: what the command does, and its options. */
  help: string;
  options: NonNullable<ParseArgsConfig['options']>;
  /** @throws UsageError, NoServers, or Unreachable */
  run(values: Values, env: NodeJS.ProcessEnv): Promise<Result>;
}

export type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

export interface Result {
  /** False if something needs a person. */
  ok: boolean;
  /** The object for `--json`, without `command`, `ok` and `at`. */
  data: Record<string, unknown>;
  /** The lines for people. */
  lines: readonly string[];
}

/** Thrown for a wrong option or setting. The message is one sentence. */
export class UsageError extends Error {}

/** Thrown when a server does not answer. The message is one sentence. */
export class Unreachable extends Error {}

const exitCodes = `Exit codes: 0 all is well; 1 something needs a person; 2 the command could not run.`;

/** Returns the exit code. */
export async function run(
  commands: readonly Command[],
  [name = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const command = commands.find((one) => one.name === name);
  if (!command) {
    const names = commands.map((one) => one.name).join(', ');
    return fail(`Unknown command '${name}'. The commands are: ${names}.`);
  }
  try {
    const { values } = parse(command, args);
    if (values['help']) {
      console.log(`${command.help.trim()}\n\n${exitCodes}`);
      return 0;
    }
    const { ok, data, lines } = await command.run(values, env);
    const at = new Date().toISOString();
    if (values['json']) console.log(JSON.stringify({ command: command.name, ok, at, ...data }));
    else for (const line of lines) console.log(line);
    return ok ? 0 : 1;
  } catch (error) {
    return fail(sentenceOf(error));
  }
}

function parse(command: Command, args: readonly string[]): { values: Values } {
  try {
    const common = { help: { type: 'boolean' }, json: { type: 'boolean' } } as const;
    return parseArgs({ args: [...args], options: { ...command.options, ...common } });
  } catch (error) {
    throw new UsageError(`${(error as Error).message} See --help.`);
  }
}

function fail(sentence: string): number {
  process.stderr.write(`${sentence}\n`);
  return 2;
}

/** Returns one sentence, without addresses or passwords of servers. */
function sentenceOf(error: unknown): string {
  const isKnown = [UsageError, Unreachable, NoServers].some((kind) => error instanceof kind);
  if (isKnown) return (error as Error).message;
  if (isConnectionRefused(error)) return 'PostgreSQL cannot be reached, or refuses the connection.';
  return `The command has failed: ${(error as Error).message.split('\n')[0]}`;
}
