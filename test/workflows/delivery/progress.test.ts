import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { createContact, createWorkflow, startByHand } from '../../support/histories/executions.ts';
import {
  act,
  campaignIn,
  campaignOf,
  createCampaign,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { useWorkerProcess } from '../../support/processes/processes.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine({ EMAIL_RATE_PER_PROJECT_PER_SECOND: '2' });

const get = async (path: string) => {
  const { status, body } = await engine.call('GET', path);
  expect([path, status]).toEqual([path, 200]);
  return body;
};
const progressOf = async (id: string) => (await get(`/campaigns/${id}/stats`)).data.progress;

it('shows how fast a campaign is sent, what limits it and when it ends', async () => {
  await waitFor('the worker', async () => (await get('/delivery')).workers === 1);
  expect(await get('/delivery')).toEqual({
    due: 0,
    oldestDueAt: null,
    sending: 0,
    unknown: 0,
    held: { schedule: 0, quiet_hours: 0, frequency_cap: 0, retry: 0 },
    perSecond: 0,
    limitedBy: null,
    workers: 1,
  });
  await insertContacts(engine, 30);
  const id = await createCampaign(engine);
  expect(await progressOf(id)).toBeNull();
  await act(engine, id, 'send');
  await waitFor('ten mails', async () => (await campaignOf(engine, id)).sentCount >= 10, 20_000);
  // On a busy machine the mail itself is late at times.
  const limited = async () => {
    const found = await progressOf(id);
    return found.limitedBy === 'project_rate' && { ...found, askedAt: Date.now() };
  };
  const { askedAt, ...progress } = await waitFor('the limit of the project', limited);
  expect(progress).toMatchObject({ oldestDueAt: expect.any(String) });
  expect(progress.perSecond).toBeGreaterThan(1.4);
  expect(progress.perSecond).toBeLessThan(2.6);
  const delivery = await get('/delivery');
  expect(delivery).toMatchObject({ unknown: 0, workers: 1 });
  expect(['project_rate', null]).toContain(delivery.limitedBy);
  expect(delivery.perSecond).toBeGreaterThan(1.4);
  expect(delivery.perSecond).toBeLessThan(2.6);
  expect(delivery.due).toBeGreaterThan(0);
  expect(Date.parse(delivery.oldestDueAt)).toBeLessThan(askedAt);
  await campaignIn(engine, id, 'SENT', 60_000);
  const { data } = await get(`/emails?campaignId=${id}&limit=100`);
  const end = Math.max(...data.map(({ sentAt }: { sentAt: string }) => Date.parse(sentAt)));
  const estimated = Date.parse(progress.estimatedEndAt) - askedAt;
  expect(estimated / (end - askedAt)).toBeGreaterThan(0.7);
  expect(estimated / (end - askedAt)).toBeLessThan(1.3);
  expect(await progressOf(id)).toBeNull();
});

it('shows within 30 seconds that no worker runs, also of executions, and that one does again', async () => {
  const workflow = await createWorkflow(engine, {
    eventName: 'begun',
    steps: [{ type: 'EXIT', name: 'Out' }],
  });
  await insertContacts(engine, 30);
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  await waitFor('a mail', async () => (await campaignOf(engine, id)).sentCount > 0, 20_000);
  await engine.stopWorker();
  // The worker was killed, so it did not report its stop.
  const { db } = engine.api;
  await sql`update worker_process set stopped_at = null, seen_at = now()`.execute(db);
  const diedAt = Date.now();
  const execution = await startByHand(
    engine,
    workflow.id,
    await createContact(engine, newAddress()),
  );
  const path = `/workflows/${workflow.id}/executions`;
  expect((await get(`${path}/${execution}`)).stuck).toBeNull();
  const isNoWorker = async () => (await get('/delivery')).limitedBy === 'no_worker';
  await waitFor('the death to be told', isNoWorker, 30_000);
  expect((await get('/delivery')).workers).toBe(0);
  const stuck = { since: expect.any(String), reason: 'No worker is running.' };
  await waitFor('the execution to be stuck', async () => (await get(`${path}/${execution}`)).stuck);
  expect(Date.now() - diedAt).toBeLessThan(30_000);
  expect((await get(`${path}/${execution}`)).stuck).toEqual(stuck);
  expect((await get(path)).executions).toMatchObject([{ id: execution, stuck }]);
  const listed = await get('/executions?stuck=true');
  expect(listed).toMatchObject({ data: [{ id: execution, stuck }], total: 1 });
  await waitFor(
    'the campaign to tell',
    async () => (await progressOf(id)).limitedBy === 'no_worker',
  );

  await engine.startWorker();
  await waitFor('the next worker', async () => (await get('/delivery')).workers === 1);
  const done = async () => (await get(`${path}/${execution}`)).status === 'EXITED';
  await waitFor('the execution to go on', done, 60_000);
  expect((await get('/executions?stuck=true')).total).toBe(0);
  await engine.stopWorker();
  // A worker that reports its stop is gone at once.
  await waitFor('the stop to be told', isNoWorker, 10_000);
});

it('shows that a worker process was killed', async () => {
  const other = await useEngine({}, { worker: false });
  const fleet = async () => {
    const { workers, limitedBy } = (await other.call('GET', '/delivery')).body;
    return { workers, limitedBy };
  };
  const worker = await useWorkerProcess(other);
  await waitFor('the next worker', async () => (await fleet()).workers === 1, 30_000);
  expect(await fleet()).toEqual({ workers: 1, limitedBy: null });
  await worker.kill();
  await waitFor('its death to be told', async () => (await fleet()).workers === 0, 30_000);
  expect(await fleet()).toEqual({ workers: 0, limitedBy: 'no_worker' });
}, 90_000);
