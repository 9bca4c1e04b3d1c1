import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { type Database, transact } from '../database.ts';
import { millisecondsSince, millisecondsUntil } from '../expressions.ts';
import { deletePage } from '../pages.ts';
import { selectEvents } from '../sql/derived-events.ts';
import { freshReceiver } from './subscriptions.ts';

/** Reads the database before a request of a subscription, and writes after it. */

/** A subscription, with the values that its requests need. */
export interface Target {
  id: string;
  projectId: string;
  /** The project's id as the API shows it. */
  publicId: string;
  url: string;
  /** The headers; like both secrets, they are encrypted. */
  headers: Buffer | null;
  secret: Buffer;
  previousSecret: Buffer | null;
  secretNames: string[];
  state: 'enabled' | 'paused' | 'disabled' | 'project_disabled';
  /** Milliseconds for which the receiver wants no requests. */
  holdMs: number;
  /** Milliseconds until the next probe is due; null: the receiver does not count as down. */
  probeMs: number | null;
  /** Number of failed probes so far. */
  probes: number;
  /** Maximum number of events per request; null: one event, without a list. */
  batchMax: number | null;
  /** Deliveries with this batch turn are retried with their batch. */
  batchTurn: number;
  /** Milliseconds for which the oldest new delivery has been due; 0: no new delivery is due. */
  lagMs: number;
}

/** The right of one activity to send for a subscription, until another activity takes the right. */
export interface Lease {
  id: string;
  /** When the lease was taken, as a text of the database, which has microseconds. */
  since: string;
}

/**
 * Makes an activity the only one that sends for a subscription; an earlier activity stops. From now
 * on the sweep checks the subscription. Returns null if the subscription is deleted.
 */
export async function takeLease(db: Database, id: string): Promise<Lease | null> {
  const lease = randomUUID();
  const { rows } = await sql<{ since: string }>`
    update event_subscription set lease = ${lease}, next_reconcile_at = clock_timestamp() where id = ${id}
      returning next_reconcile_at::text as since`.execute(db);
  return rows[0] ? { id: lease, since: rows[0].since } : null;
}

/**
 * Sets the sweep's next check of a subscription: when its next delivery is due, or in an hour. A
 * change in the meantime may have set an earlier check, which is kept.
 */
export async function endLease(
  db: Database,
  { id }: Target,
  lease: Lease,
  nextDueMs: number | null,
): Promise<void> {
  const ms = Math.min((nextDueMs ?? idleMs) + graceMs, idleMs);
  await sql`update event_subscription
    set next_reconcile_at = now() + ${ms}::float8 * interval '1 millisecond'
    where id = ${id} and lease = ${lease.id} and next_reconcile_at = ${lease.since}::timestamptz`.execute(
    db,
  );
}

/** Milliseconds for which the sweep does not check a subscription with nothing to do. */
const idleMs = 3_600_000;

/** Milliseconds that a run may be late before the sweep signals it. */
const graceMs = 10_000;

/**
 * Returns the current subscription; null: it is deleted, or another activity sends for it. Also
 * records if the project is disabled. When the project is enabled again, a back-off ends, and
 * waiting retries are released.
 */
export async function findTarget(db: Database, id: string, lease: string): Promise<Target | null> {
  const { rows } = await sql<Target & { isSuspended: boolean }>`
    select subscription.id, project_id as "projectId", coalesce(public_id, project.id) as "publicId",
        url, headers, secret, secret_names as "secretNames",
        case when previous_secret_expires_at > now() then previous_secret end as "previousSecret",
        case when not enabled then 'disabled'
          when project.disabled_reason is not null then 'project_disabled'
          when paused then 'paused' else 'enabled' end as state,
        coalesce(${millisecondsUntil(sql`hold_until`)}, 0) as "holdMs",
        ${millisecondsUntil(sql`probe_at`)} as "probeMs", probes,
        batch_max as "batchMax", batch_turn as "batchTurn",
        ${millisecondsSince(sql`(select due_at from event_delivery
          where subscription_id = ${id} and status = 'pending' and is_retry = false
          order by due_at limit 1)`)} as "lagMs",
        suspended as "isSuspended"
      from event_subscription subscription join project on project.id = project_id
      where subscription.id = ${id} and lease = ${lease}`.execute(db);
  const [found] = rows;
  if (!found) return null;
  const { isSuspended, ...target } = found;
  const isDisabled = target.state === 'project_disabled';
  if (isSuspended !== isDisabled) {
    // Responses from before the project was disabled say nothing about the receiver's state now.
    const resumed = { ...freshReceiver, released_at: sql<Date>`clock_timestamp()` };
    await db
      .updateTable('event_subscription')
      .set({ suspended: isDisabled, ...(!isDisabled && resumed) })
      .where('id', '=', id)
      .execute();
  }
  return target;
}

/** Maximum number of deliveries made due in one statement. */
const releasedMax = 1_000;

/** Skips a delivery whose event was deleted with its contact, or with all events of its name. */
export async function skipGone(db: Database, id: string, eventId: string): Promise<void> {
  await sql`
    with had as (
      select contact_id is not null and not exists (select from contact
          where contact.id = event_delivery.contact_id) as lost
        from event_delivery where subscription_id = ${id} and event_id = ${eventId}
    )
    update event_delivery set status = 'skipped', urgent = false, response = null,
        reason = case when had.lost then 'contact_deleted' else 'event_deleted' end,
        contact_id = case when had.lost then null else contact_id end,
        ended_at = now(), updated_at = now()
      from had where subscription_id = ${id} and event_id = ${eventId} and status = 'pending'
        and not exists (${selectEvents([eventId])})`.execute(db);
}

/**
 * Makes deliveries due that were waiting for a retry at `released_at`: the subscription was
 * resumed, or its receiver may work again. Handles one page per call. Returns true if none is left.
 */
export async function releasePage(db: Database, id: string): Promise<boolean> {
  const { rows } = await sql<{ released: string | null }>`
    select released_at::text as released from event_subscription where id = ${id}`.execute(db);
  const released = rows[0]?.released ?? null;
  if (released === null) return true;
  return transact(db, async (tx) => {
    // Lock the row first, as the code that records the end of a request does.
    await sql`select from event_subscription where id = ${id} for no key update`.execute(tx);
    const { numAffectedRows } = await sql`
      update event_delivery set due_at = ${released}::timestamptz
        where subscription_id = ${id} and event_id = any (array(
          select event_id from event_delivery
            where subscription_id = ${id} and status = 'pending' and is_retry
              and due_at > ${released}::timestamptz and updated_at <= ${released}::timestamptz
            limit ${releasedMax}))`.execute(tx);
    if (Number(numAffectedRows ?? 0) === releasedMax) return false;
    await sql`update event_subscription set released_at = null
      where id = ${id} and released_at = ${released}::timestamptz`.execute(tx);
    return true;
  });
}

/** Milliseconds until the next delivery is due (0: now); null: none is pending. */
export async function findNextDue(db: Database, { id, projectId }: Target): Promise<number | null> {
  const first = (isRetry: boolean) => sql`
    (select due_at from event_delivery where subscription_id = ${id} and status = 'pending'
      and is_retry = ${isRetry} and project_id = ${projectId} order by due_at limit 1)`;
  const { rows } = await sql<{ ms: number | null }>`
    select ${millisecondsUntil(sql`due_at`)} as ms
      from (select least(${first(false)}, ${first(true)}) as due_at) next`.execute(db);
  return rows[0]?.ms ?? null;
}

/** Deletes a page of the deliveries of a deleted subscription. Returns true if none is left. */
export async function deleteDeliveries(db: Database, id: string): Promise<boolean> {
  const rows = 1_000;
  const where = sql<boolean>`subscription_id = ${id}`;
  return (await deletePage(db, { table: 'event_delivery', where, rows })) < rows;
}
