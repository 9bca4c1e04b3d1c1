import { sql } from 'kysely';
import { afterEach, expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { storeDerived } from '../../../db/events/derived.ts';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  act,
  campaignIn,
  createCampaign,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import {
  change,
  received,
  subscribe,
  track,
  untilDeliveries,
} from '../../support/projects/subscriptions.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';
import { dropContacts } from '../../support/mail-tables.ts';

/** Events of campaign mail, which are derived from the rows of the messages. */

const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_TIMEOUT_MS: '2000' });
const receiver = await useReceiver();
const { db } = engine.api;

afterEach(async () => {
  const { body } = await engine.call('GET', '/event-subscriptions');
  for (const { id } of body) await engine.call('DELETE', `/event-subscriptions/${id}`);
  await dropContacts(db, sql<boolean>`project_id = ${engine.project.id}`);
});

async function sendCampaign(contacts: number): Promise<string> {
  if (contacts > 0) await insertContacts(engine, contacts);
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  await campaignIn(engine, id, 'SENT');
  return id;
}

const storedOf = (campaignId: string) =>
  db
    .selectFrom('event')
    .innerJoin('email', 'email.id', 'event.email_id')
    .select(['event.id', 'event.name'])
    .where('email.campaign_id', '=', campaignId)
    .execute();

it('sends them without storing them, in the order of each contact', async () => {
  const shop = await subscribe(engine, receiver, ['email.*']);
  const campaign = await sendCampaign(120);
  const requests = await received(shop, 240, 60_000);
  expect(await storedOf(campaign)).toEqual([]);
  const order = new Map<string, string[]>();
  for (const { event } of requests) {
    const contact = event.data.contact?.id ?? '';
    order.set(contact, [...(order.get(contact) ?? []), event.type]);
  }
  expect(order.size).toBe(120);
  for (const types of order.values()) expect(types).toEqual(['email.sent', 'email.delivery']);
  const [sent] = requests.filter(({ event }) => event.type === 'email.sent');
  const { body } = await engine.call('GET', `/events/contact/${sent?.event.data.contact?.id}`);
  const listed = body.events.find(({ name }: { name: string }) => name === 'email.sent');
  expect(sent?.event.data).toMatchObject({ id: listed.id, data: listed.data });
  expect(sent?.event.timestamp).toBe(listed.createdAt);
});

it('sends what was stored before it was read, because the message has failed', async () => {
  const shop = await subscribe(engine, receiver, ['email.*'], { batch: { max: 10 } });
  const campaign = await sendCampaign(2);
  const isDelivered = (all: { status: string }[]) =>
    all.length === 4 && all.every(({ status }) => status === 'delivered');
  const before = await untilDeliveries(engine, shop.id, isDelivered);
  await engine.stopWorker();
  // Makes the events unread.
  await sql`delete from event_delivery where subscription_id = ${shop.id}`.execute(db);
  await sql`update event_subscription set seen = '1:1:', next_reconcile_at = now()
    where id = ${shop.id}`.execute(db);
  const listed = await untilDeliveries(engine, shop.id, (all) => all.length === 4);
  expect(listed.map((one) => one.id)).toEqual(before.map((one) => one.id));
  const { rows } = await sql<{ id: string }>`
    select id from email where campaign_id = ${campaign} order by id`.execute(db);
  await transact(db, (tx) => storeDerived(tx, [rows[0]!.id]));
  const again = await untilDeliveries(engine, shop.id, (all) => all.length === 4);
  expect(again.map((one) => one.id)).toEqual(before.map((one) => one.id));
  await engine.startWorker();
  await tasksOf(engine.api, {}).SIGNAL_STALLED_RUNS();
  const after = await untilDeliveries(engine, shop.id, isDelivered);
  expect(after.map((one) => one.id)).toEqual(before.map((one) => one.id));
});

it('tries them again by hand and by replay, and skips those of a deleted contact', async () => {
  const shop = await subscribe(engine, receiver, ['email.sent']);
  await sendCampaign(2);
  await received(shop, 2);
  const [first, second] = await untilDeliveries(engine, shop.id, (all) =>
    all.every(({ status }) => status === 'delivered'),
  );
  const path = `/event-subscriptions/${shop.id}/deliveries/${first?.id}/retry`;
  expect((await engine.call('POST', path)).status).toBe(200);
  await received(shop, 3);
  const from = new Date(Date.now() - 60_000).toISOString();
  await engine.call('POST', `/event-subscriptions/${shop.id}/replay`, { from });
  const requests = await received(shop, 5);
  expect(new Set(requests.map(({ headers }) => headers['webhook-id']))).toEqual(
    new Set([first?.id, second?.id]),
  );
  await engine.call('DELETE', `/contacts/${first?.contactId}`);
  const refused = await engine.call('POST', path);
  expect([refused.status, refused.body.error.details.reason]).toEqual([409, 'contact_deleted']);
});

it('one that is deleted while it waits is skipped', async () => {
  const shop = await subscribe(engine, receiver, ['email.sent']);
  await change(engine, shop.id, { paused: true });
  await sendCampaign(1);
  const [waiting] = await untilDeliveries(engine, shop.id, (all) => all.length === 1);
  await engine.call('DELETE', `/contacts/${waiting?.contactId}`);
  await change(engine, shop.id, { paused: false });
  const [skipped] = await untilDeliveries(
    engine,
    shop.id,
    ([one]) => one !== undefined && one.status !== 'pending',
  );
  expect(skipped).toMatchObject({ status: 'skipped', reason: 'contact_deleted' });
  expect(shop.requests()).toEqual([]);
});

it('reads many batches page by page, between other events', { timeout: 120_000 }, async () => {
  const shop = await subscribe(engine, receiver, ['*'], { batch: { max: 100 } });
  const sending = sendCampaign(700);
  for (let number = 0; number < 20; number += 1) await track(engine, 'meanwhile');
  await sending;
  const isAll = async () => {
    const { body } = await engine.call('GET', `/event-subscriptions/${shop.id}`);
    return body.last24Hours.delivered >= 1_420 && body.lag.pending === 0 ? body : null;
  };
  await waitFor('all of them', isAll, 90_000);
  const ids = shop
    .requests()
    .flatMap(({ body }) => (JSON.parse(body) as { events: { id: string; type: string }[] }).events)
    .filter(({ type }) => /^email\.|^meanwhile$/.test(type))
    .map(({ id }) => id);
  expect(ids.length).toBe(new Set(ids).size);
});

it('has no deliveries without a subscription, and forgets after 31 days', async () => {
  const count = async () => {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count
      from derived_event_log where project_id = ${engine.project.id}`.execute(db);
    return rows[0]?.count;
  };
  await sql`delete from derived_event_log`.execute(db);
  await sendCampaign(1);
  expect(await count()).toBe(0);
  const shop = await subscribe(engine, receiver, ['email.delivery']);
  await sendCampaign(0);
  await received(shop, 1);
  expect(await count()).toBe(1);
  await tasksOf(engine.api, {}).CLEAR_EVENT_DELIVERIES();
  expect(await count()).toBe(1);
  await sql`update derived_event_log set recorded_at = now() - interval '31 days 1 minute'`.execute(
    db,
  );
  await tasksOf(engine.api, {}).CLEAR_EVENT_DELIVERIES();
  expect(await count()).toBe(0);
});
