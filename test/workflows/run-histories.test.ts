import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { describe, expect, inject, it } from 'vitest';
import { replayHistory } from '../../worker/replay.ts';
import { startEngine } from '../support/engine.ts';
import { runHistoryCases } from '../support/run-history-cases.ts';
import { waitFor } from '../support/wait-for.ts';

const root = path.join(import.meta.dirname, '../..');
const folder = path.join(root, 'test/histories/runs');
const names = (await readdir(folder).catch(() => [])).filter((file) => file.endsWith('.json'));

// With RECORD_HISTORIES what is missing is recorded. A recorded history is never written again:
// runs like it may be open somewhere.
if (process.env['RECORD_HISTORIES']) {
  describe('recording', () => {
    const missing = Object.entries(runHistoryCases).filter(
      ([name]) => !names.includes(`${name}.json`),
    );
    it.each(missing)('records %s', { timeout: 60_000 }, async (name, play) => {
      const engine = await startEngine();
      try {
        const handle = engine.temporal.client.workflow.getHandle(await play(engine));
        await waitFor('the run to end', async () => {
          return (await handle.describe()).status.name !== 'RUNNING';
        });
        await mkdir(folder, { recursive: true });
        await writeFile(
          path.join(folder, `${name}.json`),
          // Stack traces must not name the folder of who recorded them.
          `${historyToJSON(await handle.fetchHistory())}\n`.replaceAll(`${root}/`, ''),
        );
      } finally {
        await engine.close();
      }
    });
  });
} else {
  describe('every recorded history of a run', () => {
    it('exists for each case', () => {
      const files = Object.keys(runHistoryCases).map((name) => `${name}.json`);
      expect(names).toEqual(expect.arrayContaining(files));
    });

    it.each(names)('%s takes the same way with the current code', async (file) => {
      const history = historyFromJSON(JSON.parse(await readFile(path.join(folder, file), 'utf8')));
      const bundle = { codePath: inject('workflowBundle') };
      expect(await replayHistory(bundle, history, file)).toBeNull();
    });
  });
}
