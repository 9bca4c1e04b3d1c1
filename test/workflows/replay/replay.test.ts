import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type History, historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { WebSocket } from 'undici';
import { describe, expect, it } from 'vitest';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { describeHistory } from '../../../worker/describe-history.ts';
import { bundleChanged, type CodeChange } from '../../support/histories/changed-bundle.ts';
import { waitFor } from '../../support/wait-for.ts';

const folder = path.join(import.meta.dirname, '../../histories');
const histories = new Map<string, History>();

// Divergences are expected here, so they are not logged as warnings.
Runtime.install({
  logger: new DefaultLogger('ERROR'),
  telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  shutdownSignals: [],
});
for (const file of (await readdir(folder)).filter((name) => name.endsWith('.json'))) {
  const text = await readFile(path.join(folder, file), 'utf8');
  histories.set(file, historyFromJSON(JSON.parse(text)));
}

/** Replays every recorded history. Returns the messages of those that diverged. */
async function divergences(workflowBundle: { code: string }): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const replays = [...histories].map(([workflowId, history]) => ({ workflowId, history }));
  for await (const replayed of Worker.runReplayHistories({ workflowBundle }, replays)) {
    if (replayed.error) found.set(replayed.workflowId, replayed.error.message);
  }
  return found;
}

// The beginning of `perform`, before every command.
const start = 'const { step } = command;\n  switch (command.do) {';
const pause = (guard: string): CodeChange => [
  start,
  start.replace('switch', `${guard}await sleep(1);\n  switch`),
];

describe('a change of the interpreter', { timeout: 120_000 }, () => {
  it('is caught by every history when a timer now comes before each step', async () => {
    const found = await divergences(await bundleChanged([pause('')]));
    expect([...found.keys()]).toEqual([...histories.keys()]);
    expect([...found.values()].every((text) => text.includes('[TMPRL1100]'))).toBe(true);
  });

  it('is caught by the histories it concerns when a kind of step is done another way', async () => {
    const change: CodeChange = [
      'step.queue === undefined',
      "step.queue === undefined && type !== 'DELAY'",
    ];
    const found = await divergences(await bundleChanged([change]));
    // Includes histories with an action on an execution in a delay.
    const concerned = /^(delay-|held-|exited-by-rule)/;
    expect([...found.keys()]).toEqual([...histories.keys()].filter((file) => concerned.test(file)));
  });

  it('is taken by every history when only the text for operators differs', async () => {
    const change: CodeChange = ['`At "${step.name}"`', '`Now at "${step.name}"`'];
    expect(await divergences(await bundleChanged([change]))).toEqual(new Map());
  });

  it('is taken by every history when it is guarded by patched()', async () => {
    const imported: CodeChange = [
      '  isCancellation,\n  setCurrentDetails',
      '  isCancellation,\n  patched,\n  setCurrentDetails',
    ];
    const guarded = pause(`if (patched('pause-before-steps')) `);
    const bundle = await bundleChanged([imported, guarded]);
    expect(await divergences(bundle)).toEqual(new Map());
  });
});

describe('the description of a history', () => {
  it('says in which attempt a step was done, and why not before', () => {
    expect(description('webhook-answered-late.json')[1]).toBe(
      'WEBHOOK "Call" done, in attempt 2 (before: Attempt 1: The receiver answered 500.)',
    );
  });

  it('ends with the step an open run is at', () => {
    const { events } = histories.get('webhook-answered-late.json')!;
    const until = events!.findIndex((event) => event.activityTaskStartedEventAttributes);
    expect(describeHistory({ events: events!.slice(0, until) }).at(-1)?.text).toBe(
      'is at WEBHOOK "Call"',
    );
    expect(description('delay-waiting.json').at(-1)).toMatch(/^DELAY "Delay" delays until /);
    expect(description('mail-then-delay.json').slice(1)).toEqual([
      'SEND_EMAIL "Mail" done',
      expect.stringMatching(/^DELAY "Delay" delays until /),
      'DELAY "Delay": its time is over',
      'EXIT "Exit" ended the execution',
      'EXITED',
    ]);
    expect(description('webhook-cancelled.json').at(-1)).toBe('CANCELLED');
  });

  it('prints once why a step has failed, and in which attempt', () => {
    expect(description('mail-failed.json').slice(1)).toEqual([
      'FAILED at SEND_EMAIL "Mail": The sender domain elsewhere.test is not verified.',
      'FAILED',
    ]);
    const { events } = structuredClone(histories.get('webhook-failed.json')!);
    const started = events!.find((event) => event.activityTaskStartedEventAttributes)!;
    Object.assign(started.activityTaskStartedEventAttributes!, {
      attempt: 5,
      lastFailure: { message: 'Attempt 4: The receiver answered 500.' },
    });
    expect(describeHistory({ events: events ?? [] }).map(({ text }) => text)).toEqual([
      expect.any(String),
      'FAILED at WEBHOOK "Call", in attempt 5 (before: Attempt 4: The receiver answered 500.): ' +
        'The receiver answered 404.',
      'FAILED',
    ]);
  });

  it('distinguishes the pauses of changed code from the timers of steps', () => {
    const { events } = structuredClone(histories.get('delay-over.json')!);
    const timer = { startToFireTimeout: { seconds: 1 } };
    // A pause before each step, as by `if (patched('pause-before-steps')) await sleep('1 second')`.
    const paused = events!.flatMap((event) => {
      if (!event.markerRecordedEventAttributes) return [event];
      const { eventTime } = event;
      return [
        { eventId: 901, eventTime, timerStartedEventAttributes: timer },
        { eventId: 902, eventTime, timerFiredEventAttributes: { startedEventId: 901 } },
        event,
      ];
    });
    expect(
      describeHistory({ events: paused as NonNullable<typeof events> }).map(({ text }) => text),
    ).toEqual([
      expect.any(String),
      'DELAY "Delay": a back-off timer is over',
      expect.stringMatching(/^DELAY "Delay" delays until /),
      'DELAY "Delay": its time is over',
      'EXIT "Exit": a back-off timer is over',
      'EXIT "Exit" ended the execution',
      'EXITED',
    ]);
  });
});

function description(file: string): string[] {
  return describeHistory(histories.get(file)!).map(({ text }) => text);
}

describe('npm run replay -- --inspect', () => {
  it('stops in a debugger where the run begins, and replays on', async () => {
    const { port, release } = await claimFreePort();
    const history = path.join(folder, 'wait-event.json');
    const replay = spawn(
      process.execPath,
      ['--import', 'tsx', 'dev/replay.ts', history, '--inspect', String(port)],
      { cwd: path.join(import.meta.dirname, '../../..') },
    );
    let output = '';
    replay.stdout.on('data', (text: Buffer) => (output += text.toString()));
    replay.stderr.on('data', (text: Buffer) => (output += text.toString()));
    try {
      const url = await waitFor('the debugger', () => /ws:\S+/.exec(output)?.[0]);
      const debug = await attach(url);
      expect(await debug.stoppedIn).toBe('customerWorkflow');
      debug.resume();
      await waitFor('the verdict', () => output.includes('issues the same commands'));
      debug.close();
      expect((await once(replay, 'exit'))[0]).toBe(0);
    } finally {
      replay.kill();
      await release();
    }
  });
});

/**
 * Attaches a debugger that lets the process continue, and records the function where it first
 * stops.
 */
async function attach(url: string) {
  const socket = new WebSocket(url);
  await once(socket, 'open');
  const send = (id: number, method: string) => socket.send(JSON.stringify({ id, method }));
  const stoppedIn = new Promise<string>((resolve) => {
    socket.addEventListener('message', ({ data }) => {
      const { method, params } = JSON.parse(String(data));
      if (method === 'Debugger.paused') resolve(params.callFrames[0].functionName);
    });
  });
  send(1, 'Debugger.enable');
  send(2, 'Runtime.runIfWaitingForDebugger');
  return { stoppedIn, resume: () => send(3, 'Debugger.resume'), close: () => socket.close() };
}
