import { expect, it } from 'vitest';
import { deliveryRunId } from '../../../domain/runs/execution.ts';
import { useEngine } from '../../support/engine.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();
const later = (ms: number) => new Date(Date.now() + ms).toISOString();

/** Sends a mail with the changes in `given`. */
async function send(given: object) {
  const to = newAddress();
  const mail = { to, from: `team@${engine.domain}`, subject: 'Hello', body: '<p>{{plan}}</p>' };
  const { status, body } = await engine.call('POST', '/v1/send', { ...mail, ...given });
  if (status !== 200) throw new Error(JSON.stringify(body));
  const [sent] = body.data.emails;
  return { to, id: sent.email as string, contactId: sent.contact.id as string };
}

const emailOf = async (id: string) => (await engine.call('GET', `/emails/${id}`)).body;

/** Returns the mail, once it has left or ended. */
const ended = (id: string) =>
  waitFor(`mail ${id} to end`, async () => {
    const email = await emailOf(id);
    return !['PENDING', 'SENDING'].includes(email.status) && email;
  });

/** Returns its states except those that depend on the speed of the machine. */
const statesOf = (email: { trace: { state: string }[] }) =>
  email.trace.map(({ state }) => state).filter((state) => state !== 'throttled');

it('leaves at its time, dated then', async () => {
  const at = later(2000);
  const { id, to } = await send({ scheduledFor: at });
  expect(await emailOf(id)).toMatchObject({ status: 'PENDING', hold: { reason: 'schedule' } });
  const email = await ended(id);
  expect(email).toMatchObject({ status: 'DELIVERED', scheduledFor: at, hold: null });
  expect(email.sentAt >= at).toBe(true);
  expect(statesOf(email)).toEqual(['queued', 'scheduled', 'handed_over', 'accepted', 'delivered']);
  const [mail] = await engine.mailsTo(to, 1);
  const { body } = await engine.api.request('GET', `/local/mailbox/${mail?.id}`);
  const date = /^Date: (.*?)\r?$/m.exec(body.raw)?.[1] ?? '';
  expect(Date.parse(date)).toBeGreaterThanOrEqual(Math.floor(Date.parse(at) / 1000) * 1000);
});

it('is looked at when it leaves: its contact, its sender, its project', async () => {
  const at = later(2500);
  const second = `second-${engine.domain}`;
  const { body: domain } = await engine.call('POST', '/domains', { domain: second });
  const template = await engine.call('POST', '/templates', {
    name: 'Offer',
    subject: 'Offer',
    body: '<p>Offer</p>',
    type: 'MARKETING',
    from: `team@${engine.domain}`,
  });
  const gone = await send({ scheduledFor: at });
  const lost = await send({ scheduledFor: at, from: `team@${second}` });
  const optedOut = await send({
    scheduledFor: at,
    template: template.body.id,
    subject: undefined,
    body: undefined,
    subscribed: true,
  });
  const old = await send({ scheduledFor: at, data: { plan: 'old' } });
  await engine.call('DELETE', `/contacts/${gone.contactId}`);
  expect((await engine.call('DELETE', `/domains/${domain.id}`)).status).toBe(200);
  await engine.call('PATCH', `/contacts/${optedOut.contactId}`, { subscribed: false });
  await engine.call('PATCH', `/contacts/${old.contactId}`, { data: { plan: 'new' } });
  expect((await engine.call('DELETE', `/templates/${template.body.id}`)).status).toBe(204);

  expect((await engine.call('GET', `/emails/${gone.id}`)).status).toBe(404);
  const withheld = await ended(lost.id);
  expect(withheld).toMatchObject({ status: 'FAILED', error: 'domain_not_verified' });
  expect(statesOf(withheld)).toEqual(['queued', 'scheduled', 'withheld']);
  expect(await ended(optedOut.id)).toMatchObject({ error: 'contact_unsubscribed' });
  expect(await ended(old.id)).toMatchObject({
    status: 'DELIVERED',
    body: expect.stringContaining('old'),
  });
});

it('costs the run of its project nothing until it is due', async () => {
  const first = await send({});
  await ended(first.id);
  const run = engine.temporal.client.workflow.getHandle(deliveryRunId(engine.project.id));
  const at = Date.now() + 86_400_000;
  await Promise.all(
    Array.from({ length: 10 }, async (_, page) => {
      const to = Array.from({ length: 200 }, () => newAddress());
      await send({ to, scheduledFor: new Date(at + page * 1000).toISOString() });
    }),
  );
  const eventsOf = async () => (await run.describe()).historyLength;
  // The run must finish its work for the first mail.
  const before = await waitFor('the run to rest', async () => {
    const length = await eventsOf();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return length === (await eventsOf()) && length;
  });
  await new Promise((resolve) => setTimeout(resolve, 3000));
  expect(await eventsOf()).toBe(before);
  const sentAt = Date.now();
  const other = await send({});
  const email = await ended(other.id);
  expect(email.status).toBe('DELIVERED');
  expect(Date.parse(email.sentAt) - sentAt).toBeLessThan(5000);
  const { count } = await engine.temporal.client.workflow.count(
    `WorkflowType = 'deliveryQueue' AND TaskQueue = '${engine.taskQueue}' AND ExecutionStatus = 'Running'`,
  );
  expect(count).toBeLessThanOrEqual(1);
}, 120_000);

it('leaves once after a time without a worker', async () => {
  const { id, to } = await send({ scheduledFor: later(1500) });
  await engine.stopWorker();
  await new Promise((resolve) => setTimeout(resolve, 2000));
  expect(await emailOf(id)).toMatchObject({ status: 'PENDING', hold: null });
  await engine.startWorker();
  expect(await ended(id)).toMatchObject({ status: 'DELIVERED' });
  expect(await engine.mailsTo(to, 1)).toHaveLength(1);
});
