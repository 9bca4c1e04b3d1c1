import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { ensureSweep } from '../../../workflows/client/schedule.ts';
import { executionRunId, deliveryRunId } from '../../../domain/runs/execution.ts';
import { sweepIdOf } from '../../../domain/runs/runs.ts';
import { createCampaign } from '../../support/projects/campaigns.ts';
import { type Engine, useEngine } from '../../support/engine.ts';
import {
  beginExecution,
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_TIMEOUT_MS: '50000' });

/** Releases the requests that hang since the last test. */
let release = () => {};
afterEach(() => release());

/** Returns a path of the receiver that responds only at the end of the test. */
function hangingPath(): string {
  const path = `/${randomUUID()}`;
  receiver.answer(path, { status: 200, until: new Promise((resolve) => (release = resolve)) });
  return path;
}

/** Returns the engine with another project, which has its own sender domain. */
async function neighbour(): Promise<Engine> {
  const { api } = engine;
  const project = await api.createProject((await api.signUp()).cookie);
  const domain = `${randomUUID()}.test`;
  const call: Engine['call'] = (method, path, body) =>
    api.request(method, path, { key: project.secretKey, body });
  await call('POST', '/domains', { domain });
  return { ...engine, project, domain, call };
}

/** Creates a workflow that calls a path of the receiver, then sends a mail. */
async function callingWorkflow(of: Engine, path: string, eventName: string) {
  return createWorkflow(of, {
    eventName,
    steps: [
      { type: 'WEBHOOK', name: 'Call', config: { url: `${receiver.url}${path}` } },
      { type: 'SEND_EMAIL', name: 'Mail', templateId: await createTemplate(of) },
    ],
  });
}

const track = (of: Engine, event: string, email: string) =>
  of.call('POST', '/v1/track', { event, email });

it('a project whose receivers all hang holds up neither the webhooks nor the mail of another', async () => {
  const path = hangingPath();
  await callingWorkflow(engine, path, 'hangs');
  // More than all slots for steps and webhooks.
  await Promise.all(Array.from({ length: 60 }, () => track(engine, 'hangs', newAddress())));
  await waitFor('as many as may hang at once', () => receiver.requests(path).length >= 10);

  const other = await neighbour();
  const quick = `/${randomUUID()}`;
  receiver.answer(quick, { status: 200 });
  await callingWorkflow(other, quick, 'answered');
  const emails = Array.from({ length: 5 }, newAddress);
  await Promise.all(emails.map((email) => track(other, 'answered', email)));
  for (const email of emails) expect(await engine.mailsTo(email, 1)).toHaveLength(1);
  expect(receiver.requests(quick)).toHaveLength(5);
  // Half of the 20 slots, because none of the requests was answered meanwhile.
  expect(receiver.requests(path)).toHaveLength(10);
}, 60_000);

it('a project whose templates take long holds up no step of another', async () => {
  // A text that grows when it is escaped, a thousand times: a hundred megabytes.
  const body = '{{v}}'.repeat(900);
  const bad = await createWorkflow(engine, {
    steps: [
      { type: 'SEND_EMAIL', name: 'Mail', templateId: await createTemplate(engine, { body }) },
    ],
  });
  const context = { v: '"'.repeat(19_000) };
  const contacts = await Promise.all(
    Array.from({ length: 6 }, () => createContact(engine, newAddress())),
  );
  const other = await neighbour();
  const good = await createWorkflow(other, {
    steps: [{ type: 'UPDATE_CONTACT', name: 'It', config: { updates: { seen: '{{name}}!' } } }],
  });
  const contactId = await createContact(other, newAddress(), { data: { name: 'Ada' } });

  let pauseMs = 0;
  let last = performance.now();
  const beat = setInterval(() => {
    pauseMs = Math.max(pauseMs, performance.now() - last);
    last = performance.now();
  }, 5);
  const ids = await Promise.all(contacts.map((id) => startByHand(engine, bad.id, id, context)));
  const id = await startByHand(other, good.id, contactId);
  const done = await executionIn(other, good.id, id, 'COMPLETED', 60_000);
  expect(done.stepExecutions[1].output.newData).toEqual({ name: 'Ada', seen: 'Ada!' });
  for (const one of ids) await executionIn(engine, bad.id, one, 'COMPLETED', 60_000);
  clearInterval(beat);
  // Rendered in the main thread, each would take four seconds.
  expect(pauseMs).toBeLessThan(2_500);
}, 120_000);

it('webhooks that had to wait for a slot are all called, each once', async () => {
  const path = hangingPath();
  const workflow = await callingWorkflow(engine, path, 'in their turn');
  await Promise.all(Array.from({ length: 25 }, () => track(engine, 'in their turn', newAddress())));
  await waitFor('as many as may hang at once', () => receiver.requests(path).length === 10);
  receiver.answer(path, { status: 200 });
  release();
  await waitFor('all to be done', async () => {
    const all = await engine.call('GET', `/workflows/${workflow.id}/executions?status=COMPLETED`);
    return all.body.total === 25;
  });
  const deliveries = receiver.requests(path).map(({ headers }) => headers['everpost-delivery']);
  expect(new Set(deliveries).size).toBe(25);
  expect(deliveries).toHaveLength(25);
  const outputs = await engine.api.db
    .selectFrom('step_execution')
    .select('output')
    .where('step_id', '=', workflow.steps['Call']!)
    .execute();
  // Waiting for a slot does not count as an attempt.
  expect(outputs.map(({ output }) => (output as { attempts: number }).attempts)).toEqual(
    Array.from({ length: 25 }, () => 1),
  );
}, 60_000);

describe('the priority of a run', () => {
  /** Returns fairness and priority of a run and its activities. */
  async function prioritiesOf(workflowId: string) {
    const handle = engine.temporal.client.workflow.getHandle(workflowId);
    const { events } = await waitFor('an activity', async () => {
      const history = await handle.fetchHistory().catch(() => null);
      const isThere = history?.events?.some((e) => e.activityTaskScheduledEventAttributes);
      return isThere ? history : null;
    });
    const all = (events ?? []).flatMap((event) => {
      const { priority } =
        event.workflowExecutionStartedEventAttributes ??
        event.activityTaskScheduledEventAttributes ??
        {};
      return priority ? [`${priority.priorityKey} ${priority.fairnessKey}`] : [];
    });
    return { run: all[0], activities: [...new Set(all.slice(1))] };
  }

  it('is its project’s turn, for executions, delivery, jobs and pollers', async () => {
    const { id } = engine.project;
    const path = `/${randomUUID()}`;
    receiver.answer(path, { status: 200 });
    const workflow = await callingWorkflow(engine, path, 'keyed');
    const email = newAddress();
    const contactId = await createContact(engine, email);
    const executionId = await startByHand(engine, workflow.id, contactId);
    await executionIn(engine, workflow.id, executionId, 'COMPLETED');
    const usual = { run: `3 ${id}`, activities: [`3 ${id}`] };
    expect(await prioritiesOf(executionRunId(executionId))).toEqual(usual);

    await engine.mailsTo(email, 1);
    const own = [`0 ${id}`];
    expect(await prioritiesOf(deliveryRunId(id))).toEqual({ run: `2 ${id}`, activities: own });
    const { body } = await engine.call('POST', '/contacts/bulk-unsubscribe', {
      mode: 'query',
      filter: {},
    });
    expect(await prioritiesOf(body.jobId)).toEqual({ run: `3 ${id}`, activities: own });
    const { body: domain } = await engine.call('POST', '/domains', { domain: `${id}.test` });
    const poller = await prioritiesOf(`domain-${domain.id}`);
    expect(poller).toEqual({ run: `3 ${id}`, activities: own });
  });

  it('goes before the rest for a manual retry, a test of a campaign and the sweep', async () => {
    const { id } = engine.project;
    const hook = `/${randomUUID()}`;
    receiver.answer(hook, { status: 404 });
    const config = { url: `${receiver.url}${hook}`, onFailure: 'fail' };
    const begun = await beginExecution(engine, {
      steps: [{ type: 'WEBHOOK', name: 'Call', config }],
    });
    await begun.until('FAILED');
    receiver.answer(hook, { status: 200 });
    await engine.call('POST', `${begun.path}/retry`);
    // Its steps have the same priority as others.
    const retried = { run: `2 ${id}`, activities: [`3 ${id}`] };
    expect(await prioritiesOf(executionRunId(begun.id))).toEqual(retried);

    const campaignId = await createCampaign(engine);
    const to = newAddress();
    await engine.call('POST', `/campaigns/${campaignId}/test`, { email: to });
    const [mail] = await engine.mailsTo(to, 1);
    const attended = { run: `1 ${id}`, activities: [`1 ${id}`] };
    expect(await prioritiesOf(`campaign-test-${mail?.id}`)).toEqual(attended);
  });

  it('is given to a sweep whose schedule says otherwise, with its interval', async () => {
    const { client } = engine.temporal;
    const taskQueue = `test-${randomUUID()}`;
    const schedule = client.schedule.getHandle(sweepIdOf(taskQueue));
    await client.schedule.create({
      scheduleId: sweepIdOf(taskQueue),
      spec: { intervals: [{ every: '1 hour' }] },
      action: { type: 'startWorkflow', workflowType: 'sweep', taskQueue, args: [] },
    });
    try {
      await ensureSweep(client, taskQueue);
      expect((await schedule.describe()).action.priority).toMatchObject({ priorityKey: 1 });
      expect((await schedule.describe()).spec.intervals).toMatchObject([{ every: 30_000 }]);
    } finally {
      await schedule.delete();
    }
  });
});
