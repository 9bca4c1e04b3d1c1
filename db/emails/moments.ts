import { sql } from 'kysely';
import { type Database, transact } from '../database.ts';
import { momentKinds, tallied, countedTo } from '../sql/mail-moments.ts';

/** Counts by day the messages that were sent, delivered, opened and so on. */

const momentNumbers = sql`unnest(array[${sql.join(Object.values(momentKinds).map((kind) => sql.lit(kind)))}]) as number`;

/**
 * Time from the beginning of a day until the day is counted, that is, two days after its end.
 * Changes of moments older than 24 hours are added to `email_tally` by the ledger. So no change is
 * missed, unless a transaction takes a day.
 */
const dayIsCountedAfter = sql`interval '72 hours'`;

/**
 * Folds the tallies of counted days, and counts the next day that is due, for all projects. Returns
 * true if there is more to do. If there is nothing to do, it reads one row.
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
            -- If all mail of a day was deleted, only email_tally still has the day.
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

/** Adds the missing counts of a day. Projects that are being deleted are skipped. */
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

/** Maximum number of new rows that one statement folds. */
const foldedAtOnce = 20_000;

/**
 * Replaces the new rows of each day by one row with their sum. Rows of a deleted project are only
 * deleted. Returns true if there may be more.
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
