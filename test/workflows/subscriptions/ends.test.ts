import { createServer } from 'node:http';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import {
  disableProject,
  enableProject,
} from '../../../db/transactions/projects/suspend-project.ts';
import { transact } from '../../../db/database.ts';
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
import { tasksOf } from '../../support/sweep-now.ts';
import { listen } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

/** How subscriptions and deliveries end: by their receivers, and by deletions. */

const engine = await useEngine({
  WEBHOOK_ALLOW_PRIVATE: 'true',
  WEBHOOK_TIMEOUT_MS: '2000',
  EVENT_DELIVERY_RETRY_SECONDS: '1,1,1',
  EVENT_DELIVERY_FAILING_SECONDS: '3600',
});
// Only the workers get this setting: with it, the API would require verified addresses.
engine.services.platformFrom = 'everpost@platform.test';
const receiver = await useReceiver();
const { db } = engine.api;

const path = (id: string, more = '') => `/event-subscriptions/${id}${more}`;

async function ownersMails() {
  const { rows } = await sql<{ recipient: string; subject: string }>`
    select recipient, subject from mailbox_message
      where subject like 'Events of the project%'`.execute(db);
  return rows;
}

it('a receiver that is gone disables its subscription, and the owner gets a mail', async () => {
  const shop = await subscribe(engine, receiver, ['gone']);
  receiver.answer(shop.path, { status: 410 });
  await track(engine, 'gone');
  const [delivery] = await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'failed');
  expect(delivery?.attempts).toMatchObject([{ statusCode: 410 }]);
  const { body } = await engine.call('GET', path(shop.id));
  expect(body).toMatchObject({ enabled: false, disabledReason: 'gone', from: null });
  expect(body.last24Hours).toMatchObject({ requests: 1, failed: 1, delivered: 0 });
  await waitFor('a mail to the owner', async () => (await ownersMails()).length === 1);
  const tested = await engine.call('POST', path(shop.id, '/test'), {});
  expect(tested.body).toMatchObject({ statusCode: 410, error: null });
  expect(shop.requests()).toHaveLength(2);
});

it('a receiver that fails for long disables its subscription, with one mail', async () => {
  const before = (await ownersMails()).length;
  const shop = await subscribe(engine, receiver, ['failing']);
  receiver.answer(shop.path, { status: 500 });
  await track(engine, 'failing');
  await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'failed');
  const { body } = await engine.call('GET', path(shop.id));
  expect([body.enabled, typeof body.failingSince]).toEqual([true, 'string']);
  const hourAgo = sql<Date>`now() - interval '1 hour'`;
  await db
    .updateTable('event_subscription')
    .set({ failing_since: hourAgo })
    .where('id', '=', shop.id)
    .execute();
  await track(engine, 'failing', 'bo@people.test');
  await waitFor('the subscription to be disabled', async () => {
    const now = await engine.call('GET', path(shop.id));
    return now.body.disabledReason === 'failing' && now.body.enabled === false;
  });
  // One attempt was made, and it does not wait any more.
  await untilDeliveries(engine, shop.id, ([newest]) => newest?.status === 'skipped');
  await waitFor('a mail', async () => (await ownersMails()).length === before + 1);
  const enabled = await change(engine, shop.id, { enabled: true });
  expect(enabled).toMatchObject({ disabledReason: null, failingSince: null });
});

it('a test changes nothing', async () => {
  const shop = await subscribe(engine, receiver, ['*'], { enabled: false });
  const { body } = await engine.call('POST', path(shop.id, '/test'), { eventName: 'email.open' });
  expect(body).toMatchObject({ statusCode: 200, error: null });
  const [request] = shop.requests();
  expect(request?.headers['webhook-id']).toMatch(/^test_/);
  expect(request?.event).toMatchObject({
    test: true,
    type: 'email.open',
    data: { data: { opens: 1 }, contact: { email: 'sample@example.com' } },
  });
  receiver.answer(shop.path, { status: 410 });
  await change(engine, shop.id, { enabled: true });
  await engine.call('POST', path(shop.id, '/test'), {});
  expect(shop.requests()[1]?.event.data.data).toEqual({});
  const after = await engine.call('GET', path(shop.id));
  expect(after.body).toMatchObject({ enabled: true, failingSince: null });
  expect(await deliveries(engine, shop.id)).toEqual([]);
  const { url, close } = await listen(createServer());
  await close();
  await change(engine, shop.id, { url });
  const down = await engine.call('POST', path(shop.id, '/test'), {});
  expect(down.body).toMatchObject({ statusCode: null, error: 'unreachable' });
});

it('a deleted contact is deleted with its events and their deliveries', async () => {
  const shop = await subscribe(engine, receiver, ['forgotten']);
  receiver.answer(shop.path, { status: 500, body: 'ada was here' });
  await track(engine, 'forgotten', 'late@people.test');
  await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'failed');
  await change(engine, shop.id, { paused: true });
  receiver.answer(shop.path, { status: 200 });
  await track(engine, 'forgotten', 'late@people.test');
  const [waiting] = await untilDeliveries(engine, shop.id, (all) => all.length === 2);
  await engine.call('DELETE', `/contacts/${waiting?.contactId}`);
  await change(engine, shop.id, { paused: false });
  const sent = shop.requests().length;
  await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'skipped');
  await tasksOf(engine.api, {}).CLEAR_EVENT_DELIVERIES();
  const all = await deliveries(engine, shop.id);
  expect(
    all.map(({ status, reason, contactId, response }) => [status, reason, contactId, response]),
  ).toEqual([
    ['skipped', 'contact_deleted', null, null],
    ['failed', null, null, null],
  ]);
  expect(shop.requests()).toHaveLength(sent);
  for (const { id } of all) {
    const { status, body } = await engine.call('POST', path(shop.id, `/deliveries/${id}/retry`));
    expect([status, body.error.code]).toEqual([409, 'EVENT_DELIVERY_NOT_RETRYABLE']);
  }
});

it('deleted events of a name are skipped, and their contact stays known', async () => {
  const shop = await subscribe(engine, receiver, ['unwanted']);
  await change(engine, shop.id, { paused: true });
  await track(engine, 'unwanted', 'bo@people.test');
  await untilDeliveries(engine, shop.id, (all) => all.length === 1);
  const { body } = await engine.call('DELETE', '/events/unwanted');
  expect(body).toEqual({ deletedCount: 1 });
  await tasksOf(engine.api, {}).CLEAR_EVENT_DELIVERIES();
  const [delivery] = await deliveries(engine, shop.id);
  expect(delivery).toMatchObject({ status: 'skipped', reason: 'event_deleted' });
  expect(delivery?.contactId).not.toBeNull();
});

it('deliveries go 30 days after their end, and do not wait for longer', async () => {
  const shop = await subscribe(engine, receiver, ['aged']);
  await track(engine, 'aged');
  await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'delivered');
  await change(engine, shop.id, { paused: true });
  await track(engine, 'aged');
  await untilDeliveries(engine, shop.id, (all) => all.length === 2);
  const month = sql<Date>`now() - interval '30 days 1 minute'`;
  const mine = db.updateTable('event_delivery').where('subscription_id', '=', shop.id);
  await mine.set({ ended_at: month }).where('status', '=', 'delivered').execute();
  await mine.set({ pending_since: month }).where('status', '=', 'pending').execute();
  await tasksOf(engine.api, {}).CLEAR_EVENT_DELIVERIES();
  const all = await deliveries(engine, shop.id);
  expect(all.map(({ status, reason }) => [status, reason])).toEqual([['skipped', 'expired']]);
});

it('a disabled project sends nothing, and goes on when it is enabled', async () => {
  const other = await useProject();
  const shop = await subscribe(other.engine, receiver, ['suspended']);
  await track(other.engine, 'suspended');
  await received(shop, 1);
  await untilDeliveries(other.engine, shop.id, ([one]) => one?.status === 'delivered');
  await transact(db, (tx) => disableProject(tx, other.id, 'MANUAL'));
  await sql`insert into event (project_id, name) values (${other.id}, 'suspended')`.execute(db);
  const refused = await other.engine.call('PATCH', path(shop.id), { paused: true });
  expect([refused.status, refused.body.error.code]).toEqual([403, 'PROJECT_DISABLED']);
  expect((await other.engine.call('GET', path(shop.id))).status).toBe(200);
  await tasksOf(engine.api, {}).SIGNAL_STALLED_RUNS();
  expect(shop.requests()).toHaveLength(1);
  await transact(db, (tx) => enableProject(tx, other.id, 'MANUAL'));
  // No signal has reached the run, so the sweep sends one, as it does every half minute.
  await tasksOf(engine.api, {}).SIGNAL_STALLED_RUNS();
  await received(shop, 2);
});

it('a reset keeps the subscription and its secret, and none of its deliveries', async () => {
  const other = await useProject();
  const shop = await subscribe(other.engine, receiver, ['reset']);
  await change(other.engine, shop.id, { paused: true });
  await track(other.engine, 'reset');
  await untilDeliveries(other.engine, shop.id, (all) => all.length === 1);
  const { cookie } = other;
  await engine.api.request('POST', `/users/@me/projects/${other.id}/reset`, { cookie });
  expect(await deliveries(other.engine, shop.id)).toEqual([]);
  await change(other.engine, shop.id, { paused: false });
  const eventId = await track(other.engine, 'reset');
  const [request] = await received(shop, 1);
  expect(request?.event.data).toMatchObject({ id: eventId, projectId: other.id });
  const run = engine.temporal.client.workflow.getHandle(`subscription-${shop.id}`);
  await engine.api.request('DELETE', `/users/@me/projects/${other.id}`, { cookie });
  await waitFor('the run to end', async () => (await run.describe()).status.name === 'COMPLETED');
  await waitFor('all to be gone', async () => {
    const { rows } = await sql`
      select from event_delivery where subscription_id = ${shop.id}`.execute(db);
    return rows.length === 0;
  });
  expect(shop.requests()).toHaveLength(1);
});

/** Creates another project, whose requests use its own key. */
async function useProject() {
  const { cookie } = await engine.api.signUp();
  const { id, secretKey } = await engine.api.createProject(cookie);
  const call: typeof engine.call = (method, to, body, headers = {}) =>
    engine.api.request(method, to, { key: secretKey, body, headers });
  return { id, cookie, engine: { ...engine, call } };
}

it('events whose process died before it signalled the run are found by the sweep', async () => {
  const shop = await subscribe(engine, receiver, ['untold']);
  await track(engine, 'untold');
  await received(shop, 1);
  await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'delivered');
  await sql`insert into event (project_id, name) values (${engine.project.id}, 'untold')`.execute(
    db,
  );
  await tasksOf(engine.api, {}).SIGNAL_STALLED_RUNS();
  await received(shop, 2);
});

it('a transaction that commits late is not passed over', async () => {
  const shop = await subscribe(engine, receiver, ['late']);
  await db.transaction().execute(async (tx) => {
    await sql`insert into event (project_id, name) values (${engine.project.id}, 'late')`.execute(
      tx,
    );
    // Recorded later, but sent before the other one is committed.
    await track(engine, 'late');
    await received(shop, 1);
    await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'delivered');
  });
  await tasksOf(engine.api, {}).SIGNAL_STALLED_RUNS();
  const all = await untilDeliveries(engine, shop.id, (found) => found.length === 2);
  expect(new Set(all.map(({ eventId }) => eventId)).size).toBe(2);
  await received(shop, 2);
});

it('reads a log of many pages, each event once', async () => {
  const shop = await subscribe(engine, receiver, ['many']);
  await change(engine, shop.id, { paused: true });
  await sql`insert into event (project_id, name)
    select ${engine.project.id}, 'many' from generate_series(1, 2500)`.execute(db);
  await tasksOf(engine.api, {}).SIGNAL_STALLED_RUNS();
  await waitFor('all deliveries', async () => {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count
      from event_delivery where subscription_id = ${shop.id}`.execute(db);
    return rows[0]?.count === 2_500;
  });
  let cursor: string | undefined;
  const seen = new Set<string>();
  for (let pages = 0; pages < 3; pages += 1) {
    const query = `?limit=100${cursor === undefined ? '' : `&cursor=${cursor}`}`;
    const { body } = await engine.call('GET', path(shop.id, `/deliveries${query}`));
    for (const { id } of body.data as { id: string }[]) seen.add(id);
    cursor = body.cursor;
  }
  expect(seen.size).toBe(300);
  await engine.call('DELETE', path(shop.id));
});

it('events of a project without subscriptions are recorded as usual', async () => {
  const { engine: quiet, id } = await useProject();
  await track(quiet, 'quiet');
  const { rows } = await sql`select from event_delivery where project_id = ${id}`.execute(db);
  expect(rows).toEqual([]);
});
