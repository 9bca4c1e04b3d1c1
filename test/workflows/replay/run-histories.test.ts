import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { describe, expect, inject, it } from 'vitest';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { startTemporal } from '../../../dev/servers/temporal.ts';
import { replayHistory } from '../../../worker/replay.ts';
import {
  type ContinuedCase,
  continuedHistoryCases,
} from '../../support/histories/continued-cases.ts';
import { type Engine, useEngine } from '../../support/engine.ts';
import { runHistoryCases } from '../../support/histories/run-cases.ts';
import { waitFor } from '../../support/wait-for.ts';

const root = path.join(import.meta.dirname, '../../..');
const folder = path.join(root, 'test/histories/runs');
const names = (await readdir(folder).catch(() => [])).filter((file) => file.endsWith('.json'));
const isMissing = ([name]: [string, unknown]) => !names.includes(`${name}.json`);

/** Stores the history of a run, by default the latest of its id. */
async function keep(
  { temporal }: Engine,
  name: string,
  run: { workflowId: string; runId?: string },
): Promise<void> {
  const handle = temporal.client.workflow.getHandle(run.workflowId, run.runId);
  await mkdir(folder, { recursive: true });
  await writeFile(
    path.join(folder, `${name}.json`),
    // Stack traces must not name a developer's folder.
    `${historyToJSON(await handle.fetchHistory())}\n`.replaceAll(`${root}/`, ''),
  );
}

async function recordEnded(name: string, play: (engine: Engine) => Promise<string>) {
  const engine = await useEngine({ EMAIL_RATE_PER_PROJECT_PER_SECOND: '0' });
  const workflowId = await play(engine);
  const handle = engine.temporal.client.workflow.getHandle(workflowId);
  await waitFor(
    'the run to end',
    async () => (await handle.describe()).status.name !== 'RUNNING',
    120_000,
  );
  await keep(engine, name, { workflowId });
}

/** Records on its own server, which considers a history long much sooner. */
async function recordContinued(name: string, { afterEvents, play }: ContinuedCase) {
  const [frontend, ui] = [await claimFreePort(), await claimFreePort()];
  const limit = `limit.historyCount.suggestContinueAsNew=${afterEvents}`;
  const server = await startTemporal({
    dataDir: null,
    port: frontend.port,
    uiPort: ui.port,
    log: () => {},
    more: [`--dynamic-config-value=${limit}`],
  });
  try {
    const engine = await useEngine(
      { WEBHOOK_ALLOW_PRIVATE: 'false' },
      { temporalAddress: server.address },
    );
    const workflowId = await play(engine);
    const handle = engine.temporal.client.workflow.getHandle(workflowId);
    const { raw } = await handle.describe();
    const runId = raw.workflowExecutionInfo?.firstRunId ?? '';
    await keep(engine, name, { workflowId, runId });
    // Without this it would continue while the worker stops.
    await handle.terminate('recorded').catch(() => {});
  } finally {
    await server.stop();
    await frontend.release();
    await ui.release();
  }
}

// With RECORD_HISTORIES, missing histories are recorded. A history of a release is never replaced,
// because such runs may be open.
if (process.env['RECORD_HISTORIES']) {
  describe('recording', { timeout: 240_000 }, () => {
    const ended = Object.entries(runHistoryCases).filter(isMissing);
    it.each(ended)('records %s', recordEnded);
    const continued = Object.entries(continuedHistoryCases).filter(isMissing);
    it.each(continued)('records %s', recordContinued);
  });
} else {
  describe('every recorded history of a run', () => {
    it('exists for each case', () => {
      const cases = [...Object.keys(runHistoryCases), ...Object.keys(continuedHistoryCases)];
      expect(names).toEqual(expect.arrayContaining(cases.map((name) => `${name}.json`)));
    });

    it.each(names)('%s takes the same way with the current code', async (file) => {
      const history = historyFromJSON(JSON.parse(await readFile(path.join(folder, file), 'utf8')));
      const bundle = { codePath: inject('workflowBundle') };
      expect(await replayHistory(bundle, history, file)).toBeNull();
    });
  });
}
