import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { describe, expect, it } from 'vitest';
import { traceHistory } from '../../../dev/trace-history.ts';
import { useEngine } from '../../support/engine.ts';
import { beginExecution } from '../../support/histories/executions.ts';
import { temporalAddress } from '../../support/servers.ts';
import { requireXml } from '../../support/svg.ts';
import { useFolder } from '../../support/use.ts';

const engine = await useEngine();
const root = path.join(import.meta.dirname, '../../..');
const histories = path.join(root, 'test/histories');

/** Runs the command. Returns its output and its exit code. */
async function replay(...args: string[]) {
  const command = promisify(execFile)('node', ['--import', 'tsx', 'dev/replay.ts', ...args], {
    cwd: root,
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: temporalAddress(),
      DATABASE_URL: engine.api.services.config.databaseUrl,
    },
  });
  return command.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

/** Creates an execution that failed at its webhook, after a condition. */
async function failed() {
  const execution = await beginExecution(engine, {
    contact: { data: { plan: 'pro' } },
    context: { order: 7 },
    steps: [
      {
        type: 'CONDITION',
        name: 'Pro?',
        config: { field: 'data.plan', operator: 'equals', value: 'pro' },
      },
      {
        type: 'WEBHOOK',
        name: 'Call',
        config: {
          url: 'http://10.0.0.1/{{order}}',
          headers: { Authorization: 'Bearer hush' },
          onFailure: 'fail',
        },
      },
      { type: 'DELAY', name: 'Two days', config: { amount: 2, unit: 'days' } },
      { type: 'EXIT', name: 'Lost', config: { reason: 'not_pro' } },
    ],
    ways: [
      ['TRIGGER', 'Pro?'],
      ['Pro?', 'Call', 'yes'],
      ['Pro?', 'Two days', 'no'],
      ['Two days', 'Lost'],
    ],
  });
  await execution.until('FAILED');
  const run = engine.temporal.client.workflow.getHandle(`execution-${execution.id}`);
  await run.result().catch(() => {});
  return execution;
}

/** Creates an execution that completed although its webhook failed. */
async function completed() {
  const execution = await beginExecution(engine, {
    contact: { data: { plan: 'pro' } },
    steps: [
      {
        type: 'CONDITION',
        name: 'Pro?',
        config: { field: 'data.plan', operator: 'equals', value: 'pro' },
      },
      { type: 'WEBHOOK', name: 'Tell', config: { url: 'http://10.0.0.1/' } },
      { type: 'WEBHOOK', name: 'First', config: { url: 'http://one.test/' } },
      { type: 'WEBHOOK', name: 'Second', config: { url: 'http://two.test/' } },
    ],
    ways: [
      ['TRIGGER', 'Pro?'],
      ['Pro?', 'Tell', 'yes'],
      ['Pro?', 'First', 'no'],
      ['First', 'Second'],
    ],
  });
  await execution.until('COMPLETED');
  await engine.temporal.client.workflow.getHandle(`execution-${execution.id}`).result();
  return execution;
}

const { id, email, workflow } = await failed();
const gaveUp = await completed();

describe('npm run replay', { timeout: 120_000 }, () => {
  it('--trace prints what woke the run, and what it did then', async () => {
    const { code, stdout } = await replay(id, '--trace');
    expect(code).toBe(0);
    expect(stdout).toMatch(/woken by {2}the start: \{"executionId":/);
    expect(stdout).toMatch(/did {7}perform CONDITION \[Pro\?\] → \{"outcome":\{"kind":"branch"/);
    expect(stdout).toMatch(/did {7}call WEBHOOK \[Call\]: \{"executionId":/);
    expect(stdout).toMatch(/woken by {2}WEBHOOK \[Call\], failed: /);
    expect(stdout).toMatch(/did {7}end: FAILED: /);
  });

  it('--with-data has inputs and outputs beside the steps, and no credentials', async () => {
    const { stdout } = await replay(id, '--with-data');
    expect(stdout).toMatch(new RegExp(`contact {3}\\{"id":"[^}]*"email":"${email}"`));
    expect(stdout).toContain('context   {"order":7}');
    const lines = stdout.split('\n');
    const condition = lines.findIndex((line) => line.includes('CONDITION "Pro?" took the branch'));
    expect(lines[condition + 1]).toContain('why       data.plan equals "pro" holds: it is "pro"');
    expect(lines[condition + 2]).toContain('in        {"field":"data.plan"');
    expect(lines[condition + 3]).toMatch(/out {7}\{.*"actualValue":"pro"/);
    expect(stdout).toContain('"url":"http://10.0.0.1/{{order}}"');
    expect(stdout).toMatch(/error {5}\S/);
    expect(stdout).not.toContain('hush');
  });

  it('--picture draws the way as the API does', async () => {
    const file = path.join(await useFolder(), 'way.svg');
    const { code, stdout } = await replay(id, '--picture', file);
    expect([code, stdout.includes(`Drawn to ${file}.`)]).toEqual([0, true]);
    const svg = await readFile(file, 'utf8');
    requireXml(svg);
    const url = `/workflows/${workflow.id}/executions/${id}/graph.svg`;
    expect(svg).toBe((await engine.call('GET', url)).body);
    expect(svg).toMatch(/class="step failed"><title>Call/);
  });

  it('--what-if plays on from a step as if it had gone another way', async () => {
    const { stdout } = await replay(id, '--what-if', 'Pro?=no');
    const [, played = ''] = stdout.split('What if Pro?=no?');
    expect(played).toMatch(/CONDITION "Pro\?" takes the branch "no"/);
    const [delay, exit] = ['DELAY "Two days"', 'EXIT "Lost"'].map((step) =>
      Date.parse(new RegExp(`(\\S+) {2}${step}`).exec(played)?.[1] ?? ''),
    );
    expect(exit! - delay!).toBe(2 * 86_400_000);
    expect(played).toContain('EXITED: not_pro');

    const answered = await replay(id, '--json', '--what-if', `${workflow.steps['Pro?']}=yes`);
    const { whatIf } = JSON.parse(answered.stdout);
    // The result if the receiver had responded.
    expect(whatIf).toMatchObject({ status: 'COMPLETED', webhooks: [{ url: 'http://10.0.0.1/7' }] });
    const { body } = await engine.call('GET', `/workflows/${workflow.id}/executions/${id}`);
    expect([body.status, body.stepExecutions.length]).toEqual(['FAILED', 3]);
  });

  it('--what-if has each effect below its step', async () => {
    const { stdout } = await replay(gaveUp.id, '--what-if', 'Pro?=no');
    const [, played = ''] = stdout.split('What if Pro?=no?');
    const told = played.split('\n').slice(1, 7);
    expect(told.map((line) => line.slice(26))).toEqual([
      'CONDITION "Pro?" takes the branch "no"',
      'WEBHOOK "First"',
      '    POST http://one.test/',
      'WEBHOOK "Second"',
      '    POST http://two.test/',
      expect.stringMatching(/^COMPLETED/),
    ]);
  });

  it('says of a webhook that it gave up and went on', async () => {
    const { stdout } = await replay(gaveUp.id);
    expect(stdout).toMatch(
      /WEBHOOK "Tell" gave up \(.*10\.0\.0\.1.*\), the execution continues, and all steps are done\n/,
    );
    expect(stdout).toContain('  COMPLETED\n');
  });

  it('--what-if says which steps and branches there are', async () => {
    const complaintOf = async (given: string) => {
      const { code, stderr } = await replay(id, '--what-if', given);
      expect(code).toBe(2);
      return stderr;
    };
    expect(await complaintOf('Nope=yes')).toMatch(/has no step "Nope"[^]*Pro\?[^]*Call/);
    expect(await complaintOf('Pro?=maybe')).toContain('It has: yes, no.');
    expect(await complaintOf('Call=yes')).toContain('It has no branches.');
    expect(await complaintOf('Pro?')).toContain('<step>=<branch>');
  });

  it('of another run says that it has no steps', async () => {
    const file = path.join(histories, 'runs', (await readdir(path.join(histories, 'runs')))[0]!);
    const { code, stderr } = await replay(file, '--with-data');
    expect([code, stderr]).toEqual([2, expect.stringContaining('is not the run of an execution')]);
  });
});

it('every recorded history has a trace, which ends as the run did', async () => {
  const files = await readdir(histories, { recursive: true });
  for (const file of files.filter((name) => name.endsWith('.json'))) {
    const history = historyFromJSON(JSON.parse(await readFile(path.join(histories, file), 'utf8')));
    const tasks = traceHistory(history);
    expect([file, tasks.length > 0, tasks[0]?.woken[0]]).toEqual([
      file,
      true,
      expect.stringMatching(/^the start/),
    ]);
    const ended = history.events?.at(-1)?.workflowExecutionCompletedEventAttributes;
    if (ended) expect(tasks.at(-1)?.did.at(-1)).toMatch(/^end: /);
  }
});
