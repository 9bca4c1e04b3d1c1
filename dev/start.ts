import { once } from 'node:events';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';

import { readConfig } from '../config.ts';
import { isError, lineReader } from './logs/log-lines.ts';
import { startStack, type Stack } from './servers/stack.ts';

const usage = `Usage: npm start [-- --verbose]

Runs PostgreSQL, Temporal, the API and a worker on this machine. Ctrl-C stops them; the data stays.
With DATABASE_URL or TEMPORAL_ADDRESS set, that server is used, and its database is migrated.

  --verbose   Also print every request and log entry, not only errors
  --help      Print this text

All log entries are in the folder logs of EVERPOST_DATA_DIR (default ./var).`;

const root = join(import.meta.dirname, '..');
const quiet = `Only errors are printed from now on. "npm start -- --verbose" prints every request.
`;
const isVerbose = readArguments();

process.exit(await main());

/** Returns true for `--verbose`. After `--help`, and for any other argument, ends the process. */
function readArguments(): boolean {
  try {
    const options = { verbose: { type: 'boolean' }, help: { type: 'boolean' } } as const;
    const { values } = parseArgs({ options });
    if (!values.help) return values.verbose ?? false;
    print(usage);
    process.exit(0);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

// Returns the exit code: 0 after Ctrl-C or SIGTERM, 1 when a part could not be started.
async function main(): Promise<number> {
  const stopping = new AbortController();
  const stop = () => {
    if (!stopping.signal.aborted) print('Stopping …');
    stopping.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  // A closed terminal must not prevent an orderly stop.
  process.stdout.on('error', () => undefined);
  print('Starting Everpost …');
  try {
    const stack = await startStack({
      env: process.env,
      programs: { api: join(root, 'api/main.ts'), worker: join(root, 'worker/main.ts') },
      print,
      log: logPrinter(),
      signal: stopping.signal,
    });
    if (!stopping.signal.aborted) {
      print(welcome(stack));
      await once(stopping.signal, 'abort');
    }
    await stack.stop();
  } catch (error) {
    if (!stopping.signal.aborted) {
      print(`\nEverpost did not start. ${error instanceof Error ? error.message : String(error)}`);
      return 1;
    }
  }
  print('Stopped. Your data stays.');
  return 0;
}

/**
 * Returns a function that prints errors and lines that are no log entries. With `--verbose`, it
 * prints every line. Lines are formatted for a terminal, and unchanged in a pipe.
 */
function logPrinter(): (program: 'api' | 'worker', line: string) => void {
  const { stdout } = process;
  const read = stdout.isTTY
    ? lineReader({ colour: stdout.hasColors() })
    : (_program: string, line: string) => line;
  return (program, line) => {
    if (isVerbose || isError(line)) print(read(program, line));
  };
}

function welcome({ facts, dataDir, env }: Stack): string {
  const { mail, console: hasConsole, metrics } = readConfig(env);
  const hasMailbox = mail.sender.mailboxReaders !== 'none';
  const inside = relative(process.cwd(), dataDir);
  const directory = inside.startsWith('..') ? dataDir : `./${inside}`;
  const places: [string, string | null][] = [
    ['API', facts.apiUrl],
    ['Docs', `${facts.apiUrl}/docs`],
    ['Console', hasConsole ? `${facts.apiUrl}/console` : null],
    ['Mailbox', hasMailbox ? `${facts.apiUrl}/local/mailbox` : null],
    ['Temporal UI', facts.temporalUiUrl],
    ['Temporal', facts.temporalAddress],
    [
      'Database',
      `${withoutPassword(facts.databaseUrl)} (its password is in ${directory}/stack.json)`,
    ],
    [
      'Metrics',
      metrics.port === null
        ? null
        : `http://${metrics.host}:${metrics.port}/metrics; of the worker on port ${metrics.port + 1}`,
    ],
    ['Data', directory],
    ['Logs', `${directory}/logs`],
  ];
  const rows = places.flatMap(([name, place]) => (place ? [`  ${name.padEnd(13)}${place}`] : []));
  return `
Everpost is running.

${rows.join('\n')}

First request, to paste into another terminal: it creates an account. README.md goes on from there.

  export API=${facts.apiUrl}
  curl -w '\\n' -H 'content-type: application/json' \\
    -d '{"email":"me@example.com","password":"choose-a-long-one"}' $API/auth/signup

"npm run demo" sends a first mail and prints a log-in for the console.
${isVerbose ? '' : quiet}Ctrl-C stops everything. The data stays.
`;
}

/**
 * Removes the password from a URL, because terminals and log files keep the output, and the
 * database may be the user's own.
 */
function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.password = '';
  url.searchParams.delete('password');
  return url.href;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
