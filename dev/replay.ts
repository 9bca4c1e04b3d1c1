import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import inspector from 'node:inspector';
import { parseArgs } from 'node:util';
import type { Client } from '@temporalio/client';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { openDatabase } from '../db/database.ts';
import { bundleWorkflows, WorkflowCodeFault } from '../worker/bundle.ts';
import type { Divergence } from '../worker/divergence.ts';
import { replayHistory } from '../worker/replay.ts';
import { describeHistory } from '../worker/describe-history.ts';
import { findServers, NoServers } from './servers/connect.ts';
import { dataOf, drawExecution, executionOf, linesWithData } from './execution-data.ts';
import { traceHistory, traceLines } from './trace-history.ts';
import { playWhatIf, whatIfLines } from './what-if.ts';
import { failedSince, replayFailed, type Verdict } from './failed-runs.ts';
import {
  fetchHistory,
  fileOf,
  type FoundRun,
  NoHistory,
  otherRuns,
  readHistory,
  refuseSource,
} from './history-source.ts';

const usage = `Usage:
  npm run replay -- <id | file.json>   Show what happened in a run, and replay it
  npm run replay -- --failed           Replay the executions that failed in the last 24 hours

<id> is the id of an execution, a campaign, a domain, a project or a job, or a workflow id as the
Temporal UI shows it. A file is an exported history; it needs no server.

  --run <run id>     An earlier run of this id, for example the one before a retry
  --save <file>      Also save the history to a file
  --trace            Show each workflow task: its events, commands and results
  --with-data        Show input and output of each step of an execution, from the database
  --picture <file>   Draw the path of an execution as SVG
  --what-if "<step>=<branch>"
                     Simulate the execution as if the step had taken another branch
  --inspect [port]   Wait for a debugger (port 9229) and break at the start of the run
  --json             Print JSON: one object, or with --failed one object per line
  --help             Print this text

Exit code: 0 if the current code replays the history, 1 if it does not, 2 if nothing was replayed.
--with-data, --picture and --what-if read the database of "npm start", or that of DATABASE_URL.
More: docs/replaying.md`;

/** The default port of Node.js debuggers. */
const inspectPort = '9229';

/** Maximum number of runs that `--failed` replays, which takes some minutes. */
const failedMax = 1000;

function readArguments() {
  return parseArgs({
    allowPositionals: true,
    tokens: true,
    options: {
      run: { type: 'string' },
      save: { type: 'string' },
      trace: { type: 'boolean' },
      'with-data': { type: 'boolean' },
      picture: { type: 'string' },
      'what-if': { type: 'string' },
      inspect: { type: 'boolean' },
      json: { type: 'boolean' },
      failed: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
}

type Options = ReturnType<typeof readArguments>['values'];

/** Shows the events of a run, step by step, and if the current code issues the same commands. */
async function main(): Promise<number> {
  const { positionals, values, tokens } = readArguments();
  const [source, port = inspectPort] = positionals;
  if (values.help || (!source && !values.failed)) {
    (values.help ? console.log : console.error)(usage);
    return values.help ? 0 : 2;
  }
  // This command prints its own messages about divergences, so the messages of the SDK are off.
  Runtime.install({
    // Ctrl-C ends this command at once.
    shutdownSignals: [],
    logger: new DefaultLogger('ERROR', () => {}),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  const misuse = repeatedOption(tokens) ?? misuseOf(positionals, values);
  if (misuse) {
    console.error(misuse);
    return 2;
  }
  if (source) return replayOne(source, values, Number(port));
  return withTemporal((client) => replayAllFailed(client, values));
}

/**
 * Returns an error about an option that was given twice, because only the last value would count;
 * null: no option was given twice.
 */
function repeatedOption(tokens: ReturnType<typeof readArguments>['tokens']): string | null {
  const names = tokens.flatMap((token) => (token.kind === 'option' ? [token.rawName] : []));
  const twice = names.find((name, index) => names.indexOf(name) < index);
  return twice === undefined
    ? null
    : `${twice} can be given only once: run the command again for each.`;
}

/** Returns an error about arguments that would be ignored; null: no argument would be ignored. */
function misuseOf(positionals: readonly string[], options: Options): string | null {
  const [source, second] = positionals;
  const other = Object.keys(options).find((name) => !['failed', 'json'].includes(name));
  const ignored = source ?? (other && `--${other}`);
  if (options.failed && ignored !== undefined) {
    return `--failed lists the failed executions of a day, so it takes only --json, not ${ignored}.`;
  }
  if (second !== undefined && !options.inspect)
    return `Give one id or file at a time, without ${second}.`;
  if (options.run && source && isFile(source)) return 'A file holds one run: leave out --run.';
  return null;
}

function isFile(source: string): boolean {
  return source.endsWith('.json') || existsSync(source);
}

async function replayOne(source: string, options: Options, port: number): Promise<number> {
  if (!isFile(source)) refuseSource(source, options.run);
  const { run, others } = isFile(source)
    ? { run: await readHistory(source), others: [] }
    : await withTemporal(async (client) => {
        const found = await fetchHistory(client, source, options.run);
        return { run: found, others: await otherRuns(client, found) };
      });
  if (options.save) await writeFile(options.save, fileOf(run.history));
  const description = describeHistory(run.history);
  const trace = options.trace ? traceHistory(run.history) : undefined;
  const more = await askDatabase(run, options);
  if (!options.json) {
    const lines = description.map(({ at, text }) => `${at}  ${text}`);
    if (more?.mayBeLater) {
      console.log(
        'This run was replaced by a newer one. The database has current values, which may have ' +
          'overwritten those of this run.\n',
      );
    }
    const told = more?.data ? linesWithData(description, more.data) : lines;
    const taskLines = trace ? ['', ...traceLines(trace)] : [];
    for (const line of [...told, ...taskLines]) console.log(line);
  }
  const { code } = await bundleWorkflows({ forReplay: true });
  if (options.inspect) waitForDebugger(port);
  const bundle = { code: options.inspect ? stoppingAtBegin(code, run) : code };
  const divergence = await replayHistory(bundle, run.history, run.workflowId);
  const events = run.history.events?.length ?? 0;
  if (options.json) {
    const { workflowId, runId } = run;
    const base = {
      workflowId,
      runId,
      otherRunIds: others.map((other) => other.runId),
      description,
      events,
      divergence,
    };
    console.log(JSON.stringify({ ...base, trace, ...more }, null, 2));
  } else {
    console.log(verdict(events, divergence));
    if (options.picture) console.log(`Drawn to ${options.picture}.`);
    const { 'what-if': given } = options;
    if (given && more?.whatIf) {
      for (const line of whatIfLines(given, more.whatIf)) console.log(line);
    }
    if (others.length > 0) {
      const lines = others.map((other) => `  ${other.runId}  ${other.startedAt}  ${other.status}`);
      console.log(`Other runs of ${run.workflowId}, for --run:\n${lines.join('\n')}`);
    }
  }
  return divergence === null ? 0 : 1;
}

/** Reads from the database the data that an option needs. Writes the picture. */
async function askDatabase(run: FoundRun, options: Options) {
  const { 'with-data': withData, 'what-if': given, picture } = options;
  if (!withData && given === undefined && picture === undefined) return undefined;
  const { databaseUrl, temporal } = await findServers(process.env);
  await temporal.close();
  if (databaseUrl === null)
    throw new NoServers('Set DATABASE_URL: this option reads the database.');
  const { db, close } = openDatabase(databaseUrl, { poolMax: 1 });
  try {
    const known = await executionOf(db, run);
    if (picture !== undefined) await writeFile(picture, drawExecution(known));
    return {
      mayBeLater: known.runId !== run.runId,
      data: withData ? await dataOf(db, known) : undefined,
      whatIf: given === undefined ? undefined : await playWhatIf(db, known, given),
    };
  } finally {
    await close();
  }
}

function verdict(events: number, divergence: Divergence | null): string {
  if (!divergence) return `\nReplayed ${events} events: the current code issues the same commands.`;
  const { text, cause, stack } = divergence;
  const details = stack ?? (text === cause ? null : `Temporal says: ${cause}`);
  const advice = 'How to change code that open runs depend on: docs/replaying.md, patched().';
  return `\nThe current code diverges: ${text}${details ? `\n\n${details}` : ''}\n\n${advice}`;
}

async function replayAllFailed(client: Client, { json }: Options): Promise<number> {
  const bundle = await bundleWorkflows({ forReplay: true });
  const query = failedSince(new Date());
  let replayed = 0;
  let other = 0;
  let later = 0;
  for await (const found of replayFailed(client, bundle, { query, max: failedMax })) {
    replayed += 1;
    if (found.divergence) other += 1;
    if (found.later) later += 1;
    console.log(json ? JSON.stringify(found) : verdictLine(found));
  }
  if (!json) {
    const more = replayed < failedMax ? '' : ' There may be more: these are the newest.';
    console.log(
      replayed === 0
        ? 'No execution has failed in the last day.'
        : `\nReplayed ${replayed}: the current code issues the same commands in ${replayed - other}, ` +
            `and diverges in ${other}.${more}${later === 0 ? '' : laterNote(later)}`,
    );
  }
  return other === 0 ? 0 : 1;
}

function laterNote(count: number): string {
  return ` ${count} of these executions ${count === 1 ? 'has' : 'have'} a later run ("now …").`;
}

function verdictLine({ at, workflowId, runId, failure, divergence, later }: Verdict): string {
  const way = divergence ? `diverges: ${divergence.text}` : 'same commands';
  const now = later === null ? '' : `, now ${later.status}`;
  return `${at}  ${workflowId} --run ${runId}  ${failure}  |  ${way}${now}`.replaceAll('\n', ' ');
}

async function withTemporal<T>(ask: (client: Client) => Promise<T>): Promise<T> {
  const { temporal, temporalAddress } = await findServers(process.env);
  try {
    if (!(await temporal.answers())) {
      throw new NoServers(`Temporal does not answer at ${temporalAddress}.`);
    }
    return await ask(temporal.client);
  } finally {
    await temporal.close();
  }
}

/** Opens the debugger's port on loopback and waits until a debugger is attached. */
function waitForDebugger(port: number): void {
  inspector.open(port, '127.0.0.1');
  if (!inspector.url())
    throw new Error(
      `Port ${port} is in use by another program. Give another port after --inspect.`,
    );
  inspector.waitForDebugger();
}

/**
 * Adds a `debugger` statement to the start of the run's code. The code is loaded only when the
 * replay begins, which is too late to set a breakpoint by hand.
 */
function stoppingAtBegin(code: string, { history }: FoundRun): string {
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  const type = started?.workflowType?.name ?? '';
  const begin = new RegExp(`async function ${type}\\([^)]*\\) \\{`);
  if (!/^\w+$/.test(type) || !begin.test(code)) {
    throw new Error(`The code has no ${type} to stop in.`);
  }
  // The statement is added to the same line, so that the source map stays valid.
  return code.replace(begin, (line) => `${line} debugger;`);
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The program that reads the output, such as `head`, has closed the pipe.
  if (error.code === 'EPIPE') process.exit(2);
  throw error;
});

try {
  process.exit(await main());
} catch (error) {
  // Known errors are printed as a message, and all other errors with their stack.
  if (isKnown(error)) console.error(error.message);
  else if (isUsageError(error)) console.error(`${error.message}\n\n${usage}`);
  else console.error(error);
  process.exit(2);
}

function isKnown(error: unknown): error is Error {
  return [NoHistory, NoServers, WorkflowCodeFault].some((kind) => error instanceof kind);
}

function isUsageError(error: unknown): error is Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code.startsWith('ERR_PARSE_ARGS');
}
