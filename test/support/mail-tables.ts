import { type RawBuilder, sql } from 'kysely';
import { type Database, transact } from '../../db/database.ts';
import { deleteMail } from '../../db/emails/removal.ts';
import { following, ledgerColumns } from '../../db/sql/ledger.ts';

/** SQL of the correct rows of the lookup tables of mail, computed from the rows of `email`. */
const meant = `
  with moments as (
    select project_id, kind::smallint, at, id as email_id
      from email cross join lateral (values
        (1, case when status <> 'FAILED' and source_type <> 'INBOUND' then sent_at end),
        (2, delivered_at), (3, opened_at), (4, clicked_at), (5, bounced_at), (6, complained_at),
        (7, case when bounce_listed then bounced_at end),
        (8, case when complaint_listed then complained_at end),
        (9, human_opened_at), (10, human_clicked_at), (11, unsubscribed_at))
        as own(kind, at)
      where at is not null
  ), queued as (
    select id as email_id, project_id, campaign_id, due_at, lease_until,
        case when status = 'PENDING' and hold_reason is not null then held_until end as held_until,
        waits_for, ramp_id
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
    columns:
      'email_id, project_id, campaign_id, due_at, lease_until, held_until, waits_for, ramp_id',
  },
  { name: 'provider_message', from: 'given', columns: 'message_id, email_id' },
  { name: 'late_mail', from: 'late', columns: 'contact_id, sent_at, email_id' },
];

/**
 * SQL that returns a line per fault: a missing or surplus row of a lookup table, a wrong tally, or
 * a failed message without an error.
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

/**
 * Runs statements of a test that change messages directly, and then updates the lookup tables of
 * mail.
 */
export async function writeMail<T>(db: Database, work: (tx: Database) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (tx) => {
    // Other writers wait for the lock, so `mail_was` is the state before this transaction.
    await sql`lock table email in share row exclusive mode`.execute(tx);
    const copy = (name: string, from: RawBuilder<unknown>) =>
      sql`create temp table ${sql.table(name)} on commit drop as ${from}`.execute(tx);
    const rows = ledgerColumns('email');
    await copy('mail_was', sql`select ${rows} from email`);
    const result = await work(tx);
    await copy(
      'mail_gone',
      sql`select mail_was.* from mail_was left join email using (id)
      where email.id is null`,
    );
    await copy(
      'mail_new',
      sql`select ${rows} from email left join mail_was using (id)
      where mail_was.id is null`,
    );
    await copy(
      'mail_now',
      sql`select ${rows} from email except table mail_was except table mail_new`,
    );
    await copy('mail_changed', sql`select mail_was.* from mail_was join mail_now using (id)`);
    await sql`with ${following({ was: 'mail_gone' })} select`.execute(tx);
    await sql`with ${following({ now: 'mail_new' })} select`.execute(tx);
    await sql`with ${following({ was: 'mail_changed', now: 'mail_now' })} select`.execute(tx);
    return result;
  });
}

/** Deletes contacts with their mail; by default all contacts. */
export async function dropContacts(
  db: Database,
  where: RawBuilder<boolean> = sql<boolean>`true`,
): Promise<void> {
  const drop = async (tx: Database) => {
    // The locks prevent inserts of mail for these contacts.
    await sql`select from contact where ${where} order by id for update`.execute(tx);
    await deleteMail(tx, {
      where: sql<boolean>`contact_id in (select contact.id from contact where ${where})`,
    });
    await sql`delete from contact where ${where}`.execute(tx);
  };
  await (db.isTransaction ? drop(db) : transact(db, drop));
}
