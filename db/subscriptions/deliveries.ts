import { type Selectable, sql } from 'kysely';
import type { Position } from '../../domain/cursor.ts';
import { columnList } from '../columns.ts';
import type { Database } from '../database.ts';
import { selectEvents } from '../sql/derived-events.ts';
import { isoInstant } from '../expressions.ts';
import { columns, type EventDelivery } from '../tables.ts';
import { signalSubscription, type SubscriptionRow } from './subscriptions.ts';
import { selectUnread } from './unread.ts';

/** Lists the deliveries of a subscription, and requests new attempts. */

export type DeliveryRow = Selectable<EventDelivery>;

export const deliveryStatuses = ['pending', 'delivered', 'failed', 'skipped'] as const;

export interface DeliverySearch {
  status?: (typeof deliveryStatuses)[number] | undefined;
  eventName?: string | undefined;
  eventId?: string | undefined;
}

export type ListedDelivery = DeliveryRow & { recorded_instant: string };

/**
 * SQL that is true for a subscription's deliveries, except those from before a reset of its
 * project, which are being deleted.
 */
const ofSubscription = ({ id, project_id }: SubscriptionRow) =>
  sql`subscription_id = ${id} and project_id = ${project_id}`;

/**
 * Returns a page of the matching deliveries, newest event first. The deliveries of each status are
 * read in the order of an index.
 */
export async function listDeliveries(
  db: Database,
  subscription: SubscriptionRow,
  { status, eventName, eventId }: DeliverySearch,
  { after, limit }: { after?: Position | undefined; limit: number },
): Promise<ListedDelivery[]> {
  const matches = sql.join(
    [
      sql`true`,
      ...(eventName === undefined ? [] : [sql`event_name = ${eventName}`]),
      ...(eventId === undefined ? [] : [sql`event_id = ${eventId}`]),
      ...(after
        ? [sql`(recorded_at, event_id) < (${after.value}::timestamptz, ${after.id}::uuid)`]
        : []),
    ],
    sql` and `,
  );
  // An index has the deliveries of each status in order. Merging them gives the order of all.
  const statuses = status === undefined ? deliveryStatuses : [status];
  const isStatus = (one: string) =>
    eventName === undefined ? sql`status = ${one}` : sql`status = any (${[...statuses]}::text[])`;
  const parts = (eventName === undefined ? statuses : statuses.slice(0, 1)).map(
    (one) => sql`(select ${columnList('event_delivery')}, ${isoInstant(sql`recorded_at`)}
        as recorded_instant from event_delivery
        where ${ofSubscription(subscription)} and ${matches} and ${isStatus(one)}
      order by recorded_at desc, event_id desc limit ${limit})`,
  );
  const isPending = statuses.includes('pending');
  const unread = isPending ? await selectUnread(db, subscription.id, matches) : null;
  if (unread) {
    parts.push(sql`(select ${columnList('event_delivery')}, ${isoInstant(sql`recorded_at`)}
        as recorded_instant from ${unread} event_delivery order by recorded_at desc, event_id desc
      limit ${limit})`);
  }
  const { rows } = await sql<ListedDelivery>`
    select ${columnList('event_delivery', 'found')}, found.recorded_instant
      from (${sql.join(parts, sql` union all `)}) found
      order by recorded_at desc, event_id desc limit ${limit}`.execute(db);
  return rows;
}

export async function findDelivery(
  db: Database,
  subscription: SubscriptionRow,
  eventId: string,
): Promise<DeliveryRow | undefined> {
  const { rows } = await sql<DeliveryRow>`
    select ${columnList('event_delivery')} from event_delivery
      where ${ofSubscription(subscription)} and event_id = ${eventId}`.execute(db);
  return rows[0] ?? (await findUnread(db, subscription, eventId));
}

/** Finds a delivery whose event the subscription has not read yet. */
async function findUnread(
  db: Database,
  { id }: SubscriptionRow,
  eventId: string,
): Promise<DeliveryRow | undefined> {
  const unread = await selectUnread(db, id, sql`event_id = ${eventId}`);
  if (!unread) return undefined;
  const { rows } = await sql<DeliveryRow>`
    select ${columnList('event_delivery', 'found')} from ${unread} found`.execute(db);
  return rows[0];
}

/**
 * Requests an immediate attempt of a delivery, in the caller's transaction. A delivery that has
 * ended becomes pending again, with a new retry schedule. `gone`: the reason why its event no
 * longer exists.
 */
export async function retryDelivery(
  tx: Database,
  subscription: SubscriptionRow,
  eventId: string,
): Promise<DeliveryRow | 'missing' | 'disabled' | { gone: string }> {
  const { rows: locked } = await sql<{ enabled: boolean }>`
    select enabled from event_subscription
      where id = ${subscription.id} and project_id = ${subscription.project_id}
      for share`.execute(tx);
  const before = await findDelivery(tx, subscription, eventId);
  if (!locked[0] || !before) return 'missing';
  if (!locked[0].enabled) return 'disabled';
  const { rows: events } = await sql`${selectEvents([eventId])}`.execute(tx);
  if (events.length === 0) return { gone: await reasonOfLoss(tx, before) };
  await insertUnread(tx, subscription.id, eventId);
  // If the delivery waits in a batch, the whole batch is sent.
  const { rows } = await sql<DeliveryRow>`
    update event_delivery set urgent = true, turn = turn + 1, due_at = statement_timestamp(),
        is_retry = true, reason = null, updated_at = now(), status = 'pending',
        tries = case when status = 'pending' then tries else 0 end,
        batch_turn = case when status = 'pending' then batch_turn end,
        pending_since = case when status = 'pending' then pending_since else now() end,
        ended_at = null,
        epoch = (select epoch from event_subscription where id = subscription_id)
      where ${ofSubscription(subscription)} and (event_id = ${eventId}
        or ${before.status === 'pending'} and status = 'pending' and batch_id = ${before.batch_id}
          and batch_turn = ${before.batch_turn} and batch_turn = (
            select batch_turn from event_subscription where id = ${subscription.id}))
      returning ${columnList('event_delivery')}`.execute(tx);
  await signalSubscription(tx, subscription);
  return rows.find((row) => row.event_id === eventId) ?? 'missing';
}

/** Creates the row of a delivery whose event the subscription has not read yet. */
async function insertUnread(tx: Database, id: string, eventId: string): Promise<void> {
  const unread = await selectUnread(tx, id, sql`event_id = ${eventId}`);
  if (!unread) return;
  const names = sql.join(columns.event_delivery.map((name) => sql.ref(name)));
  await sql`insert into event_delivery (${names}) select ${names} from ${unread} unread
    on conflict (subscription_id, event_id) do nothing`.execute(tx);
}

async function reasonOfLoss(tx: Database, { contact_id, reason }: DeliveryRow): Promise<string> {
  if (reason === 'contact_deleted') return reason;
  const { rows } = await sql`select from contact where id = ${contact_id}`.execute(tx);
  return contact_id !== null && rows.length === 0 ? 'contact_deleted' : 'event_deleted';
}

/** Returns the number of waiting deliveries, and of deliveries by outcome in the last 24 hours. */
export async function countDeliveries(db: Database, subscription: SubscriptionRow) {
  const unread = await selectUnread(db, subscription.id, sql`true`, null);
  const { rows } = await sql<{
    pending: number;
    oldestPendingAt: Date | null;
    requests: number;
    delivered: number;
    failed: number;
    skipped: number;
  }>`
    with ended as (
      select status, count(*)::int as number from event_delivery
        where ${ofSubscription(subscription)} and ended_at > now() - interval '24 hours'
        group by status
    ), waiting as (
      select sum(number)::int as number, min(oldest) as oldest from (
        select count(*) as number, min(pending_since) as oldest from event_delivery
          where ${ofSubscription(subscription)} and status = 'pending'
        ${unread ? sql`union all select count(*), min(recorded_at) from ${unread} unread` : sql``}
      ) parts
    ), ofStatus as (
      select coalesce(sum(number) filter (where status = 'delivered'), 0)::int as delivered,
          coalesce(sum(number) filter (where status = 'failed'), 0)::int as failed,
          coalesce(sum(number) filter (where status = 'skipped'), 0)::int as skipped from ended
    )
    select waiting.number as pending, waiting.oldest as "oldestPendingAt",
        (select coalesce(sum(requests), 0)::int from event_subscription_minute
          where subscription_id = ${subscription.id} and minute > now() - interval '24 hours') as requests,
        ofStatus.* from waiting, ofStatus`.execute(db);
  const [found] = rows;
  const {
    pending = 0,
    oldestPendingAt = null,
    ...last24Hours
  } = found ?? {
    requests: 0,
    delivered: 0,
    failed: 0,
    skipped: 0,
  };
  return { lag: { pending, oldestPendingAt }, last24Hours };
}
