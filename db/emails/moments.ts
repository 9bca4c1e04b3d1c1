import { type RawBuilder, sql } from 'kysely';
import { type Database, transact } from '../database.ts';

/**
 * When messages were sent, delivered, opened and so on: rows of `email_moment`, which triggers keep. They are
 * read where the newest of a project are asked for, or all of a period; what a contact has had is found by its mail.
 */

/** A moment of a message. Sent: not FAILED, and not received. Listed: by the provider's own list alone. */
export type Moment =
  | 'sent'
  | 'delivered'
  | 'opened'
  | 'clicked'
  | 'bounced'
  | 'complained'
  | 'listedBounce'
  | 'listedComplaint';

/** The numbers of the moments. */
export const momentKinds: Readonly<Record<Moment, number>> = {
  sent: 1,
  delivered: 2,
  opened: 3,
  clicked: 4,
  bounced: 5,
  complained: 6,
  listedBounce: 7,
  listedComplaint: 8,
};

const momentNumbers = sql`generate_series(1, ${sql.lit(Object.keys(momentKinds).length)}) as number`;

/**
 * SQL of a moment of the messages of a project, as a table `moment` with `at` and `email_id`; in the order of
 * both, it is read from the index.
 * @param where a condition on `at`
 */
export function momentsOf(
  projectId: string,
  moment: Moment,
  where: RawBuilder<unknown> = sql`true`,
): RawBuilder<unknown> {
  return sql`(select inner_moment.at, inner_moment.email_id from email_moment inner_moment
    where inner_moment.project_id = ${projectId}
      and inner_moment.kind = ${sql.lit(momentKinds[moment])} and ${where}) moment`;
}

/** A period, both ends included, as SQL of timestamps. */
export interface MomentPeriod {
  from: RawBuilder<Date>;
  /** Until now, if left out, and after it. */
  to?: RawBuilder<Date>;
}

/**
 * SQL of how many moments there are in a period. Whole UTC days that are counted are looked up in `email_tally`, the
 * rest is counted.
 */
export function countMoments(
  projectId: string,
  moment: Moment,
  { from, to = sql`timestamptz 'infinity'` }: MomentPeriod,
): RawBuilder<number> {
  const isOwn = sql`project_id = ${projectId} and kind = ${sql.lit(momentKinds[moment])}`;
  const dayOf = (start: string) => sql`(${sql.ref(start)} at time zone 'UTC')::date`;
  const count = (where: RawBuilder<unknown>) =>
    sql`(select count(*) from email_moment inner_counted
      where ${isOwn} and ${where} and at <= until)`;
  return sql<number>`(
    select (${count(sql`at >= since and at < days_from`)} + ${count(sql`at >= days_to`)}
        + (select coalesce(sum(count), 0) from email_tally inner_tally
          where ${isOwn} and day >= ${dayOf('days_from')} and day < ${dayOf('days_to')}))::float8
      from (select since, until, days_from, greatest(days_from, least(${countedTo},
            date_trunc('day', until + interval '1 millisecond', 'UTC'))) as days_to
          from (select since, until,
                date_trunc('day', since - interval '1 microsecond', 'UTC') + interval '24 hours' as days_from
              from (select ${from} as since, ${to} as until) inner_given) inner_begun) inner_days)`;
}

/** Before this, whole days are counted. */
const tallied = 'email_tally';
const countedTo = sql<Date>`coalesce((select inner_mark.at from watermark inner_mark where inner_mark.name = ${sql.lit(tallied)}),
  timestamptz '-infinity')`;

/**
 * A day is counted when it has been over for two days. A trigger adds changes of moments that are a day old to
 * `email_tally`: so none is missed unless its transaction takes a day.
 */
const dayIsCountedAfter = sql`interval '72 hours'`;

/**
 * Folds what was added to counted days, and counts the moments of the next day that is to be counted, of all
 * projects. Returns whether there is more to do. At rest it reads one row.
 */
export async function tallyMoments(db: Database): Promise<boolean> {
  if (await foldTally(db)) return true;
  return transact(db, async (tx) => {
    const last = sql<Date>`date_trunc('day', now(), 'UTC') - ${dayIsCountedAfter}`;
    const { rows } = await sql`
      select from watermark where name = ${tallied} and at <= ${last} for update skip locked`.execute(
      tx,
    );
    if (rows.length === 0) return false;
    const days = await sql<{ day: Date | null; isLast: boolean }>`
      with first as (
        select date_trunc('day', min(moment.at), 'UTC') as day
          from project cross join ${momentNumbers}
          cross join lateral (select least(
            (select at from email_moment
              where project_id = project.id and kind = number and at >= ${countedTo}
              order by at limit 1),
            -- Of this day all may be deleted.
            (select day::timestamp at time zone 'UTC' from email_tally
              where project_id = project.id and kind = number
                and day >= (${countedTo} at time zone 'UTC')::date
              order by day limit 1)) as at) moment
      )
      select case when day <= ${last} then day end as day, coalesce(day >= ${last}, true) as "isLast"
        from first`.execute(tx);
    const { day = null, isLast = true } = days.rows[0] ?? {};
    if (day) await tallyDay(tx, day);
    await sql`update watermark set at = coalesce(${day}::timestamptz, ${last}) + interval '24 hours'
      where name = ${tallied}`.execute(tx);
    return !isLast;
  });
}

/** Adds what is lacking of a day. A project that is being removed is not read any more. */
async function tallyDay(tx: Database, day: Date): Promise<void> {
  const date = sql`(${day}::timestamptz at time zone 'UTC')::date`;
  await sql`
    insert into email_tally (project_id, kind, day, count, fresh)
      select project.id, number, ${date}, had.count - added.count, added.rows > 0
        from project cross join ${momentNumbers}
        cross join lateral (select count(*) from email_moment
          where project_id = project.id and kind = number
            and at >= ${day} and at < ${day}::timestamptz + interval '24 hours') had
        cross join lateral (
          select coalesce(sum(count), 0) as count, count(*) as rows from email_tally
          where project_id = project.id and kind = number and day = ${date}) added
        where removal is null and had.count <> added.count`.execute(tx);
}

/** Fresh rows that are folded in one statement. */
const foldedAtOnce = 20_000;

/**
 * Folds fresh rows into one for each day: exactly those that it deletes. Those of a project that is removed are only
 * deleted. Returns whether there may be more.
 */
async function foldTally(db: Database): Promise<boolean> {
  const key = (table: string) =>
    sql.join(['project_id', 'kind', 'day'].map((column) => sql.ref(`${table}.${column}`)));
  const { rows } = await sql<{ count: number }>`
    with page as (
      select ctid as row, project_id, kind, day from email_tally where fresh limit ${foldedAtOnce}
    ), gone as (
      delete from email_tally where ctid = any(array(select row from page))
        returning project_id, kind, day, count
    ), folded as (
      delete from email_tally tally using (select distinct project_id, kind, day from page) touched
        where (${key('tally')}) = (${key('touched')}) and not fresh
        returning ${key('tally')}, tally.count
    ), sums as (
      insert into email_tally (project_id, kind, day, count, fresh)
        select project_id, kind, day, sum(count), false
          from (select project_id, kind, day, count from gone
            union all select project_id, kind, day, count from folded) row
          where exists (select from project where id = project_id and removal is null)
          group by 1, 2, 3 having sum(count) <> 0
    )
    select count(*)::int as count from page`.execute(db);
  return rows[0]?.count === foldedAtOnce;
}
