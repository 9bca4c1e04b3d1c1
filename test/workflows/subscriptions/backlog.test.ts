import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  change,
  received,
  subscribe,
  track,
  untilDeliveries,
} from '../../support/projects/subscriptions.ts';
import {
  act,
  campaignIn,
  createCampaign,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { waitFor } from '../../support/wait-for.ts';
import { dropContacts } from '../../support/mail-tables.ts';

/** Subscriptions that begin in the past. */

const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_TIMEOUT_MS: '2000' });
const receiver = await useReceiver();
const { db } = engine.api;

const numberOf = ({ event }: { event: { data: { data: unknown } } }) =>
  (event.data.data as { number: number }).number;

it('sends what was recorded since then first, and then new events', async () => {
  const from = new Date(Date.now() - 1_000).toISOString();
  for (const number of [1, 2, 3, 4, 5]) {
    await track(engine, 'past', `${number % 2}@past.test`, { number });
  }
  const shop = await subscribe(engine, receiver, ['past'], { from });
  for (const number of [6, 7]) await track(engine, 'past', `${number % 2}@past.test`, { number });
  const requests = await received(shop, 7);
  for (const contact of [0, 1]) {
    const numbers = requests.map(numberOf).filter((number) => number % 2 === contact);
    expect(numbers).toEqual(numbers.toSorted());
  }
  await untilDeliveries(engine, shop.id, (all) => all.every((one) => one.status === 'delivered'));
  expect(shop.requests()).toHaveLength(7);
  const { body } = await engine.call('GET', `/event-subscriptions/${shop.id}`);
  expect(body.from).toBe(from);
});

it('goes through many pages, with the items it was made with', { timeout: 120_000 }, async () => {
  await sql`insert into event (project_id, name, created_at, recorded_at)
    select ${engine.project.id}, 'paged', at, at from (
      select now() - number * interval '1 second' as at from generate_series(1, 2500) number) made`.execute(
    db,
  );
  const from = new Date(Date.now() - 86_400_000).toISOString();
  const batch = { max: 100 };
  const shop = await subscribe(engine, receiver, ['paged'], { from, batch });
  await change(engine, shop.id, { events: ['another'] });
  await track(engine, 'paged');
  await track(engine, 'another');
  const events = () =>
    shop
      .requests()
      .flatMap(({ body }) => (JSON.parse(body) as { events: { type: string }[] }).events);
  await waitFor('all of them', () => events().length >= 2_501, 60_000);
  expect(events().filter(({ type }) => type === 'another')).toHaveLength(1);
  expect(events()).toHaveLength(2_501);
});

it('finds the events that exist only in rows of messages, as a replay does', async () => {
  const from = new Date(Date.now() - 1_000).toISOString();
  await dropContacts(db, sql<boolean>`project_id = ${engine.project.id}`);
  await insertContacts(engine, 3);
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  await campaignIn(engine, id, 'SENT');
  const derived = await db
    .selectFrom('email')
    .select('id')
    .where('campaign_id', '=', id)
    .where('derived_events', '>', 0)
    .execute();
  // Without a subscription, the events are kept only as bits in the rows of the messages.
  expect(derived).toHaveLength(3);
  const { body } = await engine.call('GET', '/events?eventName=email.sent&limit=100');
  const sent = (body.events as { id: string }[]).map((event) => event.id).toSorted();
  expect(sent).toHaveLength(3);
  const shop = await subscribe(engine, receiver, ['email.sent'], { from });
  const requests = await received(shop, 3);
  expect(requests.map(({ event }) => event.data.id).toSorted()).toEqual(sent);
  const after = await engine.call('GET', '/events?eventName=email.sent&limit=100');
  expect(after.body).toEqual(body);
});

it('has nothing more of it when it is disabled meanwhile', async () => {
  await track(engine, 'stopped');
  await engine.stopWorker();
  const from = new Date(Date.now() - 60_000).toISOString();
  const shop = await subscribe(engine, receiver, ['stopped'], { from });
  await change(engine, shop.id, { enabled: false });
  await change(engine, shop.id, { enabled: true });
  await engine.startWorker();
  const eventId = await track(engine, 'stopped');
  const [request] = await received(shop, 1);
  expect(request?.event.data.id).toBe(eventId);
  const all = await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'delivered');
  expect(all).toHaveLength(1);
});
