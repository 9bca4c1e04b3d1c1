import { type RawBuilder, sql } from 'kysely';
import type { Candidate } from '../../domain/subscription/choice.ts';
import type { Attempt } from '../../domain/subscription/schedule.ts';
import { type Database, transact } from '../database.ts';
import { millisecondsUntil } from '../expressions.ts';
import { deletePage } from '../pages.ts';
import { findSecrets } from '../projects/secrets.ts';
import { freshReceiver } from './subscriptions.ts';

/** What the activity of a subscription reads before a request and writes after it. */

/** A subscription as its requests need it. */
export interface Target {
  id: string;
  projectId: string;
  /** The project's id as the API shows it. */
  publicId: string;
  url: string;
  /** Encrypted, each. */
  headers: Buffer | null;
  secret: Buffer;
  previousSecret: Buffer | null;
  secretNames: string[];
  state: 'enabled' | 'paused' | 'disabled' | 'project_disabled';
  /** For how many milliseconds the receiver has asked for silence. */
  holdMs: number;
  /** In how many milliseconds the next probe is due; null: its receiver is not taken for dead. */
  probeMs: number | null;
  /** Probes that have failed. */
  probes: number;
}

/**
 * Makes an activity the only one that sends for a subscription: one before that still lives stops.
 * False: the subscription is gone.
 */
export async function takeLease(db: Database, id: string, lease: string): Promise<boolean> {
  const row = await db
    .updateTable('event_subscription')
    .set({ lease })
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** The subscription as it is now; null: it is gone, or another activity sends for it. */
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
        suspended as "isSuspended"
      from event_subscription subscription join project on project.id = project_id
      where subscription.id = ${id} and lease = ${lease}`.execute(db);
  const [found] = rows;
  if (!found) return null;
  const { isSuspended, ...target } = found;
  const isDisabled = target.state === 'project_disabled';
  if (isSuspended !== isDisabled) {
    // What the receiver answered before a project was disabled tells nothing of the time after.
    const resumed = { ...freshReceiver, released_at: sql<Date>`clock_timestamp()` };
    await db
      .updateTable('event_subscription')
      .set({ suspended: isDisabled, ...(!isDisabled && resumed) })
      .where('id', '=', id)
      .execute();
  }
  return target;
}

/** The values of the secrets that a subscription's headers name, encrypted. */
export async function listHeaderSecrets(db: Database, { projectId, secretNames }: Target) {
  return secretNames.length === 0 ? [] : findSecrets(db, projectId, secretNames);
}

/** Deliveries looked at for a choice, of each kind. */
const candidatesMax = 20;
/** Deliveries made due in one statement. */
const releasedMax = 1_000;

/**
 * The deliveries that are due, the longest due first, new ones and retries alike: instead of each that
 * of its contact which is due and was recorded first. Those of contacts with a request under way are
 * left out.
 * @param isHeld only what somebody has asked for at once
 */
export async function listDue(
  db: Database,
  { id, projectId }: Target,
  { underWay, isHeld }: { underWay: readonly Candidate[]; isHeld: boolean },
): Promise<Candidate[]> {
  const contacts = underWay.flatMap(({ contactId }) => contactId ?? []);
  const events = underWay.map(({ eventId }) => eventId);
  const isDue = sql`delivery.subscription_id = ${id} and delivery.status = 'pending'
    and delivery.due_at <= clock_timestamp() and delivery.project_id = ${projectId}
    and delivery.epoch = (select epoch from event_subscription where id = ${id})
    ${isHeld ? sql`and delivery.urgent` : sql``}`;
  const due = (isRetry: boolean) => sql`
    (select event_id, contact_id, is_retry, due_at from event_delivery delivery
      where ${isDue} and is_retry = ${isRetry} and event_id <> all (${events}::uuid[])
        and (contact_id is null or contact_id <> all (${contacts}::uuid[]))
      order by due_at limit ${candidatesMax})`;
  const { rows } = await sql<Candidate>`
    select distinct on (due_at, "eventId") coalesce(first.event_id, due.event_id) as "eventId",
        due.contact_id as "contactId", coalesce(first.is_retry, due.is_retry) as "isRetry", due.due_at
      from (${due(false)} union all ${due(true)}) due
      left join lateral (select event_id, is_retry from event_delivery delivery
        where ${isDue} and delivery.contact_id = due.contact_id
        order by recorded_at, event_id limit 1) first on true
      order by due_at, "eventId"`.execute(db);
  return rows;
}

/**
 * What a probe takes: of the deliveries with the fewest attempts the oldest, whether it is due or not.
 * Those of contacts with a request under way are left out.
 */
export async function findProbe(
  db: Database,
  { id, projectId }: Target,
  underWay: readonly Candidate[],
): Promise<Candidate | null> {
  const contacts = underWay.flatMap(({ contactId }) => contactId ?? []);
  const events = underWay.map(({ eventId }) => eventId);
  const fewest = (isRetry: boolean, order: RawBuilder<unknown>) => sql`
    (select event_id, contact_id, is_retry, recorded_at, jsonb_array_length(attempts) as attempts
      from event_delivery delivery
      where subscription_id = ${id} and status = 'pending' and project_id = ${projectId}
        and epoch = (select epoch from event_subscription where id = ${id})
        and ${isRetry ? sql`is_retry` : sql`is_retry = false`}
        and event_id <> all (${events}::uuid[])
        and (contact_id is null or contact_id <> all (${contacts}::uuid[]))
      order by ${order} limit 1)`;
  // Those never attempted are due since they were recorded.
  const { rows } = await sql<Candidate>`
    select event_id as "eventId", contact_id as "contactId", is_retry as "isRetry"
      from (${fewest(false, sql`due_at`)} union all
        ${fewest(true, sql`jsonb_array_length(attempts), recorded_at, event_id`)}) found
      order by attempts, recorded_at, event_id limit 1`.execute(db);
  return rows[0] ?? null;
}

/** A delivery about to be sent. */
export interface Ready {
  eventId: string;
  contactId: string | null;
  isRetry: boolean;
  tries: number;
  turn: number;
  attempts: Attempt[];
  /** null: it is gone. */
  event: {
    name: string;
    data: unknown;
    emailId: string | null;
    createdAt: Date;
  } | null;
  contact: { id: string; email: string } | null;
}

/** What the chosen deliveries are, of those that are still to be sent. */
export async function readDeliveries(
  db: Database,
  { id }: Target,
  eventIds: readonly string[],
): Promise<Ready[]> {
  const { rows } = await sql<
    Omit<Ready, 'event' | 'contact'> & {
      name: string | null;
      data: unknown;
      emailId: string | null;
      createdAt: Date;
      email: string | null;
    }
  >`
    select delivery.event_id as "eventId", delivery.contact_id as "contactId",
        is_retry as "isRetry", tries, turn, attempts,
        event.name, event.data, event.email_id as "emailId", event.created_at as "createdAt",
        contact.email
      from event_subscription subscription
      join project on project.id = subscription.project_id and project.disabled_reason is null
      join event_delivery delivery on delivery.subscription_id = subscription.id
        and delivery.project_id = subscription.project_id and delivery.epoch = subscription.epoch
      left join event on event.id = delivery.event_id
      left join contact on contact.id = event.contact_id
      where subscription.id = ${id} and enabled and (urgent or not paused)
        and delivery.event_id = any(${eventIds}::uuid[]) and delivery.status = 'pending'
      order by delivery.recorded_at, delivery.event_id`.execute(db);
  return rows.map(({ name, data, emailId, createdAt, email, ...row }) => ({
    ...row,
    event: name === null ? null : { name, data, emailId, createdAt },
    contact: row.contactId !== null && email !== null ? { id: row.contactId, email } : null,
  }));
}

/** Skips a delivery whose event is gone: with its contact, or with all of its name. */
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
        and not exists (select from event where event.id = ${eventId})`.execute(db);
}

/**
 * Makes due at once what waited for a retry when the subscription was released from its pause, a page
 * at a time. Returns whether none is left.
 */
export async function releasePage(db: Database, id: string): Promise<boolean> {
  const { rows } = await sql<{ released: string | null }>`
    select released_at::text as released from event_subscription where id = ${id}`.execute(db);
  const released = rows[0]?.released ?? null;
  if (released === null) return true;
  return transact(db, async (tx) => {
    // The row first, as whoever records the end of a request.
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

/** In how many milliseconds the next delivery is due, 0: now; null: none is pending. */
export async function findNextDue(db: Database, { id, projectId }: Target): Promise<number | null> {
  const first = (isRetry: boolean) => sql`
    (select due_at from event_delivery where subscription_id = ${id} and status = 'pending'
      and is_retry = ${isRetry} and project_id = ${projectId} order by due_at limit 1)`;
  const { rows } = await sql<{ ms: number | null }>`
    select ${millisecondsUntil(sql`due_at`)} as ms
      from (select least(${first(false)}, ${first(true)}) as due_at) next`.execute(db);
  return rows[0]?.ms ?? null;
}

/** Deletes a page of the deliveries of a subscription that is gone. Returns whether none is left. */
export async function deleteDeliveries(db: Database, id: string): Promise<boolean> {
  const rows = 1_000;
  const where = sql<boolean>`subscription_id = ${id}`;
  return (await deletePage(db, { table: 'event_delivery', where, rows })) < rows;
}
