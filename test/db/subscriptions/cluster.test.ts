import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { noticeCluster } from '../../../db/subscriptions/cluster.ts';
import { findWork, readPage } from '../../../db/subscriptions/log.ts';
import { codeOf, useApi } from '../../support/api.ts';

/**
 * A dump that was restored into another cluster holds transaction ids far ahead of the new
 * cluster's ids.
 */

const api = await useApi();
const { db } = api;

async function useSubscription() {
  const { secretKey: key } = await api.createProject((await api.signUp()).cookie);
  const call = (method: string, path: string, body?: unknown) =>
    api.request(method, path, { key, body });
  const subscribe = async () => {
    const body = { url: 'https://hooks.shop.example/all', events: ['order.*'] };
    return (await call('POST', '/event-subscriptions', body)).body.id as string;
  };
  const track = async (event: string) => {
    const answer = await call('POST', '/v1/track', { email: 'ada@shop.example', event });
    expect(answer.status).toBe(200);
  };
  const id = await subscribe();
  return { id, call, subscribe, track };
}

/** Reads all new events. Returns the names of the events of all deliveries, in recorded order. */
async function delivered(id: string): Promise<string[]> {
  while ((await findWork(db, id)).hasUnread) await readPage(db, id);
  const rows = await db
    .selectFrom('event_delivery')
    .select('event_name')
    .where('subscription_id', '=', id)
    .orderBy('recorded_at')
    .execute();
  return rows.map((row) => row.event_name);
}

const ahead = 1_000_000_000;

/** Simulates a restore from a cluster that has had a billion transactions more. */
async function restore(): Promise<void> {
  await sql`update event set tx = (tx::text::bigint + ${ahead}::int)::text::xid8`.execute(db);
  await sql`update event_subscription set seen = moved_snapshot(seen, ${ahead}::int),
    reading = moved_snapshot(reading, ${ahead}::int),
    read_tx = (read_tx::text::bigint + ${ahead}::int)::text::xid8,
    earlier = (select coalesce(jsonb_agg(jsonb_set(held, '{until}',
        to_jsonb(moved_snapshot((held ->> 'until')::pg_snapshot, ${ahead}::int)::text))), '[]')
      from jsonb_array_elements(earlier) held)`.execute(db);
  await sql`update database_cluster set objects = 'those of the other', confirmed_at = now()`.execute(
    db,
  );
}

it('is noticed once, and not where the tables are as they were', async () => {
  expect(await noticeCluster(db)).toBe(false);
  await restore();
  expect([await noticeCluster(db), await noticeCluster(db)]).toEqual([true, false]);
});

it('notices another system identifier', async () => {
  await sql`update database_cluster set system_identifier = '1'`.execute(db);
  expect([await noticeCluster(db), await noticeCluster(db)]).toEqual([true, false]);
});

it('notices another timeline, and records each move as a restore that is over', async () => {
  await sql`update database_cluster set timeline = timeline + 1`.execute(db);
  expect([await noticeCluster(db), await noticeCluster(db)]).toEqual([true, false]);
  const { rows } = await sql`select distinct kind, ended_at is not null as "isOver", held_before
    from restore`.execute(db);
  expect(rows).toEqual([{ kind: 'database_moved', isOver: true, held_before: null }]);
});

it('numbers new events after the old ones where rows were copied into a new database', async () => {
  const { id, track } = await useSubscription();
  await track('order.first');
  expect(await delivered(id)).toEqual(['order.first']);
  await restore();
  await noticeCluster(db);
  // The functions of the new database know no offset.
  await sql`create or replace function log_tx() returns xid8 language sql stable
    as 'select pg_current_xact_id()'`.execute(db);
  await sql`update database_cluster set objects = 'those of the other'`.execute(db);
  await noticeCluster(db);
  await track('order.new');
  expect(await delivered(id)).toEqual(['order.first', 'order.new']);
});

it('sends what was not sent before, and all that is new, each once', async () => {
  const { id, track } = await useSubscription();
  await track('order.first');
  expect(await delivered(id)).toEqual(['order.first']);
  await track('order.unread');
  await restore();
  await noticeCluster(db);
  await track('order.new');
  expect(await delivered(id)).toEqual(['order.first', 'order.unread', 'order.new']);
  expect((await findWork(db, id)).hasUnread).toBe(false);
  await restore();
  await noticeCluster(db);
  await track('order.again');
  const all = ['order.first', 'order.unread', 'order.new', 'order.again'];
  expect(await delivered(id)).toEqual(all);
});

it('loses nothing that was recorded or read before it was noticed', async () => {
  const { id, track } = await useSubscription();
  await track('order.first');
  expect(await delivered(id)).toEqual(['order.first']);
  await track('order.unread');
  await restore();
  await track('order.early');
  await readPage(db, id);
  await noticeCluster(db);
  await track('order.late');
  const all = ['order.first', 'order.unread', 'order.early', 'order.late'];
  expect(await delivered(id)).toEqual(all);
});

it('keeps what a subscription wanted before a change, and begins new ones with what is new', async () => {
  const { id, call, subscribe, track } = await useSubscription();
  await track('order.wanted');
  await call('PATCH', `/event-subscriptions/${id}`, { events: ['cart.*'] });
  await track('order.unwanted');
  await restore();
  await noticeCluster(db);
  await track('cart.wanted');
  const other = await subscribe();
  await track('order.other');
  expect(await delivered(id)).toEqual(['order.wanted', 'cart.wanted']);
  expect(await delivered(other)).toEqual(['order.other']);
  const disabled = await call('PATCH', `/event-subscriptions/${other}`, { enabled: false });
  expect(codeOf(disabled)[0]).toBe(200);
  await track('order.missed');
  await call('PATCH', `/event-subscriptions/${other}`, { enabled: true });
  await track('order.back');
  expect(await delivered(other)).toEqual(['order.other', 'order.back']);
});
