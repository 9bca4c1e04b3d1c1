import { readFile, writeFile } from 'node:fs/promises';
import inspector from 'node:inspector';
import { parseArgs } from 'node:util';
import {
  type History,
  historyFromJSON,
  historyToJSON,
} from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { executionRunId } from '../domain/execution.ts';
import { isUuid } from '../domain/ids.ts';
import { bundleWorkflows } from '../worker/bundle.ts';
import { replayHistory } from '../worker/replay.ts';
import { tellStory } from '../worker/story.ts';
import { findServers } from './connect.ts';

const usage =
  'Usage: npm run replay -- <executionId | file.json> [--save file.json] [--inspect [port]]';

/** Where debuggers look for a Node.js process unless told otherwise. */
const inspectPort = '9229';

/**
 * `npm run replay -- <executionId | file.json> [--save file.json] [--inspect [port]]`: shows what
 * happened to an execution, step by step, and whether the current code would take the same way.
 * With `--inspect` it waits for a debugger and stops in it where the run begins. A file needs no
 * server.
 */
async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { save: { type: 'string' }, inspect: { type: 'boolean' } },
  });
  const [source, port = inspectPort] = positionals;
  if (!source) {
    console.error(usage);
    return 2;
  }
  // What replaying says about a divergence is told in our own words.
  Runtime.install({
    // Ctrl-C ends this command at once.
    shutdownSignals: [],
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  // Also by the name its run has in Temporal.
  const id = source.replace(/^execution-/, '');
  const history = isUuid(id) ? await fetchHistory(id) : await readHistory(source);
  if (values.save) await writeFile(values.save, historyToJSON(history));

  for (const { at, text } of tellStory(history)) console.log(`${at}  ${text}`);
  const { code } = await bundleWorkflows();
  if (values.inspect) waitForDebugger(Number(port));
  const divergence = await replayHistory(
    { code: values.inspect ? stoppingAtBegin(code) : code },
    history,
    'replay',
  );
  const events = history.events?.length ?? 0;
  console.log(
    divergence === null
      ? `\nReplayed ${events} events: the current code takes the same way.`
      : `\nThe current code takes another way: ${divergence}`,
  );
  return divergence === null ? 0 : 1;
}

async function fetchHistory(executionId: string): Promise<History> {
  const { temporal } = await findServers(process.env);
  try {
    return await temporal.client.workflow.getHandle(executionRunId(executionId)).fetchHistory();
  } finally {
    await temporal.close();
  }
}

async function readHistory(path: string): Promise<History> {
  try {
    return historyFromJSON(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `${path} is neither the id of an execution nor an exported history: ${reason}`,
      {
        cause: error,
      },
    );
  }
}

/** Opens the debugger's port on loopback and holds this process until one is attached. */
function waitForDebugger(port: number): void {
  inspector.open(port, '127.0.0.1');
  if (!inspector.url()) throw new Error(`Port ${port} is taken: name another after --inspect.`);
  inspector.waitForDebugger();
}

/**
 * The same code, but a debugger stops where the run of an execution begins: the code exists only
 * once the replay has begun, too late to set a breakpoint by hand.
 */
function stoppingAtBegin(code: string): string {
  const begin = 'async function customerWorkflow(input) {';
  if (!code.includes(begin)) throw new Error('The bundle has no customerWorkflow to stop in.');
  // On the same line, so that the source map stays true.
  return code.replace(begin, `${begin} debugger;`);
}

try {
  process.exit(await main());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
