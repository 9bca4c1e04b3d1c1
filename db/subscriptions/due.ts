import { type RawBuilder, sql } from 'kysely';
import { type Candidate, contactsOf, type Unit } from '../../domain/subscription/choice.ts';
import type { Attempt } from '../../domain/subscription/schedule.ts';
import type { Database } from '../database.ts';
import { selectEvents } from '../sql/derived-events.ts';
import type { Target } from './sending.ts';

/** Selects the deliveries that may be sent for a subscription, and reads their content. */

/**
 * Maximum number of new deliveries, and of retries, that are read at once if requests have one
 * delivery each.
 */
const candidatesMax = 20;

/**
 * SQL that is true for pending deliveries that a request may include: no request for their contact
 * is in progress.
 */
function isFree({ id, projectId }: Target, underWay: readonly Unit[]) {
  const contacts = underWay.flatMap(contactsOf);
  const events = underWay.flatMap(({ deliveries }) => deliveries.map(({ eventId }) => eventId));
  return sql`${isWaiting({ id, projectId })} and event_id <> all (${events}::uuid[])
    and (contact_id is null or contact_id <> all (${contacts}::uuid[]))`;
}

const isWaiting = ({ id, projectId }: Pick<Target, 'id' | 'projectId'>) => sql`
  delivery.subscription_id = ${id} and delivery.status = 'pending'
    and delivery.project_id = ${projectId}
    and delivery.epoch = (select inner_current.epoch from event_subscription inner_current
      where inner_current.id = ${id})`;

/** SQL of the columns of a `Candidate`. */
const candidate = (delivery: RawBuilder<unknown>, batchTurn: number) => sql`
  ${delivery}.event_id as "eventId", ${delivery}.contact_id as "contactId",
  ${delivery}.is_retry as "isRetry",
  case when ${delivery}.batch_turn = ${batchTurn} then ${delivery}.batch_id end as "batchId",
  coalesce(${delivery}.batch_turn <> ${batchTurn}, false) as "isAlone"`;

/**
 * Returns due deliveries for requests with one delivery each, new ones and retries alike, the
 * longest due first. If the contact of such a delivery has a due delivery that was recorded
 * earlier, the earlier one is returned instead. Contacts with a request in progress are left out.
 * @param isHeld true: only deliveries with a requested immediate attempt
 */
export async function listDue(
  db: Database,
  target: Target,
  { underWay, isHeld }: { underWay: readonly Unit[]; isHeld: boolean },
): Promise<Candidate[]> {
  const isDue = sql`due_at <= clock_timestamp() ${isHeld ? sql`and urgent` : sql``}`;
  const due = (isRetry: boolean) => sql`
    (select event_id, contact_id, due_at from event_delivery delivery
      where ${isFree(target, underWay)} and ${isDue} and is_retry = ${isRetry}
      order by due_at limit ${candidatesMax})`;
  const { rows } = await sql<Candidate>`
    select distinct on (due_at, "eventId") coalesce(first.event_id, due.event_id) as "eventId",
        due.contact_id as "contactId", delivery.is_retry as "isRetry", null as "batchId",
        false as "isAlone", due.due_at
      from (${due(false)} union all ${due(true)}) due
      left join lateral (select event_id from event_delivery delivery
        where ${isWaiting(target)} and ${isDue} and delivery.contact_id = due.contact_id
        order by recorded_at, event_id limit 1) first on true
      join event_delivery delivery on delivery.subscription_id = ${target.id}
        and delivery.event_id = coalesce(first.event_id, due.event_id)
      order by due_at, "eventId"`.execute(db);
  return rows;
}

/**
 * Returns the due deliveries for batches, in the order in which they were recorded. If a batch must
 * be retried, all its deliveries are returned. Contacts with a request in progress are left out.
 * @param most maximum number of new deliveries, and of retries, that are read
 * @param isHeld as for `listDue`
 */
export async function listDueForBatches(
  db: Database,
  target: Target,
  { underWay, isHeld, most }: { underWay: readonly Unit[]; isHeld: boolean; most: number },
): Promise<Candidate[]> {
  const { batchTurn } = target;
  const due = (isRetry: boolean) => sql`
    (select event_id, contact_id, is_retry, recorded_at, batch_id, batch_turn
      from event_delivery delivery
      where ${isFree(target, underWay)} and due_at <= clock_timestamp() and is_retry = ${isRetry}
        ${isHeld ? sql`and urgent` : sql``}
      order by due_at limit ${most})`;
  const { rows } = await sql<Candidate>`
    with due as materialized (${due(false)} union all ${due(true)})
    select ${candidate(sql`found`, batchTurn)} from (
      select event_id, contact_id, is_retry, recorded_at, batch_id, batch_turn from due
        where batch_turn is distinct from ${batchTurn}
      union all
      select event_id, contact_id, is_retry, recorded_at, batch_id, batch_turn
        from event_delivery delivery
        where ${isWaiting(target)} and batch_turn = ${batchTurn} and batch_id in (
          select batch_id from due where batch_turn = ${batchTurn})
    ) found order by recorded_at, event_id`.execute(db);
  return rows;
}

/**
 * Returns the delivery for a probe, due or not: the oldest of the deliveries with the fewest
 * attempts. If it waits in a batch, the whole batch is returned. Contacts with a request in
 * progress are left out.
 */
export async function findProbe(
  db: Database,
  target: Target,
  underWay: readonly Unit[],
): Promise<Unit | null> {
  const fewest = (isRetry: boolean, order: RawBuilder<unknown>) => sql`
    (select event_id, contact_id, is_retry, recorded_at, batch_id, batch_turn,
        jsonb_array_length(attempts) as attempts
      from event_delivery delivery
      where ${isFree(target, underWay)} and ${isRetry ? sql`is_retry` : sql`is_retry = false`}
      order by ${order} limit 1)`;
  // New deliveries are due from the time they were recorded, so `due_at` gives their order.
  const { rows } = await sql<Candidate>`
    select ${candidate(sql`found`, target.batchTurn)}
      from (${fewest(false, sql`due_at`)} union all
        ${fewest(true, sql`jsonb_array_length(attempts), recorded_at, event_id`)}) found
      order by attempts, recorded_at, event_id limit 1`.execute(db);
  const [found] = rows;
  if (!found) return null;
  const { batchId, isRetry } = found;
  const deliveries = batchId === null ? [found] : await listBatch(db, target, batchId);
  return { deliveries, isRetry, batchId };
}

async function listBatch(db: Database, target: Target, batchId: string): Promise<Candidate[]> {
  const { rows } = await sql<Candidate>`
    select ${candidate(sql`delivery`, target.batchTurn)} from event_delivery delivery
      where ${isWaiting(target)} and batch_id = ${batchId} and batch_turn = ${target.batchTurn}
      order by recorded_at, event_id`.execute(db);
  return rows;
}

/** A delivery about to be sent. */
export interface Ready {
  eventId: string;
  contactId: string | null;
  tries: number;
  turn: number;
  attempts: Attempt[];
  /** null: the event was deleted. */
  event: {
    name: string;
    data: unknown;
    emailId: string | null;
    createdAt: Date;
  } | null;
  contact: { id: string; email: string } | null;
}

/**
 * Returns the deliveries of a request that are not sent yet, in recorded order. If the data of a
 * new request exceed `bytesMax` bytes, only the first deliveries are returned, at least one.
 */
export async function readDeliveries(
  db: Database,
  { id }: Target,
  { deliveries, batchId }: Unit,
  bytesMax: number,
): Promise<Ready[]> {
  const eventIds = deliveries.map(({ eventId }) => eventId);
  const { rows } = await sql<
    Omit<Ready, 'event' | 'contact'> & {
      name: string | null;
      data: unknown;
      emailId: string | null;
      createdAt: Date;
      email: string | null;
    }
  >`
    with found as materialized (${selectEvents(eventIds)}), known as materialized (
      select found.id, found.name, found.data, found.email_id, found.created_at, contact.email,
          contact.project_id <> found.project_id as is_erased
        from found left join contact on contact.id = found.contact_id
    ), chosen as (
      select delivery.event_id, delivery.contact_id, tries, turn, attempts, delivery.recorded_at,
          sum(octet_length(found.data::text)) over (order by delivery.recorded_at, delivery.event_id)
            as bytes,
          row_number() over (order by delivery.recorded_at, delivery.event_id) as place
        from event_subscription subscription
        join project on project.id = subscription.project_id and project.disabled_reason is null
        join event_delivery delivery on delivery.subscription_id = subscription.id
          and delivery.project_id = subscription.project_id and delivery.epoch = subscription.epoch
        left join found on found.id = delivery.event_id
        where subscription.id = ${id} and enabled and delivery.status = 'pending'
          and delivery.event_id = any(${eventIds}::uuid[])
          and (not paused or exists (select from event_delivery
            where subscription_id = ${id} and event_id = any(${eventIds}::uuid[]) and urgent))
    )
    select event_id as "eventId", chosen.contact_id as "contactId", tries, turn, attempts,
        event.name, event.data, event.email_id as "emailId", event.created_at as "createdAt",
        event.email
      from chosen
      -- Deliveries of a contact that is being erased count as deleted.
      left join known as event on event.id = chosen.event_id and event.is_erased is not true
      where place = 1 or ${batchId !== null} or coalesce(bytes, 0) <= ${bytesMax}
      order by chosen.recorded_at, chosen.event_id`.execute(db);
  return rows.map(({ name, data, emailId, createdAt, email, ...row }) => ({
    ...row,
    event: name === null ? null : { name, data, emailId, createdAt },
    contact: row.contactId !== null && email !== null ? { id: row.contactId, email } : null,
  }));
}
