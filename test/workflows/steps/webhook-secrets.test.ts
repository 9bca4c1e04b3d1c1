import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { executionRunId } from '../../../domain/runs/execution.ts';
import { useEngine } from '../../support/engine.ts';
import { beginExecution } from '../../support/histories/executions.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';

const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_MAX_ATTEMPTS: '2' });
const receiver = await useReceiver();

async function setSecret(name: string, value: string, more: object = {}): Promise<void> {
  // Searched for in the log at the end.
  engine.api.log.mustNotTell(value);
  const { status } = await engine.call('PUT', `/secrets/${name}`, { value, ...more });
  if (status !== 204) throw new Error(`PUT /secrets/${name}: ${status}`);
}

/** Runs a workflow of one WEBHOOK step. Returns everything about it that can be read anywhere. */
async function play(config: Record<string, unknown>, status: string, contact: object = {}) {
  const { workflow, id, until } = await beginExecution(engine, {
    allowReentry: true,
    steps: [{ type: 'WEBHOOK', name: 'Call', config }],
    contact,
  });
  const execution = await until(status);
  const path = `/workflows/${workflow.id}`;
  const handle = engine.temporal.client.workflow.getHandle(executionRunId(id));
  const history = await handle.fetchHistory();
  // Payloads are base64, so their content is compared as text.
  const payloads = JSON.stringify(history, (key, value: unknown) =>
    key === 'data' ? Buffer.from(String(value), 'base64').toString() : value,
  );
  expect(payloads).toContain('stepId');
  expect(payloads).not.toContain(String(config['url']).slice(0, 10));
  const simulated = await engine.call('POST', `${path}/simulate`, {
    contact: { email: 'ada@people.test' },
  });
  expect(simulated.status).toBe(200);
  const seen = [
    JSON.stringify(execution),
    JSON.stringify((await engine.call('GET', path)).body),
    JSON.stringify((await engine.call('GET', `${path}/graph`)).body),
    JSON.stringify((await engine.call('GET', `${path}/executions`)).body),
    JSON.stringify((await engine.call('GET', `${path}/executions/${id}/history`)).body),
    JSON.stringify(simulated.body),
    JSON.stringify((await engine.call('GET', '/secrets')).body),
    payloads,
  ].join('\n');
  return { execution, step: execution.stepExecutions[1], seen };
}

it('a secret is in the request alone, in url, headers and body', async () => {
  const value = `tok-${randomUUID()} "q"/ü`;
  await setSecret('TOKEN', value);
  const echo = { Authorization: `Bearer ${value}`, list: [value], [value]: 1 };
  const path = `/hook/${encodeURI(value).replaceAll(' ', '%20')}`;
  receiver.answer(path, { status: 500, body: echo }, { status: 200, body: echo });
  const { execution, step, seen } = await play(
    {
      url: `${receiver.url}/hook/{{secret.TOKEN}}`,
      headers: { 'X-Auth': 'Token {{ secret.TOKEN }}', Authorization: '{{secret.TOKEN}}' },
      body: { deep: [{ token: 'a {{secret.TOKEN}} b' }], name: '{{name}}' },
    },
    'COMPLETED',
    { data: { name: 'Ada' } },
  );
  const [request] = receiver.requests(path);
  expect(JSON.parse(request!.body)).toEqual({ deep: [{ token: `a ${value} b` }], name: 'Ada' });
  const header = Buffer.from(String(request!.headers['x-auth']), 'latin1').toString();
  expect(header).toBe(`Token ${value}`);
  expect(step.output).toMatchObject({
    url: `${receiver.url}/hook/•••`,
    success: true,
    attempts: 2,
    response: { Authorization: 'Bearer •••', list: ['•••'], '•••': 1 },
  });
  expect(execution.status).toBe('COMPLETED');
  for (const form of [value, JSON.stringify(value).slice(1, -1), encodeURI(value)]) {
    expect(seen).not.toContain(form);
  }
  expect(seen).not.toContain(value.slice(0, 40));
});

it('an unknown secret fails the step before the receiver is called', async () => {
  receiver.answer('/unknown', { status: 200 });
  const { execution, step } = await play(
    { url: `${receiver.url}/unknown`, body: '{{secret.NOBODY_SET_THIS}}' },
    'FAILED',
  );
  expect(step.error).toContain('unknown secret: the project has no secret');
  expect(execution.error).toContain('unknown secret: the project has no secret');
  expect(receiver.requests('/unknown')).toEqual([]);
});

it("another project's secret is unknown", async () => {
  const other = await engine.api.createProject((await engine.api.signUp()).cookie);
  await engine.api.request('PUT', '/secrets/FOREIGN', {
    key: other.secretKey,
    body: { value: 'not yours' },
  });
  const { step } = await play({ url: receiver.url, body: '{{secret.FOREIGN}}' }, 'FAILED');
  expect(step.error).toContain('unknown secret: the project has no secret');
});

it('a contact cannot name a secret', async () => {
  await setSecret('MINE', 'mine alone');
  receiver.answer('/named', { status: 200 });
  await play(
    {
      url: `${receiver.url}/named`,
      headers: { Authorization: '{{secret.MINE}}' },
      body: { name: '{{name}}' },
    },
    'COMPLETED',
    { data: { name: '{{secret.MINE}}' } },
  );
  expect(JSON.parse(receiver.requests('/named')[0]!.body)).toEqual({ name: '{{secret.MINE}}' });
});

it('a secret with a line break in a header fails the step, without telling it', async () => {
  await setSecret('LINES', 'first line\nother line');
  const { step, seen } = await play(
    { url: receiver.url, headers: { Authorization: '{{secret.LINES}}' } },
    'FAILED',
  );
  expect(step.error).toContain('line break');
  expect(seen).not.toContain('other line');
});

it('a failed call does not show the secret in its address', async () => {
  await setSecret('HOST', 'Hidden-Name.invalid');
  const { step, seen } = await play(
    { url: 'http://{{secret.HOST}}/', onFailure: 'fail' },
    'FAILED',
  );
  expect(step.output).toMatchObject({ url: 'http://•••/', success: false });
  expect(seen.toLowerCase()).not.toContain('hidden-name');
});

describe('a secret that is bound to hosts', () => {
  const { host, port } = new URL(receiver.url);

  it('goes to these, whatever tells the host', async () => {
    await setSecret('BOUND', 'bound-to-here', { hosts: [host] });
    receiver.answer('/bound', { status: 200 });
    await play(
      { url: 'http://127.0.0.1:{{port}}/bound', headers: { 'X-Key': '{{secret.BOUND}}' } },
      'COMPLETED',
      { data: { port: Number(port) } },
    );
    expect(receiver.requests('/bound')[0]!.headers['x-key']).toBe('bound-to-here');
  });

  it.each([
    ['url', { url: `http://127.0.0.1:{{port}}/away?k={{secret.AWAY}}` }],
    ['headers', { headers: { 'X-Key': '{{secret.AWAY}}' } }],
    ['body', { body: { key: '{{secret.AWAY}}' } }],
  ])('fails the step when only its variables tell another host: %s', async (_, config) => {
    await setSecret('AWAY', 'never-sent', { hosts: [`127.0.0.1:${Number(port) - 1}`] });
    receiver.answer('/away', { status: 200 });
    const { step, execution, seen } = await play(
      { url: 'http://127.0.0.1:{{port}}/away', ...config },
      'FAILED',
      { data: { port: Number(port) } },
    );
    expect(step.error).toContain('secret not allowed: ');
    expect(execution.error).toContain('secret not allowed: ');
    expect(seen).not.toContain('never-sent');
    expect(receiver.requests('/away')).toEqual([]);
  });

  it('is not shown by the failed step if it is the host itself', async () => {
    await setSecret('PLACE', 'hidden-place.invalid', { hosts: ['crm.example'] });
    const { step, seen } = await play({ url: 'http://{{secret.PLACE}}/' }, 'FAILED');
    expect(step.error).toContain('secret not allowed: PLACE must not be sent to •••.');
    expect(seen).not.toContain('hidden-place');
  });

  it('fails the step when it was bound since the step was saved', async () => {
    await setSecret('LATER', 'once-free');
    const { workflow, id, until } = await beginExecution(engine, {
      steps: [
        { type: 'DELAY', name: 'Wait', config: { amount: 1, unit: 'hours' } },
        { type: 'WEBHOOK', name: 'Call', config: { url: receiver.url, body: '{{secret.LATER}}' } },
      ],
    });
    await until('WAITING');
    await setSecret('LATER', 'bound-now', { hosts: ['crm.example'] });
    const path = `/workflows/${workflow.id}/executions/${id}`;
    expect((await engine.call('POST', `${path}/skip`)).status).toBe(200);
    expect((await until('FAILED')).error).toContain('secret not allowed: ');
  });

  it('stays here when the receiver redirects to another host, in headers, type and body', async () => {
    const other = await useReceiver();
    await setSecret('STAY', 'stays-here', { hosts: [host] });
    other.answer('/next', { status: 200 });
    const headers = { Location: `${other.url}/next` };
    receiver.answer('/moved', { status: 307, headers });
    const url = `${receiver.url}/moved`;
    await play({ url, method: 'GET', headers: { 'X-Key': '{{secret.STAY}}' } }, 'COMPLETED');
    await play({ url, method: 'GET', headers: { 'Content-Type': '{{secret.STAY}}' } }, 'COMPLETED');
    await play({ url, method: 'GET', headers: { Cookie: '{{secret.STAY}}' } }, 'COMPLETED');
    await play({ url, body: '{{secret.STAY}}', onFailure: 'fail' }, 'FAILED');
    const came = other.requests('/next');
    expect(came).toHaveLength(3);
    expect(JSON.stringify(came)).not.toContain('stays-here');
  });
});
