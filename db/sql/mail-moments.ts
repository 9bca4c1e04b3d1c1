import { type RawBuilder, sql } from 'kysely';

/**
 * When messages were sent, delivered, opened and so on: rows of `email_moment`, which follow the
 * messages (see `ledger.ts`). Their index finds the newest messages of a project, or all of a period. It does not have
 * the contacts: for their moments, read their mail.
 */

/**
 * A moment of a message. Sent: only messages that are neither FAILED nor received. Listed: only
 * bounces or complaints that came from the provider's own suppression list. Human: the first open
 * or click whose verdict is human.
 */
export type Moment =
  | 'sent'
  | 'delivered'
  | 'opened'
  | 'clicked'
  | 'bounced'
  | 'complained'
  | 'listedBounce'
  | 'listedComplaint'
  | 'humanOpened'
  | 'humanClicked'
  | 'unsubscribed';

export const momentKinds: Readonly<Record<Moment, number>> = {
  sent: 1,
  delivered: 2,
  opened: 3,
  clicked: 4,
  bounced: 5,
  complained: 6,
  listedBounce: 7,
  listedComplaint: 8,
  humanOpened: 9,
  humanClicked: 10,
  unsubscribed: 11,
};

/**
 * SQL that selects one kind of moment of a project's messages, as a table `moment` with `at` and
 * `email_id`. Sorted by both, it is read from the index.
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

/** A period, both ends included, as SQL timestamps. */
export interface MomentPeriod {
  from: RawBuilder<Date>;
  /** The end; if left out, there is none. */
  to?: RawBuilder<Date>;
}

/**
 * SQL that counts one kind of moment (sent, opened, …) in a period. Whole UTC days come from
 * `email_tally` if it has them; other rows are counted.
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

/** Name of the watermark up to which `email_tally` has counted whole days. */
export const tallied = 'email_tally';
export const countedTo = sql<Date>`coalesce((select inner_mark.at from watermark inner_mark where inner_mark.name = ${sql.lit(tallied)}),
  timestamptz '-infinity')`;

/**
 * SQL columns of a grouped query: how many messages people, and machines alone, have opened and
 * clicked.
 * @param email the table or its alias.
 */
export function humanColumns(email: string): RawBuilder<unknown> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql`count(${column('human_opened_at')})::int as "humanOpened",
    count(${column('human_clicked_at')})::int as "humanClicked",
    count(*) filter (where ${column('opened_by_machines')})::int as "machineOpened",
    count(*) filter (where ${column('clicked_by_machines')})::int as "machineClicked"`;
}
