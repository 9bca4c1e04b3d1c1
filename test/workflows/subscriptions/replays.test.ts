import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { codeOf } from '../../support/api.ts';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  change,
  deliveries,
  received,
  subscribe,
  track,
  untilDeliveries,
} from '../../support/projects/subscriptions.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Events that are sent again, or that were not sent before. */

const engine = await useEngine({
  WEBHOOK_ALLOW_PRIVATE: 'true',
  WEBHOOK_TIMEOUT_MS: '2000',
  EVENT_DELIVERY_RETRY_SECONDS: '1,1,1',
});
const receiver = await useReceiver();

const path = (id: string, more = '') => `/event-subscriptions/${id}${more}`;
const hourAgo = () => new Date(Date.now() - 3_600_000).toISOString();

async function replay(id: string, given: Record<string, unknown> = {}): Promise<string> {
  const answer = await engine.call('POST', path(id, '/replay'), { from: hourAgo(), ...given });
  expect([answer.status, answer.body.message]).toEqual([202, 'The replay has been queued.']);
  expect(answer.body.jobId).toMatch(new RegExp(`^replay-${engine.project.id}-`));
  return answer.body.jobId;
}

const jobOf = async (id: string, jobId: string) =>
  (await engine.call('GET', path(id, `/replay/${jobId}`))).body;

const ended = (id: string, jobId: string) =>
  waitFor('the end of the replay', async () => {
    const job = await jobOf(id, jobId);
    return job.finishedAt ? job : null;
  });

const enqueued = async (id: string) => (await engine.call('GET', path(id))).body.lag.pending;

it('sends what was delivered again, under the same ids', async () => {
  const shop = await subscribe(engine, receiver, ['again']);
  for (const number of [1, 2, 3]) await track(engine, 'again', 'a@again.test', { number });
  const first = await received(shop, 3);
  await untilDeliveries(engine, shop.id, (all) => all.every((one) => one.status === 'delivered'));
  const jobId = await replay(shop.id);
  const job = await ended(shop.id, jobId);
  expect(job).toMatchObject({
    id: jobId,
    state: 'completed',
    progress: 100,
    data: {
      projectId: engine.project.id,
      subscriptionId: shop.id,
      eventName: null,
      onlyFailed: false,
    },
    result: { replayed: 3 },
  });
  const requests = await received(shop, 6);
  const idsOf = (some: typeof requests) => some.map(({ headers }) => headers['webhook-id']);
  expect(idsOf(requests.slice(3))).toEqual(idsOf(first));
  const all = await untilDeliveries(engine, shop.id, (found) =>
    found.every(({ status, attempts }) => status === 'delivered' && attempts.length === 2),
  );
  expect(all).toHaveLength(3);
  const other = await subscribe(engine, receiver, ['again']);
  expect(codeOf(await engine.call('GET', path(other.id, `/replay/${jobId}`)))).toEqual([
    404,
    'JOB_NOT_FOUND',
  ]);
  const [one] = all;
  const again = await engine.call('POST', path(shop.id, `/deliveries/${one?.id}/retry`));
  expect([again.status, again.body.status]).toEqual([200, 'pending']);
  await received(shop, 7);
});

it('finds what was skipped, and what was recorded while it was disabled', async () => {
  const shop = await subscribe(engine, receiver, ['missed']);
  await change(engine, shop.id, { paused: true });
  const ids = [await track(engine, 'missed'), await track(engine, 'missed')];
  await untilDeliveries(engine, shop.id, (all) => all.length === 2);
  await change(engine, shop.id, { enabled: false });
  ids.push(await track(engine, 'missed'), await track(engine, 'missed'));
  const skipped = await untilDeliveries(engine, shop.id, (all) =>
    all.every(({ status, reason }) => status === 'skipped' && reason === 'disabled'),
  );
  expect(skipped).toHaveLength(2);
  const refused = await engine.call('POST', path(shop.id, '/replay'), { from: hourAgo() });
  expect(codeOf(refused)).toEqual([400, 'EVENT_SUBSCRIPTION_NOT_ENABLED']);
  await change(engine, shop.id, { enabled: true, paused: false });
  const next = await track(engine, 'missed');
  const [request] = await received(shop, 1);
  expect(request?.event.data.id).toBe(next);
  await untilDeliveries(engine, shop.id, ([newest]) => newest?.status === 'delivered');
  const job = await ended(shop.id, await replay(shop.id, { onlyFailed: true }));
  expect([job.state, job.result]).toEqual(['completed', { replayed: 4 }]);
  const requests = await received(shop, 5);
  expect(requests.slice(1).map(({ event }) => event.data.id)).toEqual(ids);
  await untilDeliveries(engine, shop.id, (all) => all.every((one) => one.status === 'delivered'));
  expect(shop.requests()).toHaveLength(5);
});

it('leaves out what is pending, and what does not match', async () => {
  const shop = await subscribe(engine, receiver, ['kept.*']);
  await change(engine, shop.id, { paused: true });
  await track(engine, 'kept.one');
  await untilDeliveries(engine, shop.id, (all) => all.length === 1);
  await sql`insert into event (project_id, name, created_at) values
    (${engine.project.id}, 'kept.two', now() - interval '2 hours'),
    (${engine.project.id}, 'kept.two', now() - interval '30 minutes'),
    (${engine.project.id}, 'left', now() - interval '30 minutes')`.execute(engine.api.db);
  const job = await ended(shop.id, await replay(shop.id));
  expect(job.result.replayed).toBeLessThanOrEqual(1);
  const named = await ended(
    shop.id,
    await replay(shop.id, { eventName: 'kept.one', onlyFailed: true }),
  );
  expect(named.result).toEqual({ replayed: 0 });
  const before = new Date(Date.now() - 60_000).toISOString();
  expect(codeOf(await engine.call('GET', path(shop.id, '/replay/x')))[1]).toBe('JOB_NOT_FOUND');
  // All deliveries wait for the end of the pause.
  expect(shop.requests()).toEqual([]);
  const early = await ended(shop.id, await replay(shop.id, { to: before, eventName: 'kept.one' }));
  expect(early.result).toEqual({ replayed: 0 });
});

it('goes through many pages, one replay at a time', async () => {
  const shop = await subscribe(engine, receiver, ['paged']);
  await change(engine, shop.id, { enabled: false });
  await sql`insert into event (project_id, name)
    select ${engine.project.id}, 'paged' from generate_series(1, 2500)`.execute(engine.api.db);
  await change(engine, shop.id, { enabled: true, paused: true });
  await engine.stopWorker();
  const jobId = await replay(shop.id);
  const second = await engine.call('POST', path(shop.id, '/replay'), { from: hourAgo() });
  expect(codeOf(second)).toEqual([409, 'REPLAY_IN_PROGRESS']);
  expect(second.body.error.details).toMatchObject({ jobId });
  await engine.startWorker();
  const job = await ended(shop.id, jobId);
  expect(job.result).toEqual({ replayed: 2_500 });
  expect(await enqueued(shop.id)).toBe(2_500);
});

it('is cancelled when its subscription is disabled', async () => {
  const shop = await subscribe(engine, receiver, ['cancelled']);
  await engine.stopWorker();
  const jobId = await replay(shop.id);
  await change(engine, shop.id, { enabled: false });
  expect((await jobOf(shop.id, jobId)).state).toBe('cancelled');
  await engine.startWorker();
  await change(engine, shop.id, { enabled: true });
  expect((await ended(shop.id, await replay(shop.id))).state).toBe('completed');
  expect(await deliveries(engine, shop.id)).toEqual([]);
});

it('refuses times that are too far away', async () => {
  const shop = await subscribe(engine, receiver, ['refused']);
  const faultOf = async (given: Record<string, unknown>) => {
    const { status, body } = await engine.call('POST', path(shop.id, '/replay'), given);
    expect(status).toBe(422);
    return body.error.errors.map((one: { field: string; code: string }) => [one.field, one.code]);
  };
  const at = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  expect(await faultOf({ from: at(-31) })).toEqual([['from', 'too_small']]);
  expect(await faultOf({ from: at(1) })).toEqual([['from', 'too_big']]);
  expect(await faultOf({ from: at(-1), to: at(1) })).toEqual([['to', 'too_big']]);
  expect(await faultOf({ from: at(-1), to: at(-2) })).toEqual([['to', 'too_small']]);
  expect(await faultOf({})).toHaveLength(1);
});
