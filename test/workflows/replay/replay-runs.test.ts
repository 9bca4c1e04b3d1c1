import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { replayFailed, type Verdict } from '../../../dev/failed-runs.ts';
import { fetchHistory, fileOf, otherRuns, readHistory } from '../../../dev/history-source.ts';
import { executionRunId } from '../../../domain/runs/execution.ts';
import { bundleWorkflows } from '../../../worker/bundle.ts';
import { useEngine } from '../../support/engine.ts';
import { beginExecution } from '../../support/histories/executions.ts';
import { temporalAddress } from '../../support/servers.ts';
import { useFolder } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();

/**
 * Creates an execution that failed, was retried, and failed again, because its webhook is not
 * allowed.
 */
async function failedTwice() {
  const { id, path, until } = await beginExecution(engine, {
    steps: [
      { type: 'WEBHOOK', name: 'Call', config: { url: 'http://10.0.0.1/', onFailure: 'fail' } },
    ],
  });
  const first = await until('FAILED');
  await engine.call('POST', `${path}/retry`);
  const second = await waitFor('the second failure', async () => {
    const now = await until('FAILED');
    return now.temporalRunId === first.temporalRunId ? null : now;
  });
  // The row is written before the run has closed, and until then its history still grows.
  const run = engine.temporal.client.workflow.getHandle(executionRunId(id));
  await run.result().catch(() => {});
  return { id, runIds: [String(first.temporalRunId), String(second.temporalRunId)] };
}

const replay = (...args: string[]) => run('dev/replay.ts', ...args);

/** Runs a command. Returns its output and its exit code. */
async function run(script: string, ...args: string[]) {
  const command = promisify(execFile)('node', ['--import', 'tsx', script, ...args], {
    cwd: path.join(import.meta.dirname, '../../..'),
    env: { ...process.env, TEMPORAL_ADDRESS: temporalAddress() },
  });
  return command.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

describe('npm run replay', { timeout: 120_000 }, () => {
  it('finds the runs of an execution, the earlier ones too', async () => {
    const { client } = engine.temporal;
    const { id, runIds } = await failedTwice();
    const newest = await fetchHistory(client, id, undefined);
    expect([newest.workflowId, newest.runId]).toEqual([executionRunId(id), runIds[1]]);
    expect(await fetchHistory(client, executionRunId(id), undefined)).toEqual(newest);
    const earlier = await fetchHistory(client, id, runIds[0]);
    expect(earlier.runId).toBe(runIds[0]);
    expect(earlier.history).not.toEqual(newest.history);
    // Temporal's index follows within a second or so.
    await waitFor('the other run', async () => (await otherRuns(client, newest)).length === 1);
    expect(await otherRuns(client, newest)).toMatchObject([{ runId: runIds[0] }]);
  });

  it('writes the same file each time, in whatever order Temporal answers', async () => {
    const { id } = await failedTwice();
    const { history } = await fetchHistory(engine.temporal.client, id, undefined);
    const file = fileOf(history);
    const { indexedFields } = history.events![0]!.workflowExecutionStartedEventAttributes!
      .searchAttributes as { indexedFields: Record<string, object> };
    expect(Object.keys(indexedFields).length).toBeGreaterThan(1);
    history.events![0]!.workflowExecutionStartedEventAttributes!.searchAttributes = {
      indexedFields: Object.fromEntries(Object.entries(indexedFields).toReversed()),
    };
    expect(fileOf(history)).toBe(file);
  });

  it('has a history also from the command line of Temporal, which asks the same server', async () => {
    const { id, runIds } = await failedTwice();
    const show = ['workflow', 'show', '--workflow-id', executionRunId(id), '--output', 'json'];
    const { code, stdout } = await run('dev/servers/temporal-cli.ts', ...show);
    expect(code).toBe(0);
    const file = path.join(await useFolder(), 'shown.json');
    await writeFile(file, stdout);
    expect(await readHistory(file)).toMatchObject({
      workflowId: executionRunId(id),
      runId: runIds[1],
    });
  });

  it('answers JSON about any run, by the id of what it serves', async () => {
    const domain = await engine.call('POST', '/domains', { domain: `${randomUUID()}.test` });
    const { code, stdout } = await replay(domain.body.id, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      workflowId: `domain-${domain.body.id}`,
      runId: expect.any(String),
      otherRunIds: [],
      description: expect.arrayContaining([{ at: expect.any(String), text: expect.any(String) }]),
      events: expect.any(Number),
      divergence: null,
    });
  });

  it('asks which run is meant where an id has several', async () => {
    const id = randomUUID();
    const names = [`campaign-${id}`, `domain-${id}`];
    const started = names.map((workflowId) =>
      engine.temporal.client.workflow.start('nobody', { workflowId, taskQueue: randomUUID() }),
    );
    const handles = await Promise.all(started);
    const { code, stderr } = await replay(id);
    expect([code, stderr]).toEqual([
      2,
      `${id} has several runs in Temporal. Name one of them:\n  ${names.join('\n  ')}\n`,
    ]);
    for (const handle of handles) await handle.terminate();
  });

  it.each([
    [[randomUUID()], 'Temporal has no run of '],
    [['campaign-nowhere'], 'Temporal has no run of campaign-nowhere.'],
    [[randomUUID(), '--run', randomUUID()], 'one of the two ids is wrong'],
    [[randomUUID(), '--run', 'x'], '"x" is not a run id'],
    [['ada@people.test'], 'Temporal holds no mail addresses'],
  ])('says in a sentence why %j cannot be replayed', async (args, sentence) => {
    const { code, stdout, stderr } = await replay(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain('    at ');
  });

  it('replays the failed executions, each with a verdict', async () => {
    const { id, runIds } = await failedTwice();
    const workflowId = executionRunId(id);
    const query = `WorkflowId = "${workflowId}" AND CustomerWorkflowStatus = "FAILED"`;
    const bundle = await bundleWorkflows({ forReplay: true });
    const verdicts = async (max: number) => {
      const found: Verdict[] = [];
      const { client } = engine.temporal;
      for await (const verdict of replayFailed(client, bundle, { query, max })) found.push(verdict);
      return found;
    };
    const all = await waitFor('both in the index', async () => {
      const found = await verdicts(10);
      return found.length === 2 ? found : null;
    });
    expect(all.map(({ runId }) => runId)).toEqual(runIds.toReversed());
    expect(all[0]).toMatchObject({
      workflowId,
      failure: expect.stringMatching(/^FAILED at WEBHOOK "Call": /),
      divergence: null,
    });
    expect(await verdicts(1)).toHaveLength(1);
    expect(all.map(({ later }) => later)).toEqual([null, { runId: runIds[1], status: 'FAILED' }]);

    // The list also has those of other tests.
    const { stdout } = await replay('--failed');
    expect(stdout.split('\n').filter((line) => line.includes(workflowId))).toEqual([
      expect.stringMatching(/ {2}FAILED at WEBHOOK "Call": .* {2}\| {2}same commands$/),
      expect.stringMatching(/ {2}FAILED at WEBHOOK "Call": .* {2}\| {2}same commands, now FAILED$/),
    ]);
    expect(stdout).toMatch(/ha(s|ve) a later run/);
    expect(stdout).toMatch(/\nReplayed \d+: the current code issues the same commands in \d+/);
  });
});
