import { sql } from 'kysely';
import {
  countOutcomes,
  type OutcomeCounts,
  type ReasonCount,
} from '../../../domain/outcomes/tally.ts';
import { limits } from '../../../domain/limits.ts';
import { withinTime } from '../../bounded.ts';
import type { Database } from '../../database.ts';
import { humanColumns } from '../../sql/mail-moments.ts';
import { reasonOf } from '../../sql/mail-status.ts';

/** Counts of the mail of a template. Each is a number of messages, except `unsubscribed`. */
export interface TemplateMail extends OutcomeCounts {
  total: number;
  /** Messages that a provider has accepted. */
  sent: number;
  delivered: number;
  /**
   * `unreported`: messages that were accepted by a provider that does not report deliveries.
   * `assumed`: those of them for which no report of a delivery or bounce has arrived.
   */
  unreported: number;
  assumed: number;
  opened: number;
  clicked: number;
  /** Messages that a person has opened, or clicked. */
  humanOpened: number;
  humanClicked: number;
  /** Messages that only machines have opened, or clicked. */
  machineOpened: number;
  machineClicked: number;
  bounced: number;
  complained: number;
  /** Contacts that opted out through a link of one of the messages. */
  unsubscribed: number;
  /** Messages that the send policy or a ramp holds back now. */
  held: number;
  /** Messages whose template could not be rendered. */
  renderedPlainly: number;
}

/** The counts of messages with one reason. */
type Numbers = Omit<TemplateMail, keyof OutcomeCounts | 'total' | 'unsubscribed'>;

/**
 * Counts the existing messages that were made from a template.
 * @param period creation times, both ends included
 * @throws Problem STATS_TOO_HEAVY
 */
export async function countTemplateMail(
  db: Database,
  { projectId, templateId }: { projectId: string; templateId: string },
  { startDate, endDate }: { startDate?: Date | undefined; endDate?: Date | undefined },
): Promise<TemplateMail> {
  const from = sql`from email where template_id = ${templateId} and project_id = ${projectId}
    ${startDate ? sql`and created_at >= ${startDate}` : sql``}
    ${endDate ? sql`and created_at <= ${endDate}` : sql``}`;
  return withinTime(db, { ms: limits.statsTimeMs, problem: 'STATS_TOO_HEAVY' }, async (tx) => {
    const { rows } = await sql<ReasonCount & Numbers>`
      select ${reasonOf('email', sql`${projectId}::uuid`)} as code, status = 'FAILED' as "isFailed",
          count(*)::int as count, count(sent_at)::int as sent,
          count(delivered_at)::int as delivered,
          count(*) filter (where delivery_unreported)::int as unreported,
          count(*) filter (where delivery_unreported and delivered_at is null
            and bounced_at is null)::int as assumed, count(opened_at)::int as opened,
          count(clicked_at)::int as clicked, ${humanColumns('email')}, count(bounced_at)::int as bounced,
          count(complained_at)::int as complained,
          count(*) filter (where status = 'PENDING' and held_until > now())::int as held,
          count(*) filter (where trace @> '[{"state": "rendered_plainly"}]')::int
            as "renderedPlainly"
        ${from} group by 1, 2`.execute(tx);
    const { rows: left } = await sql<{ count: number }>`
      select count(distinct contact_id)::int as count ${from} and unsubscribed_at is not null`.execute(
      tx,
    );
    const sum = (field: keyof Numbers | 'count') =>
      rows.reduce((total, row) => total + row[field], 0);
    return {
      ...countOutcomes(rows),
      total: sum('count'),
      sent: sum('sent'),
      delivered: sum('delivered'),
      unreported: sum('unreported'),
      assumed: sum('assumed'),
      opened: sum('opened'),
      clicked: sum('clicked'),
      humanOpened: sum('humanOpened'),
      humanClicked: sum('humanClicked'),
      machineOpened: sum('machineOpened'),
      machineClicked: sum('machineClicked'),
      bounced: sum('bounced'),
      complained: sum('complained'),
      unsubscribed: left[0]?.count ?? 0,
      held: sum('held'),
      renderedPlainly: sum('renderedPlainly'),
    };
  });
}
