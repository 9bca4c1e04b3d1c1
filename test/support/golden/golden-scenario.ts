import { randomUUID } from 'node:crypto';
import type { Engine } from '../engine.ts';
import { createTemplate, createWorkflow } from '../histories/executions.ts';
import { act, campaignIn, createCampaign } from '../projects/campaigns.ts';
import { endOfJob, importFile } from '../projects/upload.ts';
import { waitFor } from '../wait-for.ts';

/**
 * Plays one day of a small shop, the same in each run. Golden files contain the SQL statements of
 * the run.
 */
export async function runScenario(engine: Engine): Promise<void> {
  const ask = asking(engine);
  await contacts(ask);
  await segments(ask);
  await importFile(
    engine,
    'email,plan\nada@people.test,pro\nnope,free\ncy@people.test,free\n',
  ).then((job) => endOfJob(engine, job));
  await mail(engine, ask);
  await workflow(engine, ask);
  await campaign(engine, ask);
  for (const path of ['/activity', '/activity/stats', '/events', '/events/names', '/emails']) {
    await ask('GET', path);
  }
  await engine.temporal.client.workflow.execute('sweep', {
    taskQueue: engine.taskQueue,
    workflowId: `sweep-${randomUUID()}`,
    args: [],
  });
}

type Ask = ReturnType<typeof asking>;

/** Returns functions that send requests and require that they succeed. */
function asking(engine: Engine) {
  return async (...request: Parameters<Engine['call']>) => {
    const { status, body } = await engine.call(...request);
    if (status >= 300) throw new Error(`${request[0]} ${request[1]}: ${JSON.stringify(body)}`);
    return body;
  };
}

async function contacts(ask: Ask): Promise<void> {
  const { id } = await ask('POST', '/contacts', {
    email: 'ada@people.test',
    data: { plan: 'pro' },
  });
  await ask('POST', '/contacts', { email: 'bo@people.test' });
  await ask('PATCH', `/contacts/${id}`, { data: { name: 'Ada' } });
  await ask('GET', `/contacts/${id}`);
  await ask('GET', `/contacts/${id}/timeline`);
  const { cursor } = await ask('GET', '/contacts?limit=1');
  await ask('GET', `/contacts?limit=1&cursor=${cursor}`);
  await ask('GET', '/contacts?search=ada&sort=email&subscribed=true');
  await ask('GET', '/contacts/fields');
}

async function segments(ask: Ask): Promise<void> {
  const condition = {
    logic: 'AND',
    groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }],
  };
  const { id } = await ask('POST', '/segments', { name: 'Pro', condition, trackMembership: true });
  await ask('POST', `/segments/${id}/compute`);
  await ask('GET', `/segments/${id}/contacts`);
  await ask('GET', '/segments');
}

/** Sends a mail by a repeated request, and a mail that bounces. */
async function mail(engine: Engine, ask: Ask): Promise<void> {
  const message = { subject: 'Hello', body: '<p>Hello</p>', from: `team@${engine.domain}` };
  for (const to of ['ada@people.test', 'bounce@simulator.test']) {
    const headers = { 'Idempotency-Key': to };
    const sent = await ask('POST', '/v1/send', { ...message, to }, headers);
    await ask('POST', '/v1/send', { ...message, to }, headers);
    const status = to.startsWith('bounce') ? 'BOUNCED' : 'DELIVERED';
    await mailIn(ask, sent.data.emails[0].email, status);
  }
}

const mailIn = (ask: Ask, id: string, status: string) =>
  waitFor(`mail ${status}`, async () => (await ask('GET', `/emails/${id}`)).status === status);

/** Plays a workflow with a mail and a wait, started by one event and ended by another. */
async function workflow(engine: Engine, ask: Ask): Promise<void> {
  const templateId = await createTemplate(engine);
  const config = { eventName: 'paid', timeout: 3600 };
  const { id } = await createWorkflow(engine, {
    eventName: 'ordered',
    steps: [
      { type: 'SEND_EMAIL', name: 'Mail', templateId },
      { type: 'WAIT_FOR_EVENT', name: 'Wait', config },
    ],
    ways: [
      ['TRIGGER', 'Mail'],
      ['Mail', 'Wait'],
    ],
  });
  const path = `/workflows/${id}/executions`;
  const executionIn = (status: string) =>
    waitFor(`an execution ${status}`, async () => {
      const [first] = (await ask('GET', path)).executions;
      return first?.status === status ? first.id : null;
    });
  await ask('POST', '/v1/track', { email: 'bo@people.test', event: 'ordered' });
  await executionIn('WAITING');
  await ask('POST', '/v1/track', { email: 'bo@people.test', event: 'paid', data: { sum: 5 } });
  await ask('GET', `${path}/${await executionIn('COMPLETED')}`);
  await ask('GET', '/executions?status=COMPLETED&limit=1');
  await ask('GET', `/workflows/${id}/stats`);
  await ask('GET', `/templates/${templateId}/stats`);
  await ask('GET', `/templates/${templateId}/recipients?outcome=opened`);
  await ask('GET', '/workflows');
  const graph = await ask('GET', `/workflows/${id}/graph`);
  const [trigger] = graph.steps;
  const others = [
    { key: 'mail', type: 'SEND_EMAIL', name: 'Another name', config: {}, templateId },
    { key: 'end', type: 'EXIT', name: 'End', config: {} },
  ];
  await ask('PUT', `/workflows/${id}/graph`, {
    ...graph,
    steps: [trigger, ...others],
    transitions: [
      { from: 'trigger', to: 'mail' },
      { from: 'mail', to: 'end' },
    ],
  });
}

async function campaign(engine: Engine, ask: Ask): Promise<void> {
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  await campaignIn(engine, id, 'SENT');
  await ask('GET', `/campaigns/${id}/stats`);
  for (const query of [
    '',
    'outcome=bounced',
    'outcome=withheld',
    'reason=unsubscribed_at_freeze',
  ]) {
    await ask('GET', `/campaigns/${id}/recipients?${query}`);
  }
  await ask('GET', '/delivery');
  await ask('GET', '/campaigns?search=spring');
}
