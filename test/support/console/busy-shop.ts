import type { Receiver } from '../fakes/receiver.ts';
import { keyed, trigger, ways } from '../projects/portable-graph.ts';
import { waitFor } from '../wait-for.ts';
import type { ConsoleShop } from './shop.ts';

type Call = ConsoleShop['call'];

/** Sends a POST request that must succeed. */
async function post(call: Call, path: string, body: object) {
  const answer = await call('POST', path, body);
  if (answer?.error) throw new Error(`${path}: ${JSON.stringify(answer.error)}`);
  return answer;
}

/** Makes a verified domain and a template of marketing mail. Returns the sender's address. */
export async function makeTemplate({ call, projectId }: ConsoleShop): Promise<string> {
  const domain = `${projectId}.test`;
  await post(call, '/domains', { domain, projectId });
  await post(call, '/templates', {
    name: 'Sale',
    subject: 'Sale',
    body: '<p>Dear {{ name }}, {{ nmae }} <a href="https://shop.test/sale">come</a></p>',
    type: 'MARKETING',
    from: `shop@${domain}`,
  });
  return `shop@${domain}`;
}

/** Makes a campaign for all contacts; `sending` is the body of the request that sends it. */
export async function makeCampaign(
  call: Call,
  settings: { name: string; from: string; maxPerMinute?: number },
  sending: object,
): Promise<void> {
  const { data } = await post(call, '/campaigns', {
    audienceType: 'ALL',
    subject: 'Sale',
    body: '<p>Come</p>',
    ...settings,
  });
  await post(call, `/campaigns/${data.id}/send`, sending);
}

/** Makes a workflow in which these contacts wait at a delay. Returns the workflow's id. */
export async function makeWaiting(call: Call, emails: readonly string[]): Promise<string> {
  const { id } = await post(call, '/workflows', {
    name: 'Onboarding',
    enabled: true,
    graph: {
      trigger: { type: 'EVENT', config: { eventName: 'signed_up' } },
      steps: [
        trigger,
        keyed('pause', 'DELAY', { name: 'Two days', config: { amount: 2, unit: 'days' } }),
        keyed('end', 'EXIT', { name: 'End' }),
      ],
      transitions: ways('trigger>pause', 'pause>end'),
    },
  });
  for (const email of emails) await post(call, '/events/track', { email, event: 'signed_up' });
  await executionsOf(call, id, 'WAITING', emails.length);
  return id;
}

/** Makes a workflow whose webhook fails with 404 for these contacts, until `mend` is called. */
export async function makeFailed(
  call: Call,
  receiver: Receiver,
  emails: readonly string[],
): Promise<{ id: string; mend: () => void }> {
  const path = `/${crypto.randomUUID()}`;
  receiver.answer(path, { status: 404 });
  const config = { url: `${receiver.url}${path}`, onFailure: 'fail' };
  const { id } = await post(call, '/workflows', {
    name: 'Orders',
    enabled: true,
    graph: {
      trigger: { type: 'EVENT', config: { eventName: 'ordered' } },
      steps: [trigger, keyed('shop', 'WEBHOOK', { name: 'Tell the shop', config })],
      transitions: ways('trigger>shop'),
    },
  });
  for (const email of emails) await post(call, '/events/track', { email, event: 'ordered' });
  await executionsOf(call, id, 'FAILED', emails.length);
  return { id, mend: () => receiver.answer(path, { status: 200 }) };
}

/** Waits until a workflow has `count` executions with a status. */
export async function executionsOf(
  call: Call,
  id: string,
  status: string,
  count: number,
): Promise<void> {
  await waitFor(`${count} executions in ${status}`, async () => {
    const { total } = await call('GET', `/executions?workflowId=${id}&status=${status}`);
    return total === count;
  });
}
