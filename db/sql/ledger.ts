import { type RawBuilder, sql } from 'kysely';
import { references } from '../columns.ts';
import { tallying } from './derived-events.ts';
import { countingMoments, momentKinds, momentsIn } from './mail-moments.ts';

/**
 * The ledger is the table `email`. The rows of other tables (queue, moments, tallies, allowance and
 * more) follow from its rows. Each statement that changes messages also changes these tables, by
 * the parts that `following` returns. So a reader never sees one change without the other, and a
 * rollback undoes both.
 */

/** The columns of a message that determine the rows of the other tables. */
const determining = [
  'id',
  'project_id',
  'contact_id',
  'campaign_id',
  'source_type',
  'message_class',
  'status',
  'error',
  'refusal',
  'due_at',
  'lease_until',
  'hold_reason',
  'held_until',
  'waits_for',
  'ramp_id',
  'message_id',
  'created_at',
  'sent_at',
  'delivered_at',
  'opened_at',
  'clicked_at',
  'bounced_at',
  'complained_at',
  'unsubscribed_at',
  'human_opened_at',
  'human_clicked_at',
  'bounce_listed',
  'complaint_listed',
  'billed_units',
  'allowance_month',
  'derived_events',
];

/**
 * Returns SQL of the columns that the queries `LedgerChange.was` and `LedgerChange.now` must have.
 * @param more columns that the caller needs in addition; columns that are already in the list are
 * not repeated.
 */
export function ledgerColumns(email: string, more: readonly string[] = []): RawBuilder<unknown> {
  return references([...new Set([...determining, ...more])], email);
}

/**
 * Names of two queries in the statement that changes messages. Both have the columns of
 * `ledgerColumns`.
 */
export interface LedgerChange {
  /**
   * The messages before the change. Absent if the messages are new or were still waiting: then they
   * have no moments, failure or provider's id to take back.
   */
  was?: string;
  /** The same messages after the change. Absent if the change deletes the messages. */
  now?: string;
}

type Part = readonly [name: string, part: RawBuilder<unknown>];

/**
 * SQL parts (common table expressions, without the leading comma) that make other tables follow a
 * change of messages, in the statement that makes this change.
 * @param tables the tables that the change may concern; by default all of them.
 */
export function following(
  change: LedgerChange,
  tables: readonly LedgerTable[] = everything,
): RawBuilder<unknown> {
  const parts = tables.flatMap((table) => followers[table](change));
  return sql.join(parts.map(([name, part]) => sql`${sql.table(`ledger_${name}`)} as (${part})`));
}

export type LedgerTable = keyof typeof followers;

const everything = [
  'queue',
  'moments',
  'providerMessages',
  'lateMail',
  'campaignTally',
  'allowance',
  'usage',
  'derivedEvents',
  'links',
  'engagement',
  'conversions',
] as const satisfies LedgerTable[];

/** The tables that a failure of waiting messages concerns. */
export const whenFailing = ['queue', 'campaignTally', 'allowance'] as const satisfies LedgerTable[];

/** The tables that an acceptance by a provider concerns. */
export const whenAccepted = [
  'acceptance',
  'providerMessages',
  'lateMail',
  'usage',
] as const satisfies LedgerTable[];

const followers = {
  /** The messages that wait or are being sent outside of chunks. */
  queue({ was, now }: LedgerChange): Part[] {
    if (!now) {
      const ids = sql`select id from ${sql.table(was!)} where status in ('PENDING', 'SENDING')`;
      return [['unqueued', sql`delete from email_queue where email_id = any(array(${ids}))`]];
    }
    const isQueued = sql`(status = 'SENDING' or status = 'PENDING' and due_at is not null)`;
    const left = sql`select id from ${sql.table(now)} where not ${isQueued}`;
    const queued = sql`
      insert into email_queue
          (email_id, project_id, campaign_id, due_at, lease_until, held_until, hold_reason, waits_for,
            ramp_id)
        select id, project_id, campaign_id, due_at, lease_until,
            case when status = 'PENDING' and hold_reason is not null then held_until end, hold_reason,
            waits_for, ramp_id
          from ${sql.table(now)} where ${isQueued}
        on conflict (email_id) do update set due_at = excluded.due_at,
          lease_until = excluded.lease_until, held_until = excluded.held_until,
          hold_reason = excluded.hold_reason, waits_for = excluded.waits_for,
          ramp_id = excluded.ramp_id`;
    return [
      ['unqueued', sql`delete from email_queue where email_id = any(array(${left}))`],
      ['queued', queued],
    ];
  },

  /** When messages were sent, delivered, opened and so on, and the counts of days that are over. */
  moments({ was, now }: LedgerChange): Part[] {
    const key = sql`project_id, kind, at, email_id`;
    const old = was ? sql`select ${key} from ledger_moments_before` : sql`select null`;
    const added = now && sql`select ${key} from ledger_moments_after`;
    const parts: Part[] = [];
    if (was) parts.push(['moments_before', momentsIn(was)]);
    if (now) parts.push(['moments_after', momentsIn(now)]);
    if (was) {
      const gone = added ? sql`${old} except ${added}` : old;
      parts.push([
        'moments_gone',
        sql`delete from email_moment where (${key}) in (${gone}) returning project_id, kind, at`,
      ]);
    }
    if (added) {
      parts.push([
        'moments_added',
        sql`insert into email_moment (${key}) ${was ? sql`${added} except ${old}` : added}
          on conflict do nothing returning project_id, kind, at`,
      ]);
    }
    const counted = [
      ...(was ? [sql`select project_id, kind, at, -1 as count from ledger_moments_gone`] : []),
      ...(now ? [sql`select project_id, kind, at, 1 as count from ledger_moments_added`] : []),
    ];
    parts.push(['moments_counted', countingMoments(sql.join(counted, sql` union all `))]);
    return parts;
  },

  /** The moments `sent` and `delivered`: a message that was just accepted has no others. */
  acceptance({ now }: LedgerChange): Part[] {
    return [
      [
        'accepted',
        sql`insert into email_moment (project_id, kind, at, email_id)
          select project_id, moment.kind, moment.at, id
            from ${sql.table(now!)} cross join lateral (values
              (${sql.lit(momentKinds.sent)}::smallint, sent_at),
              (${sql.lit(momentKinds.delivered)}::smallint, delivered_at)) as moment(kind, at)
            where moment.at is not null`,
      ],
    ];
  },

  /**
   * Ids that providers have given to messages. An id that our own mailers give begins with the
   * message's id, so it is not stored.
   */
  providerMessages({ was, now }: LedgerChange): Part[] {
    const given = (row: string) => sql`
      select message_id, id as email_id from ${sql.table(row)} as email
        where source_type <> 'INBOUND' and left(message_id, 36) <> id::text`;
    const parts: Part[] = [];
    if (was) {
      const gone = now ? sql`${given(was)} except ${given(now)}` : given(was);
      parts.push([
        'ids_gone',
        sql`delete from provider_message where (message_id, email_id) in (${gone})`,
      ]);
    }
    if (now) {
      // Feedback that was faster than the provider's response may have stored the same id.
      const isNew = sql`not exists (select from provider_message inner_known
        where inner_known.message_id = email.message_id and inner_known.email_id = email.id)`;
      const added = was ? sql`${given(now)} except ${given(was)}` : sql`${given(now)} and ${isNew}`;
      parts.push(['ids_added', sql`insert into provider_message (message_id, email_id) ${added}`]);
    }
    return parts;
  },

  /** Marketing mail that was sent more than a day after it was made. */
  lateMail({ was, now }: LedgerChange): Part[] {
    const late = (row: string) => sql`
      select contact_id, sent_at, id as email_id from ${sql.table(row)}
        where sent_at - created_at > interval '24 hours' and message_class = 'MARKETING'
          and source_type in ('CAMPAIGN', 'WORKFLOW')`;
    const parts: Part[] = [];
    if (was) {
      const gone = now ? sql`${late(was)} except ${late(now)}` : late(was);
      parts.push([
        'late_gone',
        sql`delete from late_mail where (contact_id, sent_at, email_id) in (${gone})`,
      ]);
    }
    if (now) {
      parts.push([
        'late_added',
        sql`insert into late_mail (contact_id, sent_at, email_id) ${late(now)} on conflict do nothing`,
      ]);
    }
    return parts;
  },

  /**
   * Counts messages of a campaign that have failed or were deleted unsent, by reason; and all
   * deleted ones.
   */
  campaignTally({ was, now }: LedgerChange): Part[] {
    if (!now) {
      return [
        [
          'campaign_counted',
          sql`insert into campaign_tally (campaign_id, project_id, code, count, sent, gone,
              gone_delivered, gone_opened, gone_clicked, gone_human_opened, gone_human_clicked)
            select campaign_id, project_id, case when status = 'SENDING' and lease_until < now()
                  then 'delivery_unknown' else 'contact_deleted' end,
                count(*) filter (where status in ('PENDING', 'SENDING')), 0, count(*),
                count(delivered_at), count(opened_at), count(clicked_at), count(human_opened_at),
                count(human_clicked_at)
              from ${sql.table(was!)} where campaign_id is not null group by 1, 2, 3`,
        ],
      ];
    }
    const count = (rows: RawBuilder<unknown>) => sql`
      insert into campaign_tally (campaign_id, project_id, code, count, sent)
        select campaign_id, project_id, code, sum(count), sum(sent) from (${rows}) as row
          group by 1, 2, 3 having sum(count) <> 0 or sum(sent) <> 0`;
    const failed = (row: string, sign: 1 | -1) => sql`
      select campaign_id, project_id, coalesce(refusal, error, '') as code, ${sql.lit(sign)} as count,
          ${sql.lit(sign)} * (sent_at is not null)::int as sent
        from ${sql.table(row)} where campaign_id is not null and status = 'FAILED'`;
    const rows = was ? sql`${failed(was, -1)} union all ${failed(now, 1)}` : failed(now, 1);
    return [['campaign_counted', count(rows)]];
  },

  /**
   * The allowance that messages return when they fail, or are deleted unsent, and take again when
   * they turn out to be sent.
   */
  allowance({ was, now }: LedgerChange): Part[] {
    const units = (sign: 1 | -1, row: string, where: RawBuilder<unknown>) => sql`
      select project_id, allowance_month as month, ${allowanceCategory(row)} as category,
          ${sql.lit(sign)} * billed_units as units
        from ${sql.table(row)} where allowance_month is not null and ${where}`;
    const hasFailed = sql`status = 'FAILED'`;
    const failed = (row: string) => sql`select id from ${sql.table(row)} where ${hasFailed}`;
    const parts = [];
    if (!now) parts.push(units(-1, was!, sql`status in ('PENDING', 'SENDING')`));
    else if (!was) parts.push(units(-1, now, hasFailed));
    else {
      // Subtracts the units from before the change: a message with attachments counts two units,
      // and the erasure that fails the message also removes its attachments.
      parts.push(
        units(-1, was, sql`not ${hasFailed} and id in (${failed(now)})`),
        units(1, now, sql`not ${hasFailed} and id in (${failed(was)})`),
      );
    }
    return [
      [
        'allowance_changed',
        sql`update allowance set taken = greatest(taken + change.units, 0)
          from (select project_id, month, category, sum(units)::int as units
            from (${sql.join(parts, sql` union all `)}) as part group by 1, 2, 3) as change
          where (allowance.project_id, allowance.month, allowance.category)
            = (change.project_id, change.month, change.category)`,
      ],
    ];
  },

  /**
   * The sent messages that are reported to the payment provider. A message that its provider
   * rejects after it was sent is not billed; a deleted one is.
   */
  usage({ was, now }: LedgerChange): Part[] {
    if (!now) return [];
    const wasSent = was && sql`select id from ${sql.table(was)} where sent_at is not null`;
    const parts: Part[] = [
      [
        'billed',
        sql`insert into usage_report (email_id, customer, units, sent_at)
          select sent.id, billed.customer, sent.billed_units, sent.sent_at
            from ${sql.table(now)} as sent cross join lateral (
              -- The limit keeps the planner from reading all projects.
              select customer from project where project.id = sent.project_id
                and customer is not null limit 1) as billed
            where sent.sent_at is not null and sent.status <> 'FAILED'
              ${wasSent ? sql`and sent.id not in (${wasSent})` : sql``}
          on conflict do nothing`,
      ],
    ];
    if (wasSent) {
      parts.push([
        'unbilled',
        sql`delete from usage_report where email_id = any(array(${wasSent} intersect
          select id from ${sql.table(now)} where status = 'FAILED'))`,
      ]);
    }
    return parts;
  },

  /** The counts of derived events. The events of deleted messages are subtracted. */
  derivedEvents({ was, now }: LedgerChange): Part[] {
    if (now) return [];
    return [['events_counted', tallying(was!, -1)]];
  },

  /**
   * The clicked links of deleted messages. Their sums in `link_tally` stay. A link address made
   * from data may identify a contact, so it is deleted with the last message in which it was
   * clicked.
   */
  links({ was, now }: LedgerChange): Part[] {
    if (now) return [];
    const ids = sql`array(select id from ${sql.table(was!)} where clicked_at is not null)`;
    return [
      [
        'links_gone',
        sql`delete from email_link where email_id = any(${ids}) returning owner_id, link_id`,
      ],
      [
        'links_counted',
        sql`insert into link_tally (owner_id, link_id, clicks, emails, human_clicks, human_emails,
            machine_clicks, gone)
          select owner_id, link_id, 0, 0, 0, 0, 0, count(*) from ledger_links_gone group by 1, 2`,
      ],
      [
        'links_forgotten',
        sql`update tracked_link link set url = null
          from (select distinct owner_id, link_id from ledger_links_gone) gone
          where link.owner_id = gone.owner_id and link.link_id = gone.link_id
            and not link.is_written and link.url is not null
            and not exists (select from email_link inner_left
              where inner_left.owner_id = gone.owner_id and inner_left.link_id = gone.link_id
                and inner_left.email_id <> all(${ids}))`,
      ],
    ];
  },

  /** Opens and clicks are deleted with their message. */
  engagement({ was, now }: LedgerChange): Part[] {
    if (now) return [];
    const ids = sql`select id from ${sql.table(was!)}`;
    return [['engagement_gone', sql`delete from engagement where email_id = any(array(${ids}))`]];
  },

  /** Deletes the conversions of deleted messages. Their sums in `goal_tally` stay. */
  conversions({ was, now }: LedgerChange): Part[] {
    if (now) return [];
    const ids = sql`select id from ${sql.table(was!)}`;
    return [['unconverted', sql`delete from conversion where email_id = any(array(${ids}))`]];
  },
};

/** SQL of the category of a message's allowance, as `allowance.category` has it. */
export function allowanceCategory(email: string): RawBuilder<string> {
  const source = sql.ref(`${email}.source_type`);
  return sql<string>`case ${source} when 'WORKFLOW' then 'workflows' when 'CAMPAIGN' then 'campaigns'
    else lower(${source}) end`;
}
