import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Cli, useCli } from '../../../support/cli.ts';
import { useEngine } from '../../../support/engine.ts';
import { useReceiver } from '../../../support/fakes/receiver.ts';
import { writeFiles } from '../../../support/journeys.ts';
import { newAddress } from '../../../support/projects/shop.ts';
import { waitFor } from '../../../support/wait-for.ts';

/** `everpost replay` of an execution that has run in Temporal. */

const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const receiver = await useReceiver();
receiver.answer('/crm', { status: 404, body: { card: '4242' } });

const files = {
  'segments/pro.yaml':
    'name: Pro\nfilters: {operator: AND, conditions: [{field: data.plan, operator: equals, value: pro}]}\n',
  'workflows/orders.yaml': `name: Orders
enabled: true
trigger: {type: EVENT, config: {eventName: ordered}}
steps:
  - {key: draw, type: SPLIT, name: Draw, config: {arms: [{id: a, name: A, weight: 1}, {id: b, name: B, weight: 1}]}}
  - key: which
    type: CONDITION
    name: Which
    config:
      mode: filter
      branches:
        - {id: pro, name: Pro, filter: {operator: AND, conditions: [{field: segment.pro, operator: memberOfSegment}]}}
  - {key: paid, type: WAIT_FOR_EVENT, name: Paid, config: {eventName: paid, timeout: 86400, where: [{field: event.orderId, operator: equals, valueOf: context.orderId}]}}
  - {key: crm, type: WEBHOOK, name: CRM, config: {url: '${receiver.url}/crm', onFailure: continue}}
  - {key: done, type: EXIT, name: Done, config: {reason: done}}
transitions:
  - {from: trigger, to: draw}
  - {from: draw, to: which, branch: a}
  - {from: draw, to: which, branch: b}
  - {from: which, to: paid, branch: pro}
  - {from: paid, to: crm, branch: event}
  - {from: crm, to: done}
`,
};

const email = newAddress();
let cli: Cli;
let executionId: string;
let replay: (...words: string[]) => ReturnType<Cli['run']>;

beforeAll(async () => {
  cli = await useCli({ EVERPOST_URL: engine.api.url, EVERPOST_KEY: engine.project.secretKey });
  await writeFiles(cli.folder, files);
  // A topic without a file.
  await engine.call('POST', '/topics', { key: 'extra', name: 'Extra', default: 'subscribed' });
  const { body: plan } = await engine.call('POST', '/plan', { files });
  expect((await engine.call('POST', '/apply', { planId: plan.id })).status).toBe(200);
  const track = (event: string, data: object) =>
    engine.call('POST', '/v1/track', { email, event, data });
  await track('ordered', { orderId: 7, plan: 'pro', name: 'Ada Lovelace' });
  const status = (wanted: string) =>
    waitFor(`an execution that is ${wanted}`, async () => {
      const { body } = await engine.call('GET', '/executions');
      const [one] = body.data as { id: string; status: string }[];
      return one?.status === wanted ? one : null;
    });
  await status('WAITING');
  await track('paid', { orderId: 8, note: 'another order' });
  await track('paid', { orderId: 7, note: 'gate code 1234' });
  executionId = (await status('EXITED')).id;
  replay = (...words) => cli.run(['replay', 'orders', executionId, ...words]);
}, 60_000);

describe('everpost replay', () => {
  it('takes the same way on the same files', async () => {
    const { exitCode, stderr, json } = await replay('--exit-code');
    expect([exitCode, stderr]).toEqual([0, '']);
    const { recorded, replayed, difference } = json();
    expect(recorded).toEqual({
      path: [
        { step: 'draw', branch: expect.stringMatching(/^[ab]$/) },
        { step: 'which', branch: 'pro' },
        { step: 'paid', branch: 'event' },
        { step: 'crm', branch: null },
        { step: 'done', branch: null },
      ],
      status: 'EXITED',
      exitReason: 'done',
      error: null,
    });
    expect([replayed, difference]).toEqual([recorded, null]);
    expect((await replay('--text')).stdout).toContain('The ways are the same.');
  });

  it('shows the first step at which a changed file leads elsewhere', async () => {
    const changed = files['workflows/orders.yaml'].replace('eventName: paid', 'eventName: settled');
    const dir = join(cli.folder, 'changed');
    await writeFiles(dir, { ...files, 'workflows/orders.yaml': changed });
    const { exitCode, json } = await replay('--exit-code', '--dir', dir);
    expect(exitCode).toBe(3);
    expect(json().difference).toEqual({
      step: 3,
      recorded: '{paid: event}',
      replayed: '{paid: timeout}',
    });
    const { exitCode: plain, stdout } = await replay('--text', '--dir', dir);
    expect([plain, stdout]).toEqual([
      0,
      expect.stringContaining('They part at step 3: {paid: event} then, {paid: timeout} now.'),
    ]);
  });

  it('saves a journey test that passes and has no personal data', async () => {
    const file = join(cli.folder, 'paid.journey.yaml');
    expect((await replay('--save', 'paid.journey.yaml')).exitCode).toBe(0);
    const text = await readFile(file, 'utf8');
    for (const secret of [email, 'Lovelace', '4242', '1234', 'another order']) {
      expect(text).not.toContain(secret);
    }
    expect(text).toContain('plan: pro');
    const { exitCode, stdout } = await cli.run(['test', '--text']);
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('1 passed')]);
    expect(await replay('--save', 'paid.journey.yaml')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('exists already'),
    });
  });

  it('refuses an unknown workflow, an unknown execution and a file with mistakes', async () => {
    const unknown = await cli.run(['replay', 'ordres', executionId]);
    expect([unknown.exitCode, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('Did you mean "orders"?'),
    ]);
    const other = await cli.run(['replay', 'orders', '00000000-0000-4000-8000-000000000001']);
    expect([other.exitCode, other.stderr]).toEqual([
      1,
      expect.stringContaining('EXECUTION_NOT_FOUND'),
    ]);
    const dir = join(cli.folder, 'broken');
    await writeFiles(dir, { 'workflows/orders.yaml': 'name: [' });
    const broken = await replay('--dir', dir);
    expect([broken.exitCode, broken.stderr]).toEqual([2, expect.stringContaining('orders.yaml:1')]);
  });
});
