import { sql } from 'kysely';
import { openEnd } from '../../domain/outcomes/hold.ts';
import type { CampaignTally } from '../../domain/outcomes/tally.ts';
import { references, snakeCase } from '../columns.ts';
import type { Database } from '../database.ts';
import { columns } from '../tables.ts';
import type { CampaignRow } from './campaigns.ts';

/** Counts the recipients of campaigns by outcome. */

/**
 * Returns a campaign with its tally as of one moment, so its numbers add up. Messages in chunks are
 * counted by chunk. Such messages are read one by one only if some were deleted, or if the campaign
 * has a local time.
 */
export async function findCampaignTally(
  db: Database,
  projectId: string,
  id: string,
): Promise<{ campaign: CampaignRow; tally: CampaignTally } | undefined> {
  const own = sql`email_queue where project_id = ${projectId} and campaign_id = ${id}`;
  const held = (reason: string) =>
    sql`count(*) filter (where hold_reason = ${sql.lit(reason)})::int`;
  const { rows } = await sql<CampaignRow & Counted>`
    with failed as materialized (
      select code, sum(count)::int as count, sum(sent)::int as sent from campaign_tally
        where campaign_id = ${id} group by code having sum(count) <> 0
    ), queued as materialized (
      select (select count(*)::int from email_queue where campaign_id = ${id}) as count,
          (select count(*)::int from ${own} and lease_until < now()) as unsettled,
          ${held('quiet_hours')} as quiet_hours, ${held('frequency_cap')} as frequency_cap,
          ${held('warm_up')} as warm_up, ${held('operator')} as operator
        from ${own} and held_until > now()
    ), size as materialized (
      select campaign.id,
          -- Deleted messages stay in their chunk until the chunk is claimed.
          campaign.frozen_count - campaign.sent_count
            - coalesce((select sum(count - sent) from failed), 0) - queued.count
            = coalesce((select sum(cardinality(email_ids)) from campaign_chunk
              where campaign_id = ${id}), 0) as "isExact"
        from campaign, queued where campaign.id = ${id} and campaign.project_id = ${projectId}
    ), chunk as materialized (
      select case when size."isExact" then cardinality(email_ids) else (select count(*) from email
            where email.id = any(campaign_chunk.email_ids) and email.status = 'PENDING') end as count,
          campaign_chunk.attempt_id is not null as "isUnsettled",
          campaign.local_time is not null and exists (select from email
            where email.id = any(campaign_chunk.email_ids)
              and email.scheduled_for = campaign_chunk.due_at) as "isOfMoment"
        from size join campaign on campaign.id = size.id
        join campaign_chunk on campaign_id = campaign.id
        where campaign_chunk.attempt_id is null and campaign_chunk.due_at > now()
            and campaign_chunk.due_at < ${openEnd}::timestamptz
          or campaign_chunk.lease_until < now()
    )
    select ${references(columns.campaign, 'campaign')},
        (select coalesce(jsonb_agg(failed), '[]') from failed) as failures,
        queued.quiet_hours, queued.frequency_cap, queued.warm_up, queued.operator, queued.unsettled
          + (select coalesce(sum(count) filter (where "isUnsettled"), 0) from chunk)::int as unsettled,
        (select coalesce(sum(count) filter (where "isOfMoment" and not "isUnsettled"), 0) from chunk)::int
          as scheduled,
        (select coalesce(sum(count) filter (where not "isOfMoment" and not "isUnsettled"), 0)
          from chunk)::int as retrying,
        case when campaign.experiment is not null and exists (select from experiment
              where experiment.campaign_id = campaign.id and decided_at is null)
          then queued.count + (select count(*)::int from campaign_chunk tested
            join email on email.id = any(tested.email_ids) and email.status = 'PENDING'
            where tested.campaign_id = campaign.id and tested.due_at < ${openEnd}::timestamptz)
          end as testing
      from size join campaign on campaign.id = size.id, queued`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { failures, quiet_hours, frequency_cap, warm_up, operator } = row;
  const { unsettled, scheduled, retrying, testing } = row;
  const tally = {
    status: row.status,
    totalRecipients: row.total_recipients,
    made: row.frozen_count,
    sent: row.sent_count,
    failures,
    held: { quiet_hours, frequency_cap, warm_up, operator },
    unsettled,
    scheduled,
    retrying,
    testing,
  };
  return { campaign: row, tally };
}

/** Events of the messages of a campaign that its row counts. */
export const countedEvents = [
  'delivered',
  'opened',
  'clicked',
  'humanOpened',
  'humanClicked',
] as const;
export type CountedEvent = (typeof countedEvents)[number];

/**
 * Returns the number of a campaign's messages, or of those to which an event has happened. The
 * messages of a large campaign are not read.
 */
export async function countCampaignMail(
  db: Database,
  id: string,
  event?: CountedEvent,
): Promise<number> {
  const name = event && snakeCase(event);
  const [all, gone] = name ? [`${name}_count`, `gone_${name}`] : ['frozen_count', 'gone'];
  const happened = name ? sql`and ${sql.ref(`${name}_at`)} is not null` : sql``;
  const { rows } = await sql<{ count: number }>`
    select case when frozen_count > ${countedMax} then ${sql.ref(all)}
          - coalesce((select sum(${sql.ref(gone)}) from campaign_tally where campaign_id = ${id}), 0)::int
        else (select count(*)::int from email where campaign_id = ${id} ${happened}) end as count
      from campaign where id = ${id}`.execute(db);
  return rows[0]?.count ?? 0;
}

/**
 * Campaigns with more messages than this are counted by their counters, without reading the
 * messages.
 */
const countedMax = 1_000;

type Counted = Pick<
  CampaignTally,
  'failures' | 'unsettled' | 'scheduled' | 'retrying' | 'testing'
> &
  CampaignTally['held'];

/**
 * Subtracts messages from the failed ones, because they were sent although their rows had been
 * deleted with their contacts.
 * @param count number of the messages that were sent, and of those that were also delivered
 * @param isClaimed true: the messages were counted as `contact_deleted`; false: as
 * `delivery_unknown`, because the lease of their attempt had expired.
 */
export async function restoreDeparted(
  tx: Database,
  campaign: { id: string; projectId: string },
  count: { sent: number; delivered: number },
  isClaimed: boolean,
): Promise<void> {
  if (count.sent === 0) return;
  await tx
    .insertInto('campaign_tally')
    .values({
      campaign_id: campaign.id,
      project_id: campaign.projectId,
      code: isClaimed ? 'contact_deleted' : 'delivery_unknown',
      count: -count.sent,
      sent: 0,
      gone_delivered: count.delivered,
    })
    .execute();
}

/** Maximum number of new rows that one statement folds. */
const foldedAtOnce = 20_000;

const tally = (table: string) => references(columns.campaign_tally, table);

/**
 * Folds the tally: replaces the new rows of each campaign and code by one row with their sum. Rows
 * of a deleted campaign are only deleted. Returns true if there may be more. If there are no new
 * rows, it reads nothing.
 */
export async function foldCampaignTally(db: Database): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`
    with page as (
      select ctid as row, campaign_id, code from campaign_tally where fresh limit ${foldedAtOnce}
    ), unfolded as (
      delete from campaign_tally where ctid = any(array(select row from page))
        returning ${tally('campaign_tally')}
    ), folded as (
      delete from campaign_tally tally using (select distinct campaign_id, code from page) touched
        where (tally.campaign_id, tally.code) = (touched.campaign_id, touched.code) and not fresh
        returning ${tally('tally')}
    ), sums as (
      insert into campaign_tally (campaign_id, project_id, code, count, sent, gone, gone_delivered,
          gone_opened, gone_clicked, gone_human_opened, gone_human_clicked, fresh)
        select campaign_id, project_id, code, sum(count), sum(sent), sum(gone), sum(gone_delivered),
            sum(gone_opened), sum(gone_clicked), sum(gone_human_opened), sum(gone_human_clicked), false
          from (select ${tally('unfolded')} from unfolded
            union all select ${tally('folded')} from folded) row
          where exists (select from campaign where id = campaign_id)
          group by 1, 2, 3 having sum(count) <> 0 or sum(sent) <> 0 or sum(gone) <> 0
    )
    select count(*)::int as count from page`.execute(db);
  return rows[0]?.count === foldedAtOnce;
}
