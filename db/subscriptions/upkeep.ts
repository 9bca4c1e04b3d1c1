import { type RawBuilder, sql } from 'kysely';
import { columnList } from '../columns.ts';
import { type Database, transact } from '../database.ts';
import { deletePage } from '../pages.ts';
import { limits } from '../../domain/limits.ts';
import { hasUnread } from './log.ts';

/** Upkeep of event subscriptions by the sweep. */

/** Maximum number of subscriptions checked in one statement. */
const checkedAtOnce = 100;
/** Maximum number of deliveries changed in one statement. */
const pageSize = 1_000;
/**
 * Number of days for which deliveries are kept after their end; also the maximum number of days for
 * which they may be pending.
 */
const keptDays = limits.replayDays;

/** Maximum time until the sweep checks a subscription with nothing to do, in SQL. */
const idle = sql`interval '1 hour'`;

/**
 * SQL that makes the sweep check the subscriptions of projects with new rows in `event_tally`. The
 * process that recorded these events may have died before it signalled a run. Skips locked
 * subscriptions, so that no project holds up the others.
 */
export const reconcileRecorded = sql`update event_subscription set next_reconcile_at = now()
  where id = any (array(
    select inner_recorded.id from event_subscription inner_recorded
      where inner_recorded.project_id in (select project_id from event_tally where fresh)
      for no key update skip locked))`;

/**
 * Returns a page, by id, of the subscriptions that are due for a check, with their projects.
 * `isDue` is true if the run should have done its work by now: it was not signalled, or is lost.
 */
export async function listForgotten(
  db: Database,
  after: string | null,
): Promise<{ id: string; projectId: string; isDue: boolean }[]> {
  const isPending = (isLate: RawBuilder<unknown>) => sql`enabled and not paused
    and exists (select from event_delivery
      where subscription_id = subscription.id and status = 'pending'
        and is_retry = any (array[true, false]) ${isLate})`;
  const late = sql`and due_at < now() - interval '10 seconds'`;
  const { rows } = await sql<{ id: string; projectId: string; isDue: boolean }>`
    with page as materialized (
      select subscription.id, project_id, subscription.next_reconcile_at, disabled_reason_of_project,
          ${hasUnread('subscription')} or backlog is not null or has_outdated or suspended
            or coalesce(hold_until < now(), true)
              and coalesce(probe_at < now() - interval '10 seconds', true) and ${isPending(late)}
            as has_work,
          ${isPending(sql``)} as is_waiting
        from (select ${columnList('event_subscription', 'due')},
              project.disabled_reason as disabled_reason_of_project
            from event_subscription due join project on project.id = due.project_id
            where (due.next_reconcile_at <= now() or suspended)
              and ${after === null ? sql`true` : sql`due.id > ${after}`}
            order by due.id limit ${checkedAtOnce}) subscription
    ), idle as (
      update event_subscription set next_reconcile_at = now() + ${idle}
        where id = any (array(
          select inner_idle.id from event_subscription inner_idle
            join page on page.id = inner_idle.id and not has_work and not is_waiting
            -- Unless the subscription was made due again in the meantime.
            where inner_idle.next_reconcile_at = page.next_reconcile_at
            for no key update of inner_idle skip locked))
    )
    select id, project_id as "projectId",
        has_work and disabled_reason_of_project is null as "isDue"
      from page order by id`.execute(db);
  return rows;
}

/**
 * Lists subscriptions whose old deliveries must be cleared, longest due first. Each becomes due
 * every hour.
 */
export async function listToClear(db: Database): Promise<string[]> {
  const rows = await db
    .selectFrom('event_subscription')
    .select('id')
    .where('clear_at', '<=', sql<Date>`now()`)
    .orderBy('clear_at')
    .limit(checkedAtOnce)
    .execute();
  return rows.map(({ id }) => id);
}

/** Records that a subscription's old deliveries are cleared. */
export async function noteCleared(db: Database, id: string): Promise<void> {
  await sql`update event_subscription set clear_at = now() + interval '1 hour'
    where id = ${id}`.execute(db);
}

/**
 * Deletes a page of log rows about mail that are older than any subscription can read. Returns true
 * if none is left.
 */
export async function clearOldLog(db: Database): Promise<boolean> {
  const where = sql<boolean>`recorded_at < now() - ${keptDays + 1} * interval '1 day'`;
  return (await deletePage(db, { table: 'derived_event_log', where, rows: pageSize })) < pageSize;
}

/**
 * Deletes a page of a subscription's old deliveries and counts, and skips deliveries that have been
 * pending for `keptDays`. Returns true if none is left.
 */
export async function clearOldDeliveries(db: Database, id: string): Promise<boolean> {
  const where = sql<boolean>`subscription_id = ${id}
    and ended_at < now() - ${keptDays} * interval '1 day'`;
  const deleted = await deletePage(db, { table: 'event_delivery', where, rows: pageSize });
  const { numAffectedRows } = await sql`
    update event_delivery set status = 'skipped', reason = 'expired', ended_at = now(),
        urgent = false, updated_at = now()
      where status = 'pending' and subscription_id = ${id} and event_id = any (array(
        select event_id from event_delivery
          where subscription_id = ${id} and status = 'pending'
            and pending_since < now() - ${keptDays} * interval '1 day' limit ${pageSize}))`.execute(
    db,
  );
  await sql`delete from event_subscription_minute
    where subscription_id = ${id} and minute < now() - interval '25 hours'`.execute(db);
  return deleted < pageSize && Number(numAffectedRows ?? 0) < pageSize;
}

interface Loss {
  id: string;
  project_id: string;
  contact_id: string | null;
  event_name: string | null;
  at: Date;
}

/**
 * Clears a page of the deliveries of a deleted contact, or of deleted events. Pending deliveries
 * are skipped. The receiver's response is removed from all, and for a deleted contact also the
 * contact's id. Returns true if none is left.
 */
export async function clearLostDeliveries(db: Database): Promise<boolean> {
  return transact(db, async (tx) => {
    const { rows } = await sql<Loss>`
      select id, project_id, contact_id, event_name, at from event_delivery_loss
        order by id limit 1 for update skip locked`.execute(tx);
    const [loss] = rows;
    if (!loss) return true;
    const { rows: cleared } = await sql<{ subscriptionId: string; batchId: string | null }>`
      with page as materialized (
        select subscription_id, event_id from event_delivery delivery
          where ${
            loss.contact_id === null
              ? sql`delivery.subscription_id in (select id from event_subscription
                  where project_id = ${loss.project_id})
                and event_name = ${loss.event_name} and recorded_at <= ${loss.at}
                and (status = 'pending' or response is not null)
                and not exists (select from event where event.id = delivery.event_id)`
              : sql`contact_id = ${loss.contact_id}`
          }
          limit ${pageSize}
      )
      update event_delivery delivery set response = null, urgent = false, updated_at = now(),
          contact_id = case when ${loss.contact_id === null} then contact_id end,
          reason = case when status = 'pending' then ${
            loss.contact_id === null ? 'event_deleted' : 'contact_deleted'
          } else reason end,
          ended_at = case when status = 'pending' then now() else ended_at end,
          status = case when status = 'pending' then 'skipped' else status end
        from page where delivery.subscription_id = page.subscription_id
          and delivery.event_id = page.event_id
        returning delivery.subscription_id as "subscriptionId", batch_id as "batchId"`.execute(tx);
    // The response to a batch is stored in all its deliveries, and may concern the cleared one.
    const batches = cleared.filter(({ batchId }) => batchId !== null);
    if (batches.length > 0) {
      await sql`update event_delivery set response = null, updated_at = now()
        where response is not null and (subscription_id, batch_id) in (
          select "subscriptionId", "batchId" from jsonb_to_recordset(${JSON.stringify(batches)}::jsonb)
            as batch("subscriptionId" uuid, "batchId" uuid))`.execute(tx);
    }
    if (cleared.length < pageSize) {
      await sql`delete from event_delivery_loss where id = ${loss.id}`.execute(tx);
    }
    return false;
  });
}

/**
 * Removes a contact that is being erased, and the receiver's responses, from a page of the contact's
 * deliveries. Pending deliveries become `skipped`. Returns the number of deliveries; 0: none is left.
 */
export async function skipDeliveriesOf(tx: Database, contactId: string): Promise<number> {
  const { numAffectedRows } = await sql`
    with page as materialized (
      select subscription_id, event_id from event_delivery
        where contact_id = ${contactId} limit ${pageSize}
    )
    update event_delivery delivery set response = null, urgent = false, updated_at = now(),
        contact_id = null,
        reason = case when status = 'pending' then 'contact_deleted' else reason end,
        ended_at = case when status = 'pending' then now() else ended_at end,
        status = case when status = 'pending' then 'skipped' else status end
      from page where delivery.subscription_id = page.subscription_id
        and delivery.event_id = page.event_id`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

/** Records that the events of a name were deleted, so that their deliveries are cleared. */
export async function noteLostEvents(db: Database, projectId: string, name: string): Promise<void> {
  await sql`
    insert into event_delivery_loss (project_id, event_name)
      select ${projectId}::uuid, ${name} where exists (select from event_subscription
        join event_delivery on subscription_id = event_subscription.id and event_name = ${name}
        where event_subscription.project_id = ${projectId})`.execute(db);
}
