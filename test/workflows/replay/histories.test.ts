import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { describe, expect, inject, it } from 'vitest';
import { executionRunId } from '../../../domain/runs/execution.ts';
import { replayHistory } from '../../../worker/replay.ts';
import { describeHistory } from '../../../worker/describe-history.ts';
import { useEngine } from '../../support/engine.ts';
import { actHistoryCases } from '../../support/histories/act-cases.ts';
import { historyCases } from '../../support/histories/step-cases.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import { waitFor } from '../../support/wait-for.ts';

const root = path.join(import.meta.dirname, '../../..');
const folder = path.join(root, 'test/histories');
const names = (await readdir(folder)).filter((file) => file.endsWith('.json'));

const cases = { ...historyCases, ...actHistoryCases };

const fileOf = (name: string) => `${name}.json`;

// `npm run record-histories` records missing histories. A history of a release is never replaced,
// because such runs may be open for a year.
if (process.env['RECORD_HISTORIES']) {
  describe('recording', () => {
    const missing = Object.entries(cases).filter(([name]) => !names.includes(fileOf(name)));
    it.each(missing)('records %s', { timeout: 180_000 }, async (name, play) => {
      const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });
      const receiver = await useReceiver();
      const id = await play(engine, receiver);
      const handle = engine.temporal.client.workflow.getHandle(executionRunId(id));
      await waitFor('the run to rest', async () => {
        const { status, raw } = await handle.describe();
        return status.name === 'RUNNING'
          ? name.endsWith('waiting') && !raw.pendingWorkflowTask
          : true;
      });
      await writeFile(
        path.join(folder, fileOf(name)),
        // Stack traces must not name a developer's folder.
        `${historyToJSON(await handle.fetchHistory())}\n`.replaceAll(`${root}/`, ''),
      );
    });
  });
} else {
  describe('every recorded history', () => {
    it('exists for each case', () => {
      const files = Object.keys(cases).map(fileOf);
      expect(names).toEqual(expect.arrayContaining(files));
    });

    it.each(names)('%s takes the same way with the current code', async (file) => {
      const history = historyFromJSON(JSON.parse(await readFile(path.join(folder, file), 'utf8')));
      const bundle = { codePath: inject('workflowBundle') };
      expect(await replayHistory(bundle, history, file)).toBeNull();
      expect(describeHistory(history).length).toBeGreaterThan(1);
    });

    it.each(names)('%s holds ids, no address and no settings of a step', async (file) => {
      const text = await readFile(path.join(folder, file), 'utf8');
      const payloads = [...text.matchAll(/"data":\s*"([^"]*)"/g)].map(([, data]) =>
        Buffer.from(data ?? '', 'base64').toString(),
      );
      expect(payloads.join('\n')).toContain('"executionId"');
      expect(payloads.join('\n')).not.toMatch(/@|people\.test|"config"|"context"|"data"|http/);
    });
  });
}
