import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';

/** SQL of the tables that find mail, as they should be for the rows of `email`. */
const meant = `
  with moments as (
    select project_id, kind::smallint, at, id as email_id
      from email cross join lateral (values
        (1, case when status <> 'FAILED' and source_type <> 'INBOUND' then sent_at end),
        (2, delivered_at), (3, opened_at), (4, clicked_at), (5, bounced_at), (6, complained_at),
        (7, case when bounce_listed then bounced_at end),
        (8, case when complaint_listed then complained_at end))
        as own(kind, at)
      where at is not null
  ), queued as (
    select id as email_id, project_id, campaign_id, due_at, lease_until,
        case when status = 'PENDING' and hold_reason is not null then held_until end as held_until
      from email
      where status = 'SENDING' or status = 'PENDING' and due_at is not null
  ), given as (
    select message_id, id as email_id from email
      where source_type <> 'INBOUND' and left(message_id, 36) <> id::text
  ), late as (
    select contact_id, sent_at, id as email_id from email
      where sent_at - created_at > interval '24 hours' and message_class = 'MARKETING'
        and source_type in ('CAMPAIGN', 'WORKFLOW')
  )`;

const tables = [
  { name: 'email_moment', from: 'moments', columns: 'project_id, kind, at, email_id' },
  {
    name: 'email_queue',
    from: 'queued',
    columns: 'email_id, project_id, campaign_id, due_at, lease_until, held_until',
  },
  { name: 'provider_message', from: 'given', columns: 'message_id, email_id' },
  { name: 'late_mail', from: 'late', columns: 'contact_id, sent_at, email_id' },
];

/**
 * SQL of missing and superfluous rows in these tables, and of failed messages without an error,
 * which finds them. There should be none.
 */
export const mailTableFaults = `${meant} ${tables
  .flatMap(({ name, from, columns }) => [
    `select '${name} lacks ' || row::text as what
       from (select ${columns} from ${from} except all select ${columns} from ${name}) as row`,
    `select '${name} has too much: ' || row::text
       from (select ${columns} from ${name} except all select ${columns} from ${from}) as row`,
  ])
  .join(' union all ')}
  union all
  select 'the tally of ' || key || ' is not ' || coalesce(counted.count, 0) from (
      select (project_id, kind, (at at time zone 'UTC')::date)::text as key, count(*) from email_moment
        where at < (select at from watermark where name = 'email_tally')
          and project_id in (select id from project where removal is null) group by 1) counted
    full join (
      select (project_id, kind, day)::text as key, sum(count) as count from email_tally
        where day < (select at at time zone 'UTC' from watermark where name = 'email_tally')
          and project_id in (select id from project where removal is null) group by 1) tally using (key)
    where coalesce(counted.count, 0) <> coalesce(tally.count, 0)
  union all
  select 'email ' || id || ' is FAILED without an error' from email
    where status = 'FAILED' and error is null`;

/** Builds these tables anew, after a change that only tests make: giving a message another id. */
export async function rebuildMailTables(db: Database): Promise<void> {
  await db.transaction().execute(async (tx) => {
    for (const { name, from, columns } of tables) {
      await sql`delete from ${sql.table(name)}`.execute(tx);
      await sql`${sql.raw(meant)} insert into ${sql.table(name)} (${sql.raw(columns)})
        select ${sql.raw(columns)} from ${sql.table(from)}`.execute(tx);
    }
  });
}
