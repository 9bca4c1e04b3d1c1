import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Cli, useCli } from '../../support/cli.ts';
import { type Engine, useEngine } from '../../support/engine.ts';
import { waitFor } from '../../support/wait-for.ts';

let engine: Engine;
let cli: Cli;
let workflow: string;

beforeAll(async () => {
  engine = await useEngine();
  const { body } = await engine.call('POST', '/workflows', { name: 'Trial', eventName: 'began' });
  workflow = `/workflows/${body.id}`;
  await engine.call('POST', `${workflow}/steps`, {
    type: 'DELAY',
    name: 'A day',
    config: { amount: 1, unit: 'days' },
  });
  await engine.call('PATCH', workflow, { enabled: true });
});

beforeEach(async () => {
  const { api, project } = engine;
  cli = await useCli({ EVERPOST_URL: api.url, EVERPOST_KEY: project.secretKey });
});

/** Starts an execution and puts it into the state of a failed one. Returns its id. */
async function fail(completedAt: Date): Promise<string> {
  const contact = await engine.call('POST', '/contacts', { email: `${randomUUID()}@x.test` });
  const { body } = await engine.call('POST', `${workflow}/executions`, {
    contactId: contact.body.id,
  });
  await engine.api.db
    .updateTable('execution')
    .set({ status: 'FAILED', error: 'It answered 500.', completed_at: completedAt })
    .where('id', '=', body.id)
    .execute();
  return body.id;
}

/** Returns the lines of a running command, as JSON. */
const lines = (stdout: string) =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('import', () => {
  it('waits for the end of the job, and tells the lines that failed', async () => {
    const rows = Array.from({ length: 200 }, (_, row) => `person-${row}@import.test,pro`);
    const csv = ['email,plan', ...rows, 'nope,pro'].join('\n');
    await writeFile(join(cli.folder, 'people.csv'), csv);
    const { exitCode, json } = await cli.run(['import', 'people.csv']);
    const { state, result } = json();
    expect([exitCode, state, result.createdCount]).toEqual([0, 'completed', 200]);
    const again = await cli.run(['import', 'people.csv', '--text']);
    expect(again.stdout).toContain('200 updated, 1 rows failed.');
    expect(again.stdout).toContain('Line 202: nope ');
  });

  it('ends with 1 if the file cannot be imported, and with 2 if there is none', async () => {
    await writeFile(join(cli.folder, 'people.csv'), 'name\nAda\n');
    const { exitCode, json } = await cli.run(['import', 'people.csv']);
    expect([exitCode, json().state]).toEqual([1, 'failed']);
    expect((await cli.run(['import', 'none.csv'])).exitCode).toBe(2);
  });

  it('names the job that Ctrl-C leaves running', async () => {
    await engine.stopWorker();
    await writeFile(join(cli.folder, 'people.csv'), 'email\nada@import.test\n');
    const running = cli.start(['import', 'people.csv']);
    const jobs = async () => (await engine.call('GET', '/imports')).body.data;
    const before = (await jobs()).length;
    await waitFor('the job', async () => (await jobs()).length > before);
    // The job exists a moment before its name is answered.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    running.process.kill('SIGINT');
    const { exitCode, stderr } = await running.ended;
    const [{ id }] = await jobs();
    expect([exitCode, stderr]).toEqual([130, expect.stringContaining(id)]);
    await engine.startWorker();
    await waitFor('the end', async () => (await jobs())[0].state === 'completed');
  });
});

describe('failures', () => {
  it('lists what failed since, and ends with 3 with --exit-code', async () => {
    const id = await fail(new Date());
    const old = await fail(new Date(Date.now() - 3 * 86_400_000));
    const day = await cli.run(['failures', '--exit-code']);
    const ids = day.json().map((each: { id: string }) => each.id);
    expect([day.exitCode, ids.includes(id), ids.includes(old)]).toEqual([3, true, false]);
    const week = await cli.run(['failures', '--since', '7d', '--text']);
    expect([week.exitCode, week.stdout]).toEqual([0, expect.stringContaining(old)]);
    expect((await cli.run(['failures', '--since', 'soon'])).exitCode).toBe(2);
    const none = await cli.run(['failures', '--since', '0s', '--exit-code']);
    expect([none.exitCode, none.json()]).toEqual([0, []]);
  });

  it('are shown once each as they come, with --watch', async () => {
    const old = await fail(new Date(Date.now() - 5_000));
    const asked = () => JSON.stringify(engine.api.log.entries()).split('"/executions"').length;
    const before = asked();
    const running = cli.start(['failures', '--watch']);
    await waitFor('the first look', () => asked() >= before + 4);
    const id = await fail(new Date());
    await waitFor('its line', () => running.stdout().includes(id));
    const other = await fail(new Date());
    await waitFor('its line', () => running.stdout().includes(other));
    running.process.kill('SIGINT');
    const { exitCode, stdout } = await running.ended;
    const shown = lines(stdout).map((line) => line['id']);
    expect([exitCode, shown]).toEqual([130, [id, other]]);
    expect(shown).not.toContain(old);
  });
});

describe('logs', () => {
  it('show new activity with --watch, also where the clock is ahead', async () => {
    const shift = `const Real = Date; globalThis.Date = class extends Real {
      constructor(...given) { given.length > 0 ? super(...given) : super(Date.now()); }
      static now() { return Real.now() + 600_000; }
    }`;
    const preload = `--import=data:text/javascript,${encodeURIComponent(shift)}`;
    const asked = () => JSON.stringify(engine.api.log.entries()).split('"/activity"').length;
    const before = asked();
    const running = cli.start(['logs', '--watch'], { env: { NODE_OPTIONS: preload } });
    await waitFor('the first look', () => asked() > before);
    await cli.run(['track', 'ada@logs.test', 'ahead']);
    await waitFor('its line', () => running.stdout().includes('"ahead"'));
    running.process.kill('SIGINT');
    expect((await running.ended).exitCode).toBe(130);
  });

  it('show the activity, an object a line, and new activity once with --watch', async () => {
    await cli.run(['track', 'ada@logs.test', 'first']);
    const events = (stdout: string) =>
      lines(stdout)
        .map((line) => (line['metadata'] as { eventName?: string }).eventName)
        .filter((name) => name !== undefined);
    const { stdout } = await cli.run(['logs', '--since', '1h']);
    expect(events(stdout)).toContain('first');
    const running = cli.start(['logs', '--watch', '--since', '1h']);
    await waitFor('its line', () => running.stdout().includes('"first"'));
    await cli.run(['track', 'ada@logs.test', 'second']);
    await waitFor('its line', () => running.stdout().includes('"second"'));
    await cli.run(['track', 'ada@logs.test', 'third']);
    await waitFor('its line', () => running.stdout().includes('"third"'));
    running.process.kill('SIGINT');
    const names = events((await running.ended).stdout);
    expect(names.slice(-3)).toEqual(['first', 'second', 'third']);
    const text = await cli.run(['logs', '--text']);
    expect(text.stdout).toMatch(/event\.triggered {2}ada@logs\.test {2}third/);
  });
});
