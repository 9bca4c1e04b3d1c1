import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type History, historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundleRewritten } from '../../support/histories/changed-bundle.ts';

/**
 * The recorded histories must detect a change that breaks running workflows, for every kind of run
 * and for every kind that continues as new.
 */

const root = path.join(import.meta.dirname, '../../..');
const histories = new Map<string, History>();

beforeAll(async () => {
  // Divergences are expected here, so they are not logged as warnings.
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
    shutdownSignals: [],
  });
  const folder = path.join(root, 'test/histories');
  const files = await readdir(folder, { recursive: true });
  for (const file of files.filter((name) => name.endsWith('.json'))) {
    const text = await readFile(path.join(folder, file), 'utf8');
    histories.set(file, historyFromJSON(JSON.parse(text)));
  }
});

const typeOf = ({ events }: History) =>
  events?.[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name ?? '';
const isContinued = ({ events }: History) =>
  events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes != null;

/** Returns the files whose histories diverge with the workflow code changed by `rewrite`. */
async function divergences(rewrite: (source: string) => string): Promise<string[]> {
  const pause = `import { sleep as pause } from '@temporalio/workflow';\n`;
  const workflowBundle = await bundleRewritten((source) => pause + rewrite(source));
  const replays = [...histories].map(([workflowId, history]) => ({ workflowId, history }));
  const found: string[] = [];
  for await (const { workflowId, error } of Worker.runReplayHistories(
    { workflowBundle },
    replays,
  )) {
    if (error) found.push(workflowId);
  }
  return found.toSorted();
}

const files = (isMeant: (history: History) => boolean) =>
  [...histories].flatMap(([file, history]) => (isMeant(history) ? [file] : [])).toSorted();

describe('the recorded histories', { timeout: 180_000 }, () => {
  it('are of every kind of run there is', async () => {
    const kinds = Object.keys(await import('../../../workflows/index.ts'));
    expect(kinds.length).toBeGreaterThan(9);
    const recorded = new Set([...histories.values()].map(typeOf));
    expect([...recorded].toSorted()).toEqual(kinds.toSorted());
  });

  it('hold the end of each kind of run that goes on as another', async () => {
    const folder = path.join(root, 'workflows');
    const sources = await Promise.all(
      (await readdir(folder, { recursive: true }))
        .filter((file) => file.endsWith('.ts'))
        .map((file) => readFile(path.join(folder, file), 'utf8')),
    );
    const continuing = sources.flatMap((source) =>
      [...source.matchAll(/continueAsNew<typeof (\w+)>/g)].map(([, kind]) => kind),
    );
    expect(continuing.length).toBeGreaterThan(6);
    const recorded = [...histories.values()].filter(isContinued).map(typeOf);
    expect([...new Set(recorded)]).toEqual(expect.arrayContaining(continuing));
  });

  it('all catch a timer that is put at the beginning without a guard', async () => {
    const found = await divergences((source) =>
      source.replaceAll(
        /(export async function \w+\([\s\S]*?\): Promise<[^>]*> \{\n)/g,
        '$1  await pause(1);\n',
      ),
    );
    expect(found).toEqual(files(() => true));
  });

  it('catch one before going on as another where they do so', async () => {
    const found = await divergences((source) =>
      source.replaceAll(/await (continueAsNew<[\s\S]*?\));/g, 'await pause(1).then(() => $1);'),
    );
    expect(found).toEqual(files(isContinued));
  });

  it('take what changes nothing', async () => {
    expect(await divergences((source) => source)).toEqual([]);
  });
});
