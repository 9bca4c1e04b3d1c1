import { type Selectable, sql } from 'kysely';
import { columnList } from '../columns.ts';
import type { Database } from '../database.ts';
import type { RowSize } from '../expressions.ts';
import { derivedEvents, derivedNamed, selectDerived, selectEvents } from '../sql/derived-events.ts';
import { momentsOf } from '../sql/mail-moments.ts';
import type { Event } from '../tables.ts';

const rowSize = sql`id, coalesce(octet_length(data::text), 0)::int as bytes`;

/** Lists the ids and sizes of the newest events of a project, newest first. */
export async function listEvents(
  db: Database,
  projectId: string,
  { eventName, limit }: { eventName?: string | undefined; limit: number },
): Promise<RowSize[]> {
  const isNamed = eventName === undefined ? sql`true` : sql`name = ${eventName}`;
  const newest = sql`order by created_at desc, recorded_at desc, id desc limit ${limit}`;
  // Messages whose events are stored are read, but skipped: at most as many as the page has stored
  // events.
  const derived = derivedNamed(eventName).map(
    (event) => sql`
      union all
      (select ${rowSize}, created_at, recorded_at from (${selectDerived(
        event,
        sql`true order by moment.at desc, email_id desc limit ${limit}`,
        sql`${momentsOf(projectId, event.moment, sql`at >= (select at from last)`)}
          join email on email.id = email_id`,
      )}) as mail)`,
  );
  const { rows } = await sql<RowSize>`
    with stored as materialized (
      select ${rowSize}, created_at, recorded_at from event
        where project_id = ${projectId} and ${isNamed} ${newest}
    ), last as (
      select coalesce((select created_at from stored order by created_at desc
        offset ${limit - 1} limit 1), '-infinity') as at
    )
    select id, bytes from (
        select id, bytes, created_at, recorded_at from stored ${sql.join(derived, sql` `)}) as found
      ${newest}`.execute(db);
  return rows;
}

/** Returns the events with these ids, in this order, with the addresses of their contacts. */
export async function readEvents(db: Database, ids: readonly string[]): Promise<ListedEvent[]> {
  const { rows } = await sql<ListedEvent>`
    select ${columnList('event', 'listed')}, contact.email as contact_email
      from (${selectEvents(ids)}) as listed
      left join contact on contact.id = listed.contact_id
      order by array_position(${ids}::uuid[], listed.id)`.execute(db);
  return rows;
}

export type ListedEvent = Selectable<Event> & { contact_email: string | null };

/** Lists the ids and sizes of the newest events of a contact, newest first. */
export async function listContactEvents(
  db: Database,
  projectId: string,
  contactId: string,
  limit: number,
): Promise<RowSize[]> {
  const isOwn = sql`project_id = ${projectId} and contact_id = ${contactId}`;
  // Ordered by `recorded_at`, which has microseconds, because a message may be sent and delivered
  // within one millisecond.
  const newest = sql`order by recorded_at desc, id desc limit ${limit}`;
  const derived = derivedEvents.map(
    (event) =>
      sql`union all select ${rowSize}, recorded_at from (${selectDerived(event, isOwn)}) as mail`,
  );
  const { rows } = await sql<RowSize>`
    select id, bytes from (
        (select ${rowSize}, recorded_at from event where ${isOwn} ${newest})
        ${sql.join(derived, sql` `)}) as found
      ${newest}`.execute(db);
  return rows;
}

/**
 * Returns true if a project has more than `max` stored events with a name from the last `hours`.
 */
export async function hasMoreEvents(
  db: Database,
  projectId: string,
  { name, max, hours }: { name: string; max: number; hours: number },
): Promise<boolean> {
  const { rows } = await sql`
    select from event
      where project_id = ${projectId} and name = ${name}
        and created_at > now() - make_interval(hours => ${hours})
      order by created_at desc offset ${max} limit 1`.execute(db);
  return rows.length > 0;
}
