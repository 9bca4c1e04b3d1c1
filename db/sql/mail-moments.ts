import { type RawBuilder, sql } from 'kysely';

/**
 * When messages were sent, delivered, opened and so on: rows of `email_moment`, which follow the
 * messages (see `ledger.ts`). The index finds the newest messages of a project, or all of a period.
 * The index has no contacts: for the moments of a contact, read the contact's mail.
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

/** The columns of a message that its moments depend on; `sent` depends on others, too. */
const momentColumns: Readonly<
  Record<Exclude<Moment, 'sent'>, { at: TimeColumn; onlyIf?: 'bounce_listed' | 'complaint_listed' }>
> = {
  delivered: { at: 'delivered_at' },
  opened: { at: 'opened_at' },
  clicked: { at: 'clicked_at' },
  bounced: { at: 'bounced_at' },
  complained: { at: 'complained_at' },
  listedBounce: { at: 'bounced_at', onlyIf: 'bounce_listed' },
  listedComplaint: { at: 'complained_at', onlyIf: 'complaint_listed' },
  humanOpened: { at: 'human_opened_at' },
  humanClicked: { at: 'human_clicked_at' },
  unsubscribed: { at: 'unsubscribed_at' },
};

type TimeColumn =
  | 'delivered_at'
  | 'opened_at'
  | 'clicked_at'
  | 'bounced_at'
  | 'complained_at'
  | 'human_opened_at'
  | 'human_clicked_at'
  | 'unsubscribed_at';

/** SQL that selects the moments of messages, with the columns of `email_moment`. */
export function momentsIn(row: string): RawBuilder<unknown> {
  const sent = sql`case when status <> 'FAILED' and source_type <> 'INBOUND' then sent_at end`;
  const moments = Object.entries(momentColumns).map(([name, { at, onlyIf }]) => {
    const time = onlyIf ? sql`case when ${sql.ref(onlyIf)} then ${sql.ref(at)} end` : sql.ref(at);
    return sql`(${sql.lit(momentKinds[name as Moment])}::smallint, ${time})`;
  });
  return sql`
    select project_id, moment.kind, moment.at, id as email_id
      from ${sql.table(row)} cross join lateral (values
        (${sql.lit(momentKinds.sent)}::smallint, ${sent}), ${sql.join(moments)}) as moment(kind, at)
      where moment.at is not null`;
}

/** The columns of a message that its moments depend on, as far as they are known. */
export type MomentState = { [Column in TimeColumn]?: Date | null } & {
  bounce_listed?: boolean;
  complaint_listed?: boolean;
};

/** A moment that a message gets, or has no longer. */
export interface MomentChange {
  project_id: string;
  email_id: string;
  kind: number;
  at: Date;
  is_gone: boolean;
}

const momentList = Object.entries(momentColumns).map(([name, columns]) => ({
  kind: momentKinds[name as Moment],
  ...columns,
}));

/**
 * Returns the changes of the moments of a message, for a change that does not affect the moment
 * `sent`.
 * @param email the message before the change
 * @param changed columns that may have changed
 */
export function momentChanges(
  email: MomentState & { id: string; project_id: string },
  changed: MomentState,
): MomentChange[] {
  const { id: email_id, project_id } = email;
  const changes: MomentChange[] = [];
  for (const { kind, at, onlyIf } of momentList) {
    const was = (!onlyIf || email[onlyIf]) && email[at];
    const is = (!onlyIf || (changed[onlyIf] ?? email[onlyIf])) && valueAfter(email, changed, at);
    if ((was || null)?.getTime() === (is || null)?.getTime()) continue;
    if (was) changes.push({ project_id, email_id, kind, at: was, is_gone: true });
    if (is) changes.push({ project_id, email_id, kind, at: is, is_gone: false });
  }
  return changes;
}

function valueAfter(email: MomentState, changed: MomentState, at: TimeColumn) {
  return changed[at] === undefined ? email[at] : changed[at];
}

/**
 * SQL parts (common table expressions, without the leading comma) that store changes of moments. A
 * list costs PostgreSQL less than `following`, which reads the messages before and after.
 */
export function changingMoments(changes: readonly MomentChange[]): RawBuilder<unknown> {
  const key = sql`project_id, kind, at, email_id`;
  return sql`
    moment_change as (
      select ${key}, is_gone from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb)
        as given(project_id uuid, kind smallint, at timestamptz, email_id uuid, is_gone boolean)
    ), moment_gone as (
      delete from email_moment where (${key}) in (select ${key} from moment_change where is_gone)
        returning project_id, kind, at
    ), moment_added as (
      insert into email_moment (${key}) select ${key} from moment_change where not is_gone
        on conflict do nothing returning project_id, kind, at
    ), moment_counted as (${countingMoments(sql`
      select project_id, kind, at, -1 as count from moment_gone
      union all select project_id, kind, at, 1 as count from moment_added`)})`;
}

/**
 * SQL that adds changes of moments (`project_id`, `kind`, `at`, `count`) to `email_tally`, except
 * those of the last 24 hours, whose days are not counted yet: see `dayIsCountedAfter` in
 * db/emails/moments.ts.
 */
export function countingMoments(changes: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`insert into email_tally (project_id, kind, day, count)
    select project_id, kind, (at at time zone 'UTC')::date, sum(count) from (${changes}) as moment
      where at < now() - interval '24 hours' group by 1, 2, 3 having sum(count) <> 0`;
}

/**
 * SQL that selects one kind of moment of a project's messages, as a table `moment` with `at` and
 * `email_id`. PostgreSQL reads the rows from an index in the order of these two columns.
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
  /** End of the period; absent: it has no end. */
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
 * SQL columns of a grouped query: the numbers of messages that people have opened and clicked, and
 * that only machines have opened and clicked.
 * @param email the table or its alias.
 */
export function humanColumns(email: string): RawBuilder<unknown> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql`count(${column('human_opened_at')})::int as "humanOpened",
    count(${column('human_clicked_at')})::int as "humanClicked",
    count(*) filter (where ${column('opened_by_machines')})::int as "machineOpened",
    count(*) filter (where ${column('clicked_by_machines')})::int as "machineClicked"`;
}
