import { readFile, writeFile } from 'node:fs/promises';
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
import { connectTemporal } from '../workflows/client.ts';
import { readStackFile } from './stack-file.ts';

/**
 * `npm run replay -- <executionId | file.json> [--save file.json]`: shows what happened to an
 * execution, step by step, and whether the current code would take the same way. A file needs
 * no server.
 */
async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { save: { type: 'string' } },
  });
  const [source] = positionals;
  if (!source) {
    console.error('Usage: npm run replay -- <executionId | file.json> [--save file.json]');
    return 2;
  }
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const history = isUuid(source) ? await fetchHistory(source) : await readHistory(source);
  if (values.save) await writeFile(values.save, historyToJSON(history));

  for (const { at, text } of tellStory(history)) console.log(`${at}  ${text}`);
  const divergence = await replayHistory(await bundleWorkflows(), history, 'replay');
  const events = history.events?.length ?? 0;
  console.log(
    divergence === null
      ? `\nReplayed ${events} events: the current code takes the same way.`
      : `\nThe current code takes another way: ${divergence}`,
  );
  return divergence === null ? 0 : 1;
}

async function fetchHistory(executionId: string): Promise<History> {
  const stack = await readStackFile(process.env['EVERPOST_DATA_DIR'] ?? './var');
  const temporal = connectTemporal({
    address: process.env['TEMPORAL_ADDRESS'] ?? stack?.temporalAddress ?? 'localhost:7233',
    namespace: process.env['TEMPORAL_NAMESPACE'] ?? 'default',
    apiKey: process.env['TEMPORAL_API_KEY'] ?? null,
    tlsCert: process.env['TEMPORAL_TLS_CERT'] ?? null,
    tlsKey: process.env['TEMPORAL_TLS_KEY'] ?? null,
    tlsCa: process.env['TEMPORAL_TLS_CA'] ?? null,
  });
  try {
    return await temporal.client.workflow.getHandle(executionRunId(executionId)).fetchHistory();
  } finally {
    await temporal.close();
  }
}

async function readHistory(path: string): Promise<History> {
  return historyFromJSON(JSON.parse(await readFile(path, 'utf8')));
}

try {
  process.exit(await main());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
