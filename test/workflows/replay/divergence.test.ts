import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';
import { bundleWorkflows } from '../../../worker/bundle.ts';
import type { Divergence } from '../../../worker/divergence.ts';
import { replayHistories, replayHistory } from '../../../worker/replay.ts';
import { bundleChanged, type CodeChange } from '../../support/histories/changed-bundle.ts';

const folder = path.join(import.meta.dirname, '../../histories');

// Divergences are expected here, so they are not logged as warnings.
Runtime.install({
  logger: new DefaultLogger('ERROR', () => {}),
  telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  shutdownSignals: [],
});

async function recorded(file: string) {
  const history = historyFromJSON(JSON.parse(await readFile(path.join(folder, file), 'utf8')));
  return { workflowId: file, history };
}

/** Replays a recorded history with changed code. Returns the divergence; null: none. */
async function divergenceOf(file: string, ...changes: CodeChange[]): Promise<Divergence | null> {
  const bundle = await bundleChanged(changes, { forReplay: true });
  return replayHistory(bundle, (await recorded(file)).history, file);
}

const begin = 'const { step } = command;\n  switch (command.do) {';
const pause: CodeChange = [begin, begin.replace('switch', 'await sleep(1);\n  switch')];
const remote =
  'return effects[activity].executeWithOptions(options, [stepCall(input, step, since)]);';

describe('a divergence', { timeout: 120_000 }, () => {
  it('names the step, the event, and what history and code do there', async () => {
    const found = await divergenceOf('webhook-answered.json', pause);
    expect(found).toMatchObject({
      text:
        'at WEBHOOK "Call" (event 5): the history schedules an activity, ' +
        'your code starts a timer',
      eventId: 5,
      stack: null,
    });
    expect(found?.cause).toContain('[TMPRL1100]');
  });

  it('finds the place also where Temporal does not name the event', async () => {
    const found = await divergenceOf('delay-over.json', pause);
    expect(found?.text).toBe(
      'at DELAY "Delay" (event 5): the history runs a local activity, your code starts a timer',
    );
    expect(found?.cause).not.toContain('HistoryEvent');
  });

  it('names the activities where only those differ', async () => {
    const found = await divergenceOf('webhook-answered.json', [
      remote,
      remote.replace('[activity]', '.SEND_EMAIL'),
    ]);
    expect(found?.text).toBe(
      'at WEBHOOK "Call" (event 5): the history schedules the activity WEBHOOK, ' +
        'your code schedules the activity SEND_EMAIL',
    );
  });

  it('says so when the code does less than the history', async () => {
    const found = await divergenceOf('webhook-answered.json', [
      remote,
      'return new Promise<never>(() => {});',
    ]);
    expect(found?.text).toBe(
      'at WEBHOOK "Call" (event 5): the history schedules an activity, ' +
        'your code does nothing more',
    );
  });

  it('follows the history to a later step', async () => {
    const sleeping = 'const summary = `End of "${step.name}"`;';
    const found = await divergenceOf('delay-over.json', [
      sleeping,
      `await complete(input); ${sleeping}`,
    ]);
    expect(found?.text).toBe(
      'at DELAY "Delay" (event 6): the history starts a timer, your code runs a local activity',
    );
  });

  it('shows where the code fails', async () => {
    const found = await divergenceOf('webhook-answered.json', [
      remote,
      "throw new Error('Out of paper');",
    ]);
    expect(found?.text).toBe('at WEBHOOK "Call" (event 4): your code fails: Out of paper');
    expect(found?.stack).toMatch(
      /^Error: Out of paper\n +at runAsActivity \(.*workflows\/step-calls\.ts:\d+/,
    );
  });

  it.each([
    ['condition-yes.json', 'at EXIT "Yes" (event 4)'],
    ['delay-over.json', 'at EXIT "Exit" (event 10)'],
  ])('names the step that was under way where the code of %s fails', async (file, place) => {
    const local = 'return step.queue === undefined';
    const found = await divergenceOf(file, [
      local,
      `if (type === 'EXIT') throw new Error('No exit'); ${local}`,
    ]);
    expect(found?.text).toBe(`${place}: your code fails: No exit`);
  });

  it('names the activity of runs that have no steps', async () => {
    const file = 'runs/campaign-sent.json';
    const { history } = await recorded(file);
    // Simulates code that scheduled another activity then.
    const scheduled = history.events!.find((event) => event.activityTaskScheduledEventAttributes)!;
    scheduled.activityTaskScheduledEventAttributes!.activityType!.name = 'FORMER_LOOK';
    const found = await replayHistory(await bundleWorkflows({ forReplay: true }), history, file);
    expect(found?.text).toBe(
      'at FORMER_LOOK (event 6): the history schedules the activity FORMER_LOOK, ' +
        'your code schedules the activity ADVANCE_CAMPAIGN',
    );
  });
});

describe('replaying many', () => {
  it('answers each with its own verdict', async () => {
    const change: CodeChange = [
      'step.queue === undefined',
      "step.queue === undefined && type !== 'DELAY'",
    ];
    const bundle = await bundleChanged([change], { forReplay: true });
    const files = ['mail-sent.json', 'delay-over.json', 'wait-event.json', 'delay-waiting.json'];
    const verdicts: Record<string, string | null> = {};
    const runs = await Promise.all(files.map(recorded));
    for await (const { run, divergence } of replayHistories(bundle, runs)) {
      verdicts[run.workflowId] = divergence?.text ?? null;
    }
    const other =
      'at DELAY "Delay" (event 5): the history runs a local activity, ' +
      'your code schedules an activity';
    expect(verdicts).toEqual({
      'mail-sent.json': null,
      'delay-over.json': other,
      'wait-event.json': null,
      'delay-waiting.json': other,
    });
  });
});

it(
  'every recorded history takes its way with the recorder, too',
  { timeout: 120_000 },
  async () => {
    const all = await readdir(folder, { recursive: true });
    const files = all.filter((file) => file.endsWith('.json'));
    expect(files.length).toBeGreaterThan(50);
    const bundle = await bundleWorkflows({ forReplay: true });
    for await (const { run, divergence } of replayHistories(
      bundle,
      await Promise.all(files.map(recorded)),
    )) {
      expect([run.workflowId, divergence]).toEqual([run.workflowId, null]);
    }
  },
);
