import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import { derivedEvents, derivedNamed, hasDerived } from '../sql/derived-events.ts';
import { momentsOf } from '../sql/mail-moments.ts';

/**
 * Statistics of events. The counts come from `event_tally`, which is exact, and fast for any number
 * of events.
 */

export interface EventCount {
  name: string;
  count: number;
}

/** A period, both ends included; null: open. */
export interface Period {
  from: Date;
  to: Date | null;
}

/** Lists the names of a project's events, the most frequent first. */
export async function listEventNames(db: Database, projectId: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from event_tally where project_id = ${projectId}
      group by name having sum(count) > 0
      order by sum(count) desc, name collate "C"`.execute(db);
  return rows.map(({ name }) => name);
}

/**
 * Lists how often each event was recorded in a period, the most frequent first. Whole UTC days are
 * read from `event_tally`; the parts of days at both ends are counted by an index on the names.
 */
export async function listEventCounts(
  db: Database,
  projectId: string,
  period: Period,
): Promise<EventCount[]> {
  const { days, edges } = splitPeriod(period);
  const parts = [
    sql`select name, sum(count)::bigint as count from event_tally
      where project_id = ${projectId} and ${days} group by name`,
    ...edges.flatMap(({ first, end }) => [
      sql`
        select name, (select count(*) from event
            where event.project_id = ${projectId} and event.name = named.name
              and created_at >= ${first} and created_at < ${end})
          from (select distinct name from event_tally
            where project_id = ${projectId} and day = ${utcDay(first)}) named`,
      ...derivedEvents.map(
        (event) => sql`
          select ${sql.lit(event.name)}, count(*)
            from ${momentsOf(projectId, event.moment, sql`at >= ${first} and at < ${end}`)}
            join email on email.id = email_id
            where ${hasDerived(event)}`,
      ),
    ]),
  ];
  const { rows } = await sql<EventCount>`
    select name, sum(count)::float8 as count
      from (${sql.join(parts, sql` union all `)}) part
      group by name having sum(count) > 0
      order by sum(count) desc, name collate "C"`.execute(db);
  return rows;
}

const dayMs = 86_400_000;

/** Splits a period into its whole UTC days, and the parts of days at both ends. */
function splitPeriod({ from, to }: Period) {
  const firstDay = new Date(Math.ceil(from.getTime() / dayMs) * dayMs);
  // `to` is included, and `end` is exclusive.
  const end = to && new Date(to.getTime() + 1);
  const endDay = end && new Date(Math.floor(end.getTime() / dayMs) * dayMs);
  if (end && endDay && endDay < firstDay) {
    return { days: sql<boolean>`false`, edges: [{ first: from, end }] };
  }
  const edges = [
    { first: from, end: firstDay },
    ...(end && endDay ? [{ first: endDay, end }] : []),
  ].filter((edge) => edge.first < edge.end);
  const days = endDay
    ? sql<boolean>`day >= ${utcDay(firstDay)} and day < ${utcDay(endDay)}`
    : sql<boolean>`day >= ${utcDay(firstDay)}`;
  return { days, edges };
}

export function utcDay(moment: Date): RawBuilder<Date> {
  return sql<Date>`(${moment}::timestamptz at time zone 'UTC')::date`;
}

export interface EventTrend extends EventCount {
  /** The count of the previous period. */
  before: number;
}

/**
 * Lists the most frequent events of `days` UTC days from `from`, with their counts on these days
 * and on the same number of days before.
 */
export async function listTopEvents(
  db: Database,
  projectId: string,
  given: { from: Date; days: number; limit: number },
): Promise<EventTrend[]> {
  const first = utcDay(given.from);
  const { rows } = await sql<EventTrend>`
    select name,
        coalesce(sum(count) filter (where day >= ${first}), 0)::float8 as count,
        coalesce(sum(count) filter (where day < ${first}), 0)::float8 as before
      from event_tally
      where project_id = ${projectId}
        and day >= ${first} - ${given.days}::int and day < ${first} + ${given.days}::int
      group by name
      having sum(count) filter (where day >= ${first}) > 0
      order by 2 desc, name collate "C"
      limit ${given.limit}`.execute(db);
  return rows;
}

/** Returns how many events of a name a project has, and for how many contacts. */
export async function countEvents(db: Database, projectId: string, name: string) {
  const isNamed = sql`event.project_id = ${projectId} and event.name = ${name}`;
  const derived = derivedNamed(name).map(
    (event) => sql`exists (select from email
      where email.contact_id = contact.id and project_id = ${projectId} and ${hasDerived(event)})`,
  );
  // No index has the contacts of all messages. So `exists` checks each contact, and stops at its
  // first message.
  const contacts =
    derived.length === 0
      ? sql`select count(distinct contact_id)::float8 from event where ${isNamed}`
      : sql`select count(*)::float8 from contact
          where project_id = ${projectId} and (
            exists (select from event where event.contact_id = contact.id and ${isNamed})
            or ${sql.join(derived, sql` or `)})`;
  const { rows } = await sql<{ total: number; contacts: number }>`
    select
      (select coalesce(sum(count), 0)::float8 from event_tally
        where project_id = ${projectId} and name = ${name}) as total,
      (${contacts}) as contacts`.execute(db);
  const [row] = rows;
  return row ?? { total: 0, contacts: 0 };
}
