import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { listForgotten, listToClear, reconcileRecorded } from '../../../db/subscriptions/upkeep.ts';
import { foldEventTally } from '../../../db/transactions/events/delete-events.ts';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  received,
  subscribe,
  track,
  untilDeliveries,
} from '../../support/projects/subscriptions.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

/** The sweep checks subscriptions that may have work, not all of them. */

const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_TIMEOUT_MS: '2000' });
const receiver = await useReceiver();
const { db } = engine.api;

async function idleOnes(count: number): Promise<void> {
  const { id } = await engine.api.createProject((await engine.api.signUp()).cookie);
  await sql`insert into event_subscription (project_id, url, events, secret)
    select ${id}, 'https://hooks.test/' || n, '{idle}', '\\x00'
      from generate_series(1, ${count}::int) n`.execute(db);
}

async function looked(): Promise<string[]> {
  const found: string[] = [];
  for (let last: string | null = null; ;) {
    const page = await listForgotten(db, last);
    if (page.length === 0) return found;
    found.push(...page.map(({ id }) => id));
    last = page.at(-1)!.id;
  }
}

it('looks at one with nothing to do once an hour', async () => {
  await idleOnes(250);
  expect((await looked()).length).toBeGreaterThanOrEqual(250);
  expect(await looked()).toEqual([]);
  await sql`update event_subscription set next_reconcile_at = now() - interval '1 minute' where url = 'https://hooks.test/7'`.execute(
    db,
  );
  expect(await looked()).toHaveLength(1);
});

it('looks at those of a project where events were recorded', async () => {
  await looked();
  const other = await engine.api.createProject((await engine.api.signUp()).cookie);
  const { rows } = await sql<{ id: string }>`
    insert into event_subscription (project_id, url, events, secret, next_reconcile_at)
      values (${other.id}, 'https://hooks.test/', '{*}', '\\x00', now() + interval '1 hour')
      returning id`.execute(db);
  expect(await looked()).toEqual([]);
  await sql`insert into event (project_id, name) values (${other.id}, 'told')`.execute(db);
  await reconcileRecorded.execute(db);
  expect(await looked()).toEqual([rows[0]!.id]);
  // Another task of the sweep may process them first.
  await sql`update event_subscription set next_reconcile_at = now() + interval '1 hour'
    where project_id = ${other.id}`.execute(db);
  await foldEventTally(db);
  expect(await looked()).toEqual([rows[0]!.id]);
  await sql`delete from event_subscription where project_id = ${other.id}`.execute(db);
});

it('looks at one when its next retry is overdue', async () => {
  const shop = await subscribe(engine, receiver, ['failing']);
  receiver.answer(shop.path, { status: 500 });
  await track(engine, 'failing');
  await received(shop, 1);
  // Its run rests until the retry: five seconds, and ten of grace.
  const overdueMs = await waitFor('the end of the activity', async () => {
    const { rows } = await sql<{ ms: number }>`
      select (extract(epoch from next_reconcile_at - now()) * 1000)::float8 as ms from event_subscription
        where id = ${shop.id}`.execute(db);
    return rows[0]!.ms > 0 ? rows[0]!.ms : null;
  });
  expect(overdueMs).toBeLessThan(20_000);
  receiver.answer(shop.path, { status: 200 });
  await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'delivered');
  await engine.call('DELETE', `/event-subscriptions/${shop.id}`);
});

it('clears what is old of each once an hour', async () => {
  await idleOnes(3);
  expect((await listToClear(db)).length).toBeGreaterThanOrEqual(3);
  await tasksOf(engine.api, {}).CLEAR_EVENT_DELIVERIES();
  expect(await listToClear(db)).toEqual([]);
  const { rows } = await sql<{ id: string }>`
    update event_subscription set clear_at = now()
      where id = (select id from event_subscription limit 1) returning id`.execute(db);
  expect(await listToClear(db)).toEqual(rows.map(({ id }) => id));
});
