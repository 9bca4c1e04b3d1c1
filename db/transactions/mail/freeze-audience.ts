import { type RawBuilder, sql } from 'kysely';
import {
  findCampaign,
  type CampaignRef,
  type CampaignRow,
  StaleRow,
} from '../../campaigns/campaigns.ts';
import { queueing } from '../../campaigns/chunks.ts';
import { columnList } from '../../columns.ts';
import { type Database, transact } from '../../database.ts';
import { isoTime } from '../../expressions.ts';
import {
  audienceOf,
  audienceSql,
  isSubscribedFor,
  kindOf,
  mayReceive,
} from '../../reads/audience.ts';
import { listMoments, zoneText } from '../../reads/campaign-moments.ts';
import { following, ledgerColumns } from '../../sql/ledger.ts';
import { traceEntry } from '../../sql/mail-trace.ts';
import type { CampaignAudience } from '../../../domain/campaign/campaign.ts';
import { armOf, type Experiment } from '../../../domain/experiment/experiment.ts';
import { openEnd } from '../../../domain/outcomes/hold.ts';

/**
 * Inserts the next messages of a campaign that is sending or paused. A pause does not stop the
 * inserts, because the audience is that of the start. Returns true if there is more to do.
 */
export async function freezeCampaign(
  db: Database,
  { projectId, campaignId }: CampaignRef,
): Promise<{ isMore: boolean }> {
  for (;;) {
    const campaign = await findCampaign(db, projectId, campaignId);
    if (!campaign) return { isMore: false };
    try {
      return await insertCampaignEmails(db, campaign, audienceOf(campaign));
    } catch (error) {
      if (!(error instanceof StaleRow)) throw error;
    }
  }
}

function isFreezable({ status }: CampaignRow): boolean {
  return status === 'SENDING' || status === 'PAUSED';
}

/** Number of contacts read in one transaction while the audience is fixed. */
const freezePage = 5_000;

/**
 * Inserts the messages of the next contacts, in the order in which the contacts were created. Only
 * contacts that existed when the campaign started are included. Returns true if there is more to
 * do. A call may be repeated, and two calls may run at once: the second call is rolled back.
 * @throws StaleRow if the call was rolled back, because the campaign's row or the time zone of a
 * contact was changed meanwhile
 */
export async function insertCampaignEmails(
  db: Database,
  campaign: CampaignRow,
  audience: CampaignAudience,
): Promise<{ isMore: boolean }> {
  const { id, project_id: projectId, frozen_at: frozenAt } = campaign;
  if (!isFreezable(campaign) || frozenAt === null || campaign.audience_fixed) {
    return { isMore: false };
  }
  const kind = kindOf(campaign);
  const holds = await audienceSql(db, projectId, audience, frozenAt);
  const after =
    campaign.frozen_to_id === null
      ? sql`true`
      : sql`(created_at, id) > (${campaign.frozen_to_at}, ${campaign.frozen_to_id})`;
  const page = sql`
    select ${columnList('contact')} from contact
      where project_id = ${projectId} and created_at <= ${frozenAt} and ${after}
      order by created_at, id limit ${freezePage}`;
  return transact(db, async (tx) => {
    const own = campaign.experiment
      ? await armsOf(tx, { ...campaign, experiment: campaign.experiment }, page)
      : await momentsOf(tx, campaign, page);
    const { rows } = await sql<FrozenPage>`
      with page as materialized (${page}), made as (
        insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
            source_type, template_id, topic_id, campaign_id, due_at ${own.columns})
          select ${projectId}, contact.id, contact.email, ${own.content.subject},
              ${own.content.fromEmail}, ${campaign.message_class}, 'CAMPAIGN',
              ${own.content.templateId}, ${campaign.topic_id}, ${id}, null::timestamptz ${own.values}
            from page as contact ${own.join}
            where ${mayReceive(kind)} and ${holds}
            order by contact.created_at, contact.id
          on conflict (campaign_id, contact_id) where campaign_id is not null do nothing
          returning ${own.returned}
      ), ${own.followed} queued as (
        ${queueing({ id, projectId }, own.waiting, own.queuedBy)}
      ), left_out as (
        select count(*) filter (where not ${isSubscribedFor(kind)})::int as unsubscribed,
            count(*) filter (where ${isSubscribedFor(kind)})::int as "topicLeft"
          from page as contact where not (${mayReceive(kind)}) and ${holds}
      )
      select (select count(*)::int from made) as made,
          (select unsubscribed from left_out) as unsubscribed,
          (select "topicLeft" from left_out) as "topicLeft", count(*)::int as rows_read,
          (array_agg(created_at order by created_at desc, id desc))[1] as at,
          (array_agg(id order by created_at desc, id desc))[1] as id,
          ${own.isMoved} as "isMoved", clock_timestamp()::text as "fixedAt"
        from page`.execute(tx);
    const [last] = rows;
    // A contact's zone was changed since the moments were computed: try again.
    if (last?.isMoved) throw new StaleRow();
    const isMore = last?.rows_read === freezePage;
    await storePosition(tx, campaign, last, isMore);
    return { isMore };
  });
}

/** The numbers of a page, and its last contact. */
interface FrozenPage {
  rows_read: number;
  at: Date | null;
  id: string | null;
  isMoved: boolean;
  /**
   * A time after the snapshot, so every change of consent that the snapshot sees was recorded
   * earlier.
   */
  fixedAt: string;
  made: number;
  unsubscribed: number;
  topicLeft: number;
}

/**
 * Stores up to which contact the audience is fixed.
 * @throws StaleRow if the campaign was cancelled meanwhile, or another call has inserted this page
 */
async function storePosition(
  tx: Database,
  campaign: CampaignRow,
  last: FrozenPage | undefined,
  isMore: boolean,
): Promise<void> {
  const { id, project_id: projectId } = campaign;
  const frozen = sql`frozen_count + ${last?.made ?? 0}`;
  const { rows: noted } = await sql`
    update campaign set
        frozen_to_at = coalesce(${last?.at ?? null}, frozen_to_at),
        frozen_to_id = coalesce(${last?.id ?? null}, frozen_to_id),
        audience_fixed = ${!isMore}, frozen_count = ${frozen},
        total_recipients = ${isMore ? sql`greatest(total_recipients, ${frozen})` : frozen},
        left_unsubscribed = left_unsubscribed + ${last?.unsubscribed ?? 0},
        left_topic = left_topic + ${last?.topicLeft ?? 0}
      where id = ${id} and status in ('SENDING', 'PAUSED') and not audience_fixed
        and frozen_to_id is not distinct from ${campaign.frozen_to_id}
      returning id`.execute(tx);
  // The campaign was cancelled meanwhile, or another call has inserted this page: roll back.
  if (noted.length === 0) throw new StaleRow();
  if (last?.id) {
    await sql`
      insert into audience_page (campaign_id, project_id, to_at, to_id, fixed_at)
        values (${id}, ${projectId}, ${last.at}, ${last.id}, ${last.fixedAt})`.execute(tx);
  }
}

/** SQL of the content that all messages share before they are rendered. */
function contentOf(campaign: CampaignRow) {
  return {
    subject: sql`${campaign.subject}`,
    fromEmail: sql`${campaign.from_email}`,
    templateId: sql`${campaign.template_id}::uuid`,
  };
}

/**
 * SQL for the further columns of the messages of a page, if the campaign has an experiment. The
 * test group is due at once, each arm in chunks of its own; the rest is due when the arm is
 * decided.
 */
async function armsOf(
  tx: Database,
  campaign: CampaignRow & { experiment: Experiment },
  page: RawBuilder<unknown>,
) {
  const { id: campaignId, experiment } = campaign;
  const { rows } = await sql<{ id: string }>`select id from (${page}) page`.execute(tx);
  const ids = rows.map(({ id }) => id);
  const arms = ids.map((id) => armOf(experiment, campaignId, id)?.id ?? null);
  const shared = contentOf(campaign);
  const parts = JSON.stringify(
    experiment.arms.map(({ id, subject, from, templateId }) => ({ id, subject, from, templateId })),
  );
  return {
    columns: sql`, arm`,
    values: sql`, drawn.arm`,
    content: {
      subject: sql`coalesce(arm.subject, ${shared.subject})`,
      fromEmail: sql`coalesce(arm."from", ${shared.fromEmail})`,
      templateId: sql`coalesce(arm."templateId", ${shared.templateId})`,
    },
    join: sql`
      join unnest(${ids}::uuid[], ${arms}::text[]) as drawn(id, arm) on drawn.id = contact.id
      left join jsonb_to_recordset(${parts}::jsonb)
        as arm(id text, subject text, "from" text, "templateId" uuid) on arm.id = drawn.arm`,
    returned: sql`id, arm`,
    followed: sql``,
    waiting: sql`select id, arm,
      case when arm is null then ${openEnd}::timestamptz else now() end as due_at from made`,
    queuedBy: sql`, arm`,
    isMoved: sql<boolean>`exists (select from page where not exists (
      select from unnest(${ids}::uuid[]) as read(id) where read.id = page.id))`,
  };
}

/**
 * SQL for the further columns of the messages of a page of contacts. If the campaign is sent at a
 * local time, each message is scheduled for that time in the zone of its contact, and its chunk is
 * due at that time. A message that would be too late fails, if the campaign skips late ones.
 */
async function momentsOf(tx: Database, campaign: CampaignRow, page: RawBuilder<unknown>) {
  const { local_time: localTime, zone_policy: policy, scheduled_for: first } = campaign;
  if (localTime === null || policy === null || first === null) {
    const none = sql``;
    const waiting = sql`select id, now() as due_at from made`;
    return {
      columns: none,
      values: none,
      content: contentOf(campaign),
      join: none,
      returned: sql`id`,
      followed: none,
      waiting,
      queuedBy: none,
      isMoved: sql<boolean>`false`,
    };
  }
  const moments = (await listMoments(tx, page, { localTime, policy })).map(({ zone, at }) => ({
    zone,
    at: new Date(at).toISOString(),
    skipped: campaign.late === 'skip' && at < first.getTime(),
  }));
  const scheduled = traceEntry(
    'scheduled',
    sql`jsonb_build_object('for', ${isoTime(sql`moment.at`)})`,
  );
  const late = traceEntry('withheld', sql`jsonb_build_object('reason', 'late')`);
  return {
    columns: sql`, scheduled_for, status, error, trace`,
    content: contentOf(campaign),
    values: sql`, moment.at, case when moment.skipped then 'FAILED' else 'PENDING' end,
      case when moment.skipped then 'late' end,
      ${scheduled} || case when moment.skipped then ${late} else '[]' end`,
    join: sql`left join jsonb_to_recordset(${JSON.stringify(moments)}::jsonb)
      as moment(zone text, at timestamptz, skipped boolean) on moment.zone = ${zoneText(policy)}`,
    returned: ledgerColumns('email', ['scheduled_for']),
    followed: sql`${following({ now: 'made' }, ['campaignTally'])},`,
    waiting: sql`select id, greatest(scheduled_for, now()) as due_at from made
      where status = 'PENDING'`,
    queuedBy: sql``,
    isMoved: sql<boolean>`exists (select from made where scheduled_for is null)`,
  };
}
